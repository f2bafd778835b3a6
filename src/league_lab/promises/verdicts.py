"""Promise 4: winner and points follow from choices, number and faults, and the number from the promised seed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from league import events as e
from league_lab.promises.evidence import Evidence, Object
from league_lab.promises.findings import Breach, call_at, event_at
from league_lab.promises.history import (
    Attempt,
    by_attempt,
    inner,
    outcome_of,
    places,
    schedule_of,
    settings_of,
    text,
    whole,
)
from league_lab.promises.rules import (
    CannotJudgeError,
    MatchOutcome,
    Players,
    by_faults,
    commitment,
    drawn,
    judge,
    points,
)


def breaches(evidence: Evidence) -> Iterator[Breach]:
    yield from _stored(evidence)
    for referee, journal in evidence.referees.items():
        for place, detail in _decided(journal):
            yield Breach(detail, event_at(referee, place))
    yield from _game_overs(evidence)
    yield from _commitments(evidence)


def unobservable(evidence: Evidence) -> str | None:
    return None if evidence.manager or any(evidence.referees.values()) else "there is no journal"


# --- the manager's results --------------------------------------------------------------------------------------------


def _stored(evidence: Evidence) -> Iterator[Breach]:
    settings, schedule = settings_of(evidence.manager), schedule_of(evidence.manager)
    for place, result in places(evidence.manager, e.ResultAccepted):
        slot = schedule.get(result.match_id)
        if settings is None or slot is None:
            continue
        for detail in _result(result, settings.game_type, settings.league_id, slot.players):
            yield Breach(f"{result.match_id}: {detail}", event_at("manager", place))


def _result(result: e.ResultAccepted, game_type: str, league_id: str, players: Players) -> Iterator[str]:
    stored = outcome_of(result)
    if result.points != points(players, stored):
        yield f"{result.points} are not the points of winner {result.winner}, {result.status}"
    if (result.status == "DRAW" and result.winner is not None) or (result.status == "WIN" and result.winner is None):
        yield f"{result.status} with winner {result.winner}"
    if not result.verified:
        return
    try:
        proven = judge(game_type, players, result.details)
    except CannotJudgeError as error:
        yield f"called verified, yet {error}"
        return
    if proven is not None and proven != stored:
        yield f"{_text(stored)}, but the details prove {_text(proven)}"
    yield from _number(result.details, game_type, league_id, (result.match_id, result.attempt))


def _text(outcome: MatchOutcome) -> str:
    return f"winner {outcome.winner}{' by fault' if outcome.technical else ''}"


def _number(details: Object, game_type: str, league_id: str, attempt: Attempt) -> Iterator[str]:
    seed, number = text(details, "draw_seed"), whole(details, "drawn_number")
    if game_type != "even_odd":
        return
    if seed is None:
        yield "called verified, yet no seed proves its draw"
    elif not _is_seed(seed):
        yield f"{seed!r} is no seed"
    elif number is not None and number != drawn(seed, league_id, *attempt):
        yield f"the seed gives {drawn(seed, league_id, *attempt)}, not {number}"


def _is_seed(value: str) -> bool:
    return len(value) == 64 and set(value) <= set("0123456789abcdef")


# --- the referees' results --------------------------------------------------------------------------------------------


class _Played:
    """What a referee's journal holds of one attempt."""

    def __init__(self, taken: e.MatchTaken) -> None:
        self.taken = taken
        self.moves: dict[int, dict[str, str]] = {}
        self.faults: set[str] = set()
        self.number: int | None = None

    def take(self, event: e.Event) -> None:
        if isinstance(event, e.MoveMade):
            self.moves.setdefault(event.turn, {})[event.player_id] = event.choice
        elif isinstance(event, e.PlayerFaulted):
            self.faults.add(event.player_id)
        elif isinstance(event, e.NumberDrawn):
            self.number = event.number

    def problems(self, decided: e.MatchDecided) -> Iterator[str]:
        players = self.taken.players
        stored = MatchOutcome(decided.winner, decided.status == "TECHNICAL_LOSS")
        if decided.points != points(players, stored):
            yield f"{decided.points} are not the points of winner {decided.winner}, {decided.status}"
        try:
            proven = by_faults(players, self.faults) if self.faults else self._judged()
        except CannotJudgeError as error:
            yield f"decided, yet {error}"
            return
        if proven is not None and proven != stored:
            yield f"{_text(stored)}, but what happened proves {_text(proven)}"
        yield from self._shown(decided)

    def _judged(self) -> MatchOutcome | None:
        last = {player: choice for turn in sorted(self.moves) for player, choice in self.moves[turn].items()}
        details = {
            "status": None,
            "choices": last,
            "drawn_number": self.number,
            "moves": [self.moves[turn] for turn in sorted(self.moves)],
        }
        return judge(self.taken.game_type, self.taken.players, details)

    def _shown(self, decided: e.MatchDecided) -> Iterator[str]:
        """The details sent to everybody are what happened."""
        taken, details = self.taken, decided.details
        if taken.game_type != "even_odd":
            return
        shown = {"draw_seed": taken.seed, "drawn_number": self.number}
        yield from _number(shown, taken.game_type, taken.league_id, (taken.match_id, taken.attempt))
        made = {player: self.moves.get(1, {}).get(player) for player in taken.players}
        if inner(details, "choices") != made:
            yield f"told the choices {details.get('choices')}, but they were {made}"
        if details.get("drawn_number") != (None if self.faults else self.number):
            yield f"told the number {details.get('drawn_number')}, but it was {self.number}"
        if details.get("draw_seed") not in (None, taken.seed):
            yield "told another seed than the one promised"


