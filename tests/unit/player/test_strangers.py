"""Who proves by its token to be of the league, as a player sees it."""

from __future__ import annotations

import pytest

from league.protocol.signing import tokens
from tests.support.player_rig import Rig


@pytest.mark.requirement("HTTP.rate_limit")
def test_manager_and_referees_are_known_by_their_tokens() -> None:
    rig = Rig().enrolled()
    assert rig.player.member_behind(rig.read(rig.announcement())) == tokens.MANAGER
    assert rig.player.member_behind(rig.read(rig.invitation())) == "REF01"
    rig.say(rig.invitation(attempt=2))
    assert rig.player.member_behind(rig.read(rig.call(attempt=2))) == "REF01"
    for stranger in ("tok_none", None):
        for asked in (rig.announcement(auth_token=stranger), rig.invitation(auth_token=stranger)):
            assert rig.player.member_behind(rig.read(asked)) is None


@pytest.mark.requirement("HTTP.rate_limit")
def test_nobody_is_known_where_tokens_cannot_be_checked() -> None:
    rig = Rig(derived=False).enrolled()
    assert rig.player.member_behind(rig.read(rig.invitation())) is None
