"""The manager's key: made once, kept with the journal, and told to everybody who registers."""

from __future__ import annotations

import pytest

from league import events as e
from league.protocol.signing.keys import is_public_key
from tests.support.managed import MANAGER_KEY, Managed


@pytest.mark.requirement("REFEREE_REGISTER_RESPONSE.manager_key")
@pytest.mark.requirement("LEAGUE_REGISTER_RESPONSE.manager_key")
def test_every_registration_is_answered_with_the_key_also_after_a_restart() -> None:
    league = Managed(players=2)
    for role in ("referee", "player"):
        assert league.register(role, 1).manager_key == MANAGER_KEY
    league.restart()
    assert league.register("player", 2).manager_key == MANAGER_KEY
    assert [event.manager_key for event in league.of(e.LeagueCreated)] == [MANAGER_KEY]
    assert league.of(e.SettingsChanged) == []


def test_a_journal_without_the_secret_gets_another_key_and_says_so() -> None:
    league = Managed(players=2)
    del league.secrets["signing_secret"]
    league.reborn()
    (changed,) = league.of(e.SettingsChanged)
    assert is_public_key(changed.manager_key)
    assert changed.manager_key != MANAGER_KEY
    assert league.register("player", 1).manager_key == changed.manager_key
    assert league.secrets["signing_secret"] not in repr(league.events)
    league.restart()
    assert league.of(e.SettingsChanged) == [changed]