def _decided(journal: Sequence[e.Event]) -> Iterator[tuple[int, str]]:
    played: dict[Attempt, _Played] = {}
    for place, event in enumerate(journal):
        if isinstance(event, e.MatchTaken):
            played.setdefault((event.match_id, event.attempt), _Played(event))
        elif isinstance(event, e.MoveMade | e.PlayerFaulted | e.NumberDrawn | e.MatchDecided):
            one = played.get((event.match_id, event.attempt))
            if one is None:
                yield place, f"{event.match_id} was never taken as attempt {event.attempt}"
            elif isinstance(event, e.MatchDecided):
                yield from ((place, f"{event.match_id}: {detail}") for detail in one.problems(event))
            else:
                one.take(event)


# --- the traffic ------------------------------------------------------------------------------------------------------


def _game_overs(evidence: Evidence) -> Iterator[Breach]:
    """GAME_OVER says what its referee decided."""
    for referee, journal in evidence.referees.items():
        decided = {(event.match_id, event.attempt): event for _, event in places(journal, e.MatchDecided)}
        for call in evidence.sent("GAME_OVER", referee) if journal else ():
            shown = inner(call.message, "game_result")
            one = decided.get((text(call.message, "match_id") or "", whole(shown, "attempt") or 0))
            if one is None:
                yield Breach("GAME_OVER of a match that was not decided", call_at(call))
            elif (text(shown, "status"), text(shown, "winner_player_id")) != (one.status, one.winner):
                yield Breach(f"GAME_OVER does not say {one.status}, {one.winner}", call_at(call))


def _commitments(evidence: Evidence) -> Iterator[Breach]:
    """The commitment in each invitation is that of the seed in the result, or in the referee's journal."""
    settings, taken = settings_of(evidence.manager), by_attempt(evidence, e.MatchTaken)
    shown = {
        (result.match_id, result.attempt): text(result.details, "draw_seed")
        for _, result in places(evidence.manager, e.ResultAccepted)
    }
    for call in evidence.calls.get("GAME_INVITATION", ()):
        attempt = (text(call.message, "match_id") or "", whole(call.message, "attempt") or 0)
        promised = text(call.message, "draw_commitment")
        ours = taken.get(attempt)
        told = text(call.message, "league_id") or ""
        seed, league_id = (ours.seed, ours.league_id) if ours else (shown.get(attempt), told)
        if settings is None or settings.game_type != "even_odd" or not seed or not _is_seed(seed):
            continue
        if (promised or ours) and promised != commitment(seed, league_id, *attempt):
            yield Breach("the commitment is not that of the seed", call_at(call))
