"""How a league ended, and what decided its places: the page, the terminal and the manager's narration say the same."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Final, NamedTuple

from league.manager.league_manager import LeagueManager
from league.manager.season.standings import BY_NUMBER

NOBODY_WON: Final = "nobody won: no player has a win or a point"
_RULES: Final[Mapping[str, str]] = {
    "points": "points",
    "wins": "wins",
    "draws": "draws",
    "head_to_head": "head to head",
    BY_NUMBER: "the lower number, since everything else is equal",
}


class TieBreak(NamedTuple):
    """A place that the first rule of the table left open."""

    next_id: str
    """The player who is one place behind."""
    rule: str
    """What decided between the two, in words."""

    @property
    def remark(self) -> str:
        return f"ahead of {self.next_id} by {self.rule}"


def tie_breaks(manager: LeagueManager) -> dict[str, TieBreak]:
    """The players who are ahead of the next one by a tie-break, by id."""
    ledger = manager.ledger
    rules = ledger.settings.tiebreakers
    deciders = ledger.standings.deciders(rules)
    tallies = ledger.standings.tallies
    breaks = {}
    for player, following in pairwise(deciders):
        decider = deciders[player]
        # Before its first match a player has no place that anything decided.
        has_played = tallies[player].played > 0 and tallies[following].played > 0
        if has_played and decider != rules[0]:
            breaks[player] = TieBreak(following, _RULES[decider])
    return breaks


def has_winner(manager: LeagueManager) -> bool:
    """False while no player has a win or a point."""
    return any(tally.wins or tally.points for tally in manager.ledger.standings.tallies.values())


def not_its_own(manager: LeagueManager, player_id: str) -> str:
    """How many choices of a player its language model did not make; empty if it made all of them."""
    play = manager.ledger.sums.models.get(player_id)
    if play is None or not play.fallbacks:
        return ""
    return f"{play.fallbacks} of {play.choices} choices were not its own"


def champion_remarks(manager: LeagueManager, champion: str) -> list[str]:
    """What everybody should know about a champion besides its points."""
    remarks = []
    tie_break = tie_breaks(manager).get(champion)
    if tie_break is not None:
        remarks.append(tie_break.remark)
    fallbacks = not_its_own(manager, champion)
    if fallbacks:
        remarks.append(fallbacks)
    return remarks


def ending(manager: LeagueManager) -> str | None:
    """The champion in a line, or that nobody won; None until the league is over."""
    ledger = manager.ledger
    champion = ledger.champion
    if champion is None:
        return None
    if not has_winner(manager):
        return NOBODY_WON.capitalize()
    name = ledger.roster.shown_name(ledger.roster.members[champion])
    points = ledger.standings.tallies[champion].points
    return ", ".join([f"Champion: {name} ({champion})", f"{points} points", *champion_remarks(manager, champion)])


def notes(manager: LeagueManager) -> Iterator[str]:
    """What the numbers of the table do not say: why the leader leads a tie, and choices that players did not make."""
    ranking = manager.standings
    if ranking and has_winner(manager):
        leader = ranking[0].player_id
        tie_break = tie_breaks(manager).get(leader)
        if tie_break is not None:
            yield f"{leader} is {tie_break.remark}"
    for row in ranking:
        fallbacks = not_its_own(manager, row.player_id)
        if fallbacks:
            yield f"{row.player_id}: {fallbacks}"
