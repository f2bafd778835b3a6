"""Promise 4: winner and points follow from choices, number and faults, and the number from the promised seed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from league import events as e
from league.features.audit.promises.grounds.event_history import (
    attempt_in,
    by_attempt,
    inner,
    outcome_of,
    schedule_of,
    settings_of,
    text,
    whole,
)
from league.features.audit.promises.grounds.event_log import Attempt, EventLog, attempt_of
from league.features.audit.promises.grounds.evidence import Evidence, Object
from league.features.audit.promises.grounds.promise_findings import (
    Breach,
    breaches_at,
    call_at,
    event_at,
)
from league.features.audit.promises.grounds.rules import (
    WRITTEN_TWICE,
    CannotJudgeError,
    MatchOutcome,
    Players,
    by_faults,
    commitment,
    drawn,
    drawn_event,
    judge,
    points,
    shared_seed,
)
from league.games import registry
from league.games.contract import Game, Verdict
from league.games.wire_fields import unpacked


def breaches(evidence: Evidence) -> Iterator[Breach]:
    yield from _stored(evidence)
    for referee, journal in evidence.referees.items():
        yield from _decided(referee, journal)
    yield from _game_overs(evidence)
    yield from _commitments(evidence)


def unobservable(evidence: Evidence) -> str | None:
    if not evidence.manager and not any(evidence.referees.values()):
        return "there is no journal"
    return None


# --- the manager's results --------------------------------------------------------------------------------------------


def _stored(evidence: Evidence) -> Iterator[Breach]:
    settings = settings_of(evidence.manager)
    if settings is None:
        return
    schedule = schedule_of(evidence.manager)
    game = None if settings.game_type in WRITTEN_TWICE else registry.find(settings.game_type)
    for place, result in evidence.manager.places(e.ResultAccepted):
        slot = schedule.get(result.match_id)
        if slot is None:
            continue
        for detail in _result(result, settings, game, slot.players):
            yield Breach(f"{result.match_id}: {detail}", event_at("manager", place))


def _result(
    result: e.ResultAccepted,
    settings: e.LeagueSettings,
    game: Game | None,
    players: Players,
) -> Iterator[str]:
    """What is wrong with a result, by the rules of its game, unless they are written here once more."""
    stored = outcome_of(result)
    if game is not None:
        yield from _by_its_own_rules(game, result, settings.league_id, players)
    elif result.points != points(players, stored):
        yield f"{result.points} are not the points of winner {result.winner}, {result.status}"
    has_winner = result.winner is not None
    if (result.status == "DRAW" and has_winner) or (result.status == "WIN" and not has_winner):
        yield f"{result.status} with winner {result.winner}"
    # The manager vouches only for verified results.
    if not result.verified:
        return
    try:
        outcome = judge(settings.game_type, players, result.details)
    except CannotJudgeError as error:
        yield f"called verified, yet {error}"
        return
    if outcome is not None and outcome.kind != stored.kind:
        yield f"{_text(stored)}, but the details say {_text(outcome)}"
    if settings.game_type == "even_odd":
        attempt = attempt_of(result)
        yield from _number(result.details, settings.league_id, attempt)


def _by_its_own_rules(
    game: Game,
    result: e.ResultAccepted,
    league_id: str,
    players: Players,
) -> Iterator[str]:
    """The result of any other game: its own rules replay it, and every draw must follow from the seed."""
    verdict = game.wire.verdict(unpacked(result.details), players)
    winner = players.index(result.winner) if result.winner in players else None
    is_technical = result.status == "TECHNICAL_LOSS"
    right_points = dict(
        zip(
            players,
            game.scoring.points(winner, is_technical, verdict.returns),
            strict=True,
        )
    )
    if result.points != right_points:
        yield f"{result.points} are not the points of this result, {right_points} are"
    if not result.verified:
        return
    if verdict.contradicts(winner) or (verdict.kind == "technical") != is_technical:
        yield f"called verified, yet its details say: {verdict.note}"
    yield from _events(verdict, result.details, league_id, attempt_of(result))


def _events(verdict: Verdict, draw: Object, league_id: str, attempt: Attempt) -> Iterator[str]:
    """Every event that chance drew must follow from seed and share."""
    label = f"{league_id}|{attempt.match_id}|{attempt.number}"
    seed = _seed_of(draw)
    for index, step in enumerate(verdict.draws):
        if not _is_seed(seed):
            yield "no seed confirms its draws"
            return
        right_event = drawn_event(seed, label, index, step.weights)
        if step.number != right_event:
            yield f"draw {index + 1}: the seed gives {right_event}, not {step.number}"


def _text(outcome: MatchOutcome) -> str:
    suffix = " by fault" if outcome.technical else ""
    return f"winner {outcome.winner}{suffix}"


def _number(
    details: Object,
    league_id: str,
    attempt: Attempt,
) -> Iterator[str]:
    """The drawn number must follow from seed and share."""
    seed = _seed_of(details)
    number = whole(details, "drawn_number")
    if not seed:
        yield "called verified, yet no seed confirms its draw"
    elif not _is_seed(seed):
        yield f"{seed!r} is not a seed"
    elif number is not None:
        right_number = drawn(seed, league_id, attempt.match_id, attempt.number)
        if number != right_number:
            yield f"the seed gives {right_number}, not {number}"


def _seed_of(draw: Object) -> str:
    """What the draws of a match follow from: the referee's seed, and the manager's share if there is one."""
    seed = text(draw, "draw_seed") or ""
    share = text(draw, "draw_share") or ""
    return shared_seed(seed, share) if _is_seed(seed) and _is_seed(share) else seed


def _is_seed(value: str) -> bool:
    return len(value) == 64 and set(value) <= set("0123456789abcdef")


# --- the referees' results --------------------------------------------------------------------------------------------


class _PlayedMatch:
    """What a referee's journal says about one attempt."""

    def __init__(self, assignment: e.MatchTaken) -> None:
        self.assignment = assignment
        self.moves: dict[int, dict[str, str]] = {}
        self.faults: set[str] = set()
        self.number: int | None = None
        self.share: str | None = None

    def take(self, event: e.Event) -> None:
        if isinstance(event, e.MoveMade):
            self.moves.setdefault(event.turn, {})[event.player_id] = event.choice
        elif isinstance(event, e.PlayerFaulted):
            self.faults.add(event.player_id)
        elif isinstance(event, e.ShareReceived):
            self.share = event.share
        elif isinstance(event, e.NumberDrawn):
            self.number = event.number

    def problems(self, decided: e.MatchDecided) -> Iterator[str]:
        stored = MatchOutcome(decided.winner, decided.status == "TECHNICAL_LOSS")
        is_written_twice = self.assignment.game_type in WRITTEN_TWICE
        if is_written_twice and decided.points != points(self.assignment.players, stored):
            yield f"{decided.points} are not the points of winner {decided.winner}, {decided.status}"
        try:
            outcome = self._outcome()
        except CannotJudgeError as error:
            yield f"decided, yet {error}"
            return
        if outcome is not None and outcome.kind != stored.kind:
            yield f"{_text(stored)}, but what happened means {_text(outcome)}"
        game = registry.find(self.assignment.game_type)
        if self.assignment.game_type == "even_odd":
            yield from self._wrong_details(decided.details)
        elif game is not None:
            assignment = self.assignment
            verdict = game.wire.verdict(unpacked(decided.details), assignment.players)
            yield from _events(verdict, self._draw, assignment.league_id, attempt_of(assignment))

    @property
    def _draw(self) -> Object:
        return {"draw_seed": self.assignment.seed, "drawn_number": self.number, "draw_share": self.share}

    def _outcome(self) -> MatchOutcome | None:
        if self.faults:
            return by_faults(self.assignment.players, self.faults)
        moves = [self.moves[turn] for turn in sorted(self.moves)]
        choices: dict[str, str] = {}
        for move in moves:
            choices.update(move)
        details = {
            "status": None,
            "choices": choices,
            "drawn_number": self.number,
            "moves": moves,
        }
        return judge(self.assignment.game_type, self.assignment.players, details)

    def _wrong_details(self, details: Object) -> Iterator[str]:
        """The details sent to everybody must be what happened."""
        assignment = self.assignment
        attempt = attempt_of(assignment)
        yield from _number(self._draw, assignment.league_id, attempt)
        moves = self.moves.get(1, {})
        choices = {player: moves.get(player) for player in assignment.players}
        if inner(details, "choices") != choices:
            yield f"told the choices {details.get('choices')}, but they were {choices}"
        # After a fault no number counts, even if one was drawn.
        number = None if self.faults else self.number
        if details.get("drawn_number") != number:
            yield f"told the number {details.get('drawn_number')}, but it was {self.number}"
        if details.get("draw_seed") not in (None, assignment.seed):
            yield "told another seed than the one promised"


