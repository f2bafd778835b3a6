"""Does a referee favour a player? The player's results under it are compared with its results under all others.

A referee that tells a friend the number before the choice leaves no trace in any journal. But its friend does better
under it than elsewhere. Chance does that, too, so the test needs many matches, and says when there are too few: even
the most greedy referee shows only from about 23 matches of one player.

All pairs of referee and player are tested at once, and the p-values are corrected for their number (Holm's method).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from league.features.statistics.findings import Favouritism
from league.features.statistics.methods.chance import SURE, Results, at_least_as_lucky, holm
from league.features.statistics.observations import RefereedMatch

FEWEST_MATCHES: Final = 23
"""Of a player under a referee, and under all others together."""
NO_RESULTS: Final = Results(0, 0, 0)


class _Pair(NamedTuple):
    """A player under a referee."""

    referee_id: str
    player_id: str


def favouritism(matches: Sequence[RefereedMatch]) -> tuple[Favouritism, ...]:
    """Test every referee of a league."""
    under_referee: dict[_Pair, Results] = {}
    in_all: dict[str, Results] = {}
    for match in matches:
        for player in match.players:
            pair = _Pair(match.referee_id, player)
            before = under_referee.get(pair, NO_RESULTS)
            under_referee[pair] = _counted(before, match, player)
            before = in_all.get(player, NO_RESULTS)
            in_all[player] = _counted(before, match, player)
    tested = []
    for pair, part in under_referee.items():
        elsewhere = in_all[pair.player_id] - part
        if min(part.played, elsewhere.played) >= FEWEST_MATCHES:
            tested.append(pair)
    chances = []
    for pair in tested:
        part = under_referee[pair]
        chances.append(at_least_as_lucky(part, in_all[pair.player_id]))
    # Among many pairs somebody is always lucky.
    p_values = holm(chances)
    by_pair = dict(zip(tested, p_values, strict=True))
    referees = sorted({pair.referee_id for pair in under_referee})
    return tuple(_finding(referee, by_pair) for referee in referees)


def _counted(results: Results, match: RefereedMatch, player: str) -> Results:
    if match.winner == player:
        return results._replace(wins=results.wins + 1)
    if match.is_draw:
        return results._replace(draws=results.draws + 1)
    return results._replace(losses=results.losses + 1)


def _finding(referee_id: str, by_pair: dict[_Pair, float]) -> Favouritism:
    p_values = {}
    for pair, p_value in by_pair.items():
        if pair.referee_id == referee_id:
            p_values[pair.player_id] = p_value
    if not p_values:
        return Favouritism(
            referee_id=referee_id,
            tested=0,
            player_id=None,
            p_value=None,
            verdict="too few",
        )
    # By id, too: of several players with the same value it is always the same one.
    player = min(p_values, key=lambda player_id: (p_values[player_id], player_id))
    verdict: Final = "favours" if p_values[player] < SURE else "no sign"
    return Favouritism(
        referee_id=referee_id,
        tested=len(p_values),
        player_id=player,
        p_value=p_values[player],
        verdict=verdict,
    )
