"""What a reported match rests on, from public keys alone."""

from __future__ import annotations

from random import Random

import pytest

from league.games import draw, registry
from league.games.evidence import AssignedMatch, rests_on
from tests.support.player_keys import key_of
from tests.support.signed_matches import play

PLAYERS = ("P01", "P02")
SHARE = bytes(range(32))


@pytest.fixture
def match() -> AssignedMatch:
    return AssignedMatch(
        league_id="cup",
        match_id="R1M1",
        attempt=1,
        players=PLAYERS,
        share_commitment=draw.commitment(SHARE, "cup", "R1M1", 1),
        manager_key="ab" * 32,
        keys={player: key_of(player).public for player in PLAYERS},
    )


@pytest.mark.requirement("EVIDENCE.proven")
@pytest.mark.parametrize(
    ("game_type", "field", "value"),
    [("even_odd", "drawn_number", 11), ("kuhn_poker", "draws", [])],
)
def test_what_does_not_follow_from_signed_choices_is_not_proven(
    match: AssignedMatch, game_type: str, field: str, value: object
) -> None:
    game = registry.find(game_type)
    assert game is not None
    details = play(game, match, Random(1), SHARE).details
    assert rests_on(game, match, details).evidence == "proven"
    lie = rests_on(game, match, {**details, field: value})
    assert (lie.evidence, lie.unsigned) == ("by_referee", ())
    assert lie.doubt