def _decided(
    referee: str,
    journal: EventLog,
) -> Iterator[Breach]:
    matches: dict[Attempt, _PlayedMatch] = {}
    for place, event in enumerate(journal):
        where = event_at(referee, place)
        if isinstance(event, e.MatchTaken):
            matches.setdefault(attempt_of(event), _PlayedMatch(event))
        elif isinstance(
            event,
            e.MoveMade | e.PlayerFaulted | e.ShareReceived | e.NumberDrawn | e.MatchDecided,
        ):
            match = matches.get(attempt_of(event))
            if match is None:
                yield Breach(
                    f"{event.match_id} was never taken as attempt {event.attempt}",
                    where,
                )
            elif isinstance(event, e.MatchDecided):
                yield from breaches_at(
                    where,
                    (f"{event.match_id}: {detail}" for detail in match.problems(event)),
                )
            else:
                match.take(event)


# --- the traffic ------------------------------------------------------------------------------------------------------


def _game_overs(evidence: Evidence) -> Iterator[Breach]:
    """Every GAME_OVER says what its referee decided."""
    for referee, journal in evidence.referees.items():
        if not journal:
            continue
        decisions = journal.by_attempt(e.MatchDecided)
        for call in evidence.sent("GAME_OVER", referee):
            result = inner(call.message, "game_result")
            attempt = Attempt(text(call.message, "match_id") or "", whole(result, "attempt") or 0)
            decided = decisions.get(attempt)
            if decided is None:
                yield Breach("GAME_OVER of a match that was not decided", call_at(call))
                continue
            winner = text(result, "winner_player_id")
            if text(result, "status") != decided.status or winner != decided.winner:
                yield Breach(
                    f"GAME_OVER does not say {decided.status}, {decided.winner}",
                    call_at(call),
                )


