"""Which results of a league tell how well its players play, and which numbers its referees drew."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import msgspec

from league.events import ResultAccepted, WalkoverDecided
from league.manager.league import LeagueManager
from league.manager.ledger import ScheduledMatch
from league.reports.models import ModelPlay, models
from league_statistics.findings import LeftOut, Record


@dataclass(frozen=True, slots=True)
class Observation:
    """A match that counts: who sat in seat A and in seat B, and who won (None: a draw)."""

    player_a: str
    player_b: str
    winner: str | None


@dataclass(frozen=True, slots=True)
class Observations:
    """What the results of a league show, in the order of its schedule."""

    league_id: str
    game_type: str
    names: Mapping[str, str]
    """What every player is called, by id."""
    technical_losses: Mapping[str, int]
    """By player; they are left out of the matches."""
    matches: tuple[Observation, ...]
    left_out: LeftOut
    draws: Mapping[str, tuple[int, ...]]
    """The numbers every referee drew, in the matches that were played to their end."""
    models: tuple[ModelPlay, ...] = ()
    unrated: tuple[Record, ...] = ()
    """What the players that are not rated made of their matches, which count for nobody."""

    def records(self) -> list[Record]:
        """What every player made of the matches that count."""
        return _records(self.names, self.technical_losses, self.matches)


def _records(
    names: Mapping[str, str], technical_losses: Mapping[str, int], matches: Sequence[Observation]
) -> list[Record]:
    won = Counter(one.winner for one in matches)
    drawn = Counter(who for one in matches if one.winner is None for who in (one.player_a, one.player_b))
    played = Counter(who for one in matches for who in (one.player_a, one.player_b))
    return [
        Record(one, name, won[one], drawn[one], played[one] - won[one] - drawn[one], technical_losses[one])
        for one, name in names.items()
    ]


def observe(manager: LeagueManager) -> Observations:
    """Look at the results in force of a league."""
    settings, players = manager.ledger.settings, manager.ledger.roster.of_role("player")
    results = list(manager.ledger.matches.values())
    accepted = [(one, one.result) for one in results if isinstance(one.result, ResultAccepted)]
    played = [one for one, result in accepted if result.status != "TECHNICAL_LOSS"]
    distinct = list(_distinct(played))
    seen = [Observation(one.player_a, one.player_b, one.result.winner) for one in distinct if one.result]
    by_models = models(manager)
    unrated = {one.player_id: one.display_name for one in by_models if one.not_rated}
    counted = [one for one in seen if not {one.player_a, one.player_b} & unrated.keys()]
    technical_losses = {one.agent_id: one.technical_losses for one in players}
    return Observations(
        league_id=settings.league_id,
        game_type=settings.game_type,
        names={one.agent_id: one.display_name for one in players if one.agent_id not in unrated},
        technical_losses=technical_losses,
        matches=tuple(counted),
        left_out=LeftOut(
            technical_losses=len(accepted) - len(played),
            walkovers=sum(isinstance(one.result, WalkoverDecided) for one in results),
            repeated=len(played) - len(distinct),
            not_rated=len(seen) - len(counted),
        ),
        draws=_draws(played),
        models=by_models,
        unrated=tuple(_records(unrated, technical_losses, seen)),
    )


def _distinct(played: Iterable[ScheduledMatch]) -> Iterator[ScheduledMatch]:
    """Without repetitions: a match that two players played before, move for move, says nothing new. Only games without
    chance list their moves."""
    seen: set[tuple[frozenset[str], bytes]] = set()
    for one in played:
        moves = _details(one).get("moves")
        known = frozenset((one.player_a, one.player_b)), msgspec.json.encode(moves, order="deterministic")
        if moves is None or known not in seen:
            seen.add(known)
            yield one


def _draws(played: Iterable[ScheduledMatch]) -> dict[str, tuple[int, ...]]:
    """By referee; what its details call a number may be anything, since a referee may report anything."""
    found: dict[str, list[int]] = {}
    for one in played:
        number = _details(one).get("drawn_number")
        if isinstance(one.result, ResultAccepted) and type(number) is int:
            found.setdefault(one.result.referee_id, []).append(number)
    return {referee_id: tuple(numbers) for referee_id, numbers in sorted(found.items())}


def _details(one: ScheduledMatch) -> Mapping[str, object]:
    return one.result.details if isinstance(one.result, ResultAccepted) else {}