class _Seed(NamedTuple):
    """A seed of a league, perhaps none."""

    value: str | None
    league_id: str


def _commitments(evidence: Evidence) -> Iterator[Breach]:
    """Every invitation has the commitment of the seed in the result, or in the referee's journal."""
    settings = settings_of(evidence.manager)
    if settings is None or settings.game_type != "even_odd":
        return
    invitations = evidence.calls.get("GAME_INVITATION")
    if not invitations:
        return
    assignments = by_attempt(evidence, e.MatchTaken)
    results = evidence.manager.by_attempt(e.ResultAccepted)
    for call in invitations:
        attempt = attempt_in(call.message)
        promised = text(call.message, "draw_commitment")
        assignment = assignments.get(attempt)
        if assignment is not None:
            seed = _Seed(assignment.seed, assignment.league_id)
        else:
            result = results.get(attempt)
            seed = _Seed(text(result.details if result else None, "draw_seed"), text(call.message, "league_id") or "")
        if not seed.value or not _is_seed(seed.value):
            continue
        # Third-party referees need not promise anything; ours must.
        is_due = promised is not None or assignment is not None
        share_commitment = text(call.message, "share_commitment") or ""
        right = commitment(
            seed.value,
            seed.league_id,
            attempt.match_id,
            attempt.number,
            share_commitment,
        )
        if is_due and promised != right:
            yield Breach("the commitment is not that of the seed", call_at(call))
