"""Why a match ended so: its course in words, and a verdict with whose fault it was, by which clause, and what to
change. From events and letters only; nothing here reads a file or a clock.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from league.events import MatchLost, ResultAccepted, ResultVoided, WalkoverDecided
from league.reports.case import Case
from league.reports.chronicle import Attempt, chronicle
from league.reports.clauses import Clause, known
from league.reports.draws import Draw, draw_of
from league.reports.faults import Fault, final_faults, stumbles


@dataclass(frozen=True, slots=True)
class Verdict:
    """`outcome` is WIN, DRAW, TECHNICAL_LOSS or WALKOVER, or where the match stands. `at_fault` names players."""

    outcome: str
    winner: str | None
    points: Mapping[str, int]
    at_fault: tuple[str, ...]
    why: tuple[str, ...]
    clauses: tuple[Clause, ...]
    faults: tuple[Fault, ...] = ()
    stumbles: tuple[Fault, ...] = ()


@dataclass(frozen=True, slots=True)
class Explanation:
    """`started_at` is the moment the times of all lines are counted from (seconds since the epoch)."""

    match_id: str
    league_id: str
    game_type: str
    round_id: int
    players: tuple[str, str]
    names: Mapping[str, str]
    verdict: Verdict
    draw: Draw | None
    started_at: float
    attempts: tuple[Attempt, ...]
    remarks: tuple[str, ...]
    """What is not available here, and what else is on record."""


def explain(case: Case) -> Explanation:
    """Tell the whole story of a match."""
    started_at, attempts = chronicle(case)
    return Explanation(
        match_id=case.match_id,
        league_id=case.league_id,
        game_type=case.game_type,
        round_id=case.round_id,
        players=case.players,
        names={one: case.names.get(one, one) for one in case.players},
        verdict=_verdict(case),
        draw=draw_of(case, _attempt_that_counts(case)),
        started_at=started_at,
        attempts=attempts,
        remarks=tuple(_remarks(case, attempts)),
    )


def _attempt_that_counts(case: Case) -> int:
    return case.result.attempt if isinstance(case.result, ResultAccepted) else case.attempt


# --- the verdict ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Ending:
    """A result, whoever told it."""

    status: str
    winner: str | None
    points: Mapping[str, int]
    details: Mapping[str, object]
    reason: str | None


def _ending(case: Case) -> _Ending | None:
    decided = case.decided(_attempt_that_counts(case))
    reason = decided.reason if decided else None
    if isinstance(case.result, ResultAccepted):
        one = case.result
        return _Ending(one.status, one.winner, one.points, one.details, reason)
    if decided is not None and not case.manager:
        return _Ending(decided.status, decided.winner, decided.points, decided.details, reason)
    return None


def _verdict(case: Case) -> Verdict:
    if isinstance(case.result, WalkoverDecided):
        return _walkover(case, case.result)
    ending = _ending(case)
    if ending is None:
        why, clauses = _standing(case)
        return Verdict(case.status, None, {}, (), why, clauses)
    if ending.status == "TECHNICAL_LOSS":
        return _technical(case, ending)
    return _played(case, ending)


def _walkover(case: Case, result: WalkoverDecided) -> Verdict:
    gone = " and ".join(map(case.named, result.withdrawn)) or "a player"
    won = f"{case.named(result.winner)} wins" if result.winner else "nobody wins"
    why = f"The match was not played: {gone} had been withdrawn by the operator, so {won} by walkover."
    points = {one: 3 if one == result.winner else 0 for one in case.players}
    note = "That is a decision of the operator; no message of a player led to it."
    return Verdict("WALKOVER", result.winner, points, (), (why, note), (known("LEAGUE.withdrawn"),))


def _technical(case: Case, ending: _Ending) -> Verdict:
    attempt = _attempt_that_counts(case)
    faults = final_faults(case, attempt)
    at_fault = tuple(one for one in case.players if one != ending.winner)
    losers = " and ".join(map(case.named, at_fault))
    if ending.winner is None:
        first = f"Both players lost for technical reasons: {losers}. Nobody gets points."
    else:
        other = f"{case.named(ending.winner)} gets {ending.points.get(ending.winner, 3)} points"
        whose = "by its own fault" if faults else "as its referee says"
        first = f"{losers} lost for technical reasons, {whose}; {other}."
    why = [first, *(f"{one.sentence}." for one in faults)]
    if not faults:
        why.append("Which fault it was is not on record here, and so not whose: the report names none.")
    clauses = [found for one in faults for found in (one.clause, one.rule) if found is not None]
    clauses.append(known("MATCH.points"))
    return Verdict(
        "TECHNICAL_LOSS",
        ending.winner,
        ending.points,
        at_fault,
        (*why, *_notes(case)),
        tuple(dict.fromkeys(clauses)),
        faults,
        stumbles(case, attempt),
    )


def _played(case: Case, ending: _Ending) -> Verdict:
    if ending.winner is None:
        result = f"{case.named(case.players[0])} and {case.named(case.players[1])} drew, 1 point each."
    else:
        loser = case.opponent(ending.winner)
        score = f"{ending.points.get(ending.winner, 3)} points to {ending.points.get(loser, 0)}"
        result = f"{case.named(ending.winner)} won against {case.named(loser)}, {score}."
    blame = "Nobody was at fault: both players answered every question, and the rules of the game decided."
    why = (result, *_by_rules(case, ending), blame, *_notes(case))
    rules = (known("MATCH.winner"),) if case.game_type == "even_odd" else ()
    clauses = (*rules, known("MATCH.points"))
    found = stumbles(case, _attempt_that_counts(case))
    return Verdict(ending.status, ending.winner, ending.points, (), why, clauses, (), found)


def _by_rules(case: Case, ending: _Ending) -> Iterator[str]:
    choices, number = ending.details.get("choices"), ending.details.get("drawn_number")
    if case.game_type != "even_odd" or not isinstance(choices, dict) or not isinstance(number, int):
        if ending.reason:
            yield f"{ending.reason}."
        return
    chosen = ", ".join(f"{one} chose {choices.get(one)}" for one in case.players)
    same = choices.get(case.players[0]) == choices.get(case.players[1])
    parity = "odd" if number % 2 else "even"
    end = "equal choices are always a draw" if same else f"whoever said {parity} wins"
    yield f"{chosen}; the number was {number}, which is {parity}: {end}."


def _notes(case: Case) -> Iterator[str]:
    """What else must be said about a result."""
    attempt = _attempt_that_counts(case)
    lost = [event for event in case.manager if isinstance(event, MatchLost)]
    if any(isinstance(event, ResultVoided) for event in case.manager):
        yield f"An earlier result was voided by the operator; what counts is attempt {attempt}."
    elif attempt > 1:
        reasons = "; ".join(dict.fromkeys(event.why for event in lost))
        told = f" ({reasons})" if reasons else ""
        yield f"It is the result of attempt {attempt}: those before were given up{told}, which is no player's fault."
    if isinstance(case.result, ResultAccepted) and not case.result.verified:
        yield "The manager could not verify it from what was reported; it stands as its referee told it."


# --- matches without a result -----------------------------------------------------------------------------------------


def _standing(case: Case) -> tuple[tuple[str, ...], tuple[Clause, ...]]:
    pair = f"{case.named(case.players[0])} against {case.named(case.players[1])}"
    if case.status == "SCHEDULED":
        now = f"round {case.current_round} is being played" if case.current_round else "no round has been opened yet"
        return (f"Not played yet: {pair} is a match of round {case.round_id}, and {now}.",), ()
    if case.status == "PARKED":
        return _parked(case), (known("REFEREE.lease_parked"), known("REFEREE.lease_no_blame"))
    if case.status == "VOIDED":
        text = "The operator voided the result; the match will be played again as a new attempt."
        return (text,), (known("LEAGUE.void"),)
    if case.status == "WAITING" or case.referee_id is None:
        return (f"Not decided yet: {pair} waits for a referee.",), ()
    return tuple(_running(case, pair)), ()


def _parked(case: Case) -> tuple[str, ...]:
    reasons = "; ".join(f"attempt {one.attempt}: {one.why}" for one in case.manager if isinstance(one, MatchLost))
    told = f" ({reasons})" if reasons else ""
    return (
        f"Parked: every attempt was lost through its referee{told}. No player is to blame.",
        f"The operator decides: league replay-match {case.match_id} gives it three more attempts.",
    )


def _running(case: Case, pair: str) -> Iterator[str]:
    yield f"Being played: {pair}, attempt {case.attempt} with {case.referee_id}."
    decided = case.decided(case.attempt)
    if decided is not None:
        yield f"Its referee has decided ({decided.reason}), but the manager has not accepted the report yet."
    else:
        yield "Choices are shown when it is over."


# --- remarks ----------------------------------------------------------------------------------------------------------


def _remarks(case: Case, attempts: tuple[Attempt, ...]) -> Iterator[str]:
    yield from _missing(case, attempts)
    for one in attempts:
        if one.clocks_apart:
            yield (
                f"The clocks of the manager and of {one.referee_id} differ by at least {abs(one.clocks_apart):.3f} s; "
                f"the times of {one.referee_id} were moved by that much."
            )
    for record in case.records.values():
        yield from (f"Transcript: {one}." for one in record.remarks)
    for found in case.deviations:
        yield (
            f"On record against {found.agent_id}, though it cost nothing: {found.code} {found.detail} "
            f"({found.requirement})."
        )


def _missing(case: Case, attempts: tuple[Attempt, ...]) -> Iterator[str]:
    without = dict.fromkeys(
        one.referee_id for one in attempts if one.attempt and not one.has_record and one.referee_id is not None
    )
    for referee_id in without:
        where = f"; --journal {case.elsewhere} may hold it" if case.elsewhere else ""
        yield (
            f"The journal of {referee_id} is not at hand: what passed between it and the players (messages, times, "
            f"retries) is not available{where}."
        )
    if not case.has_journal and not case.records:
        yield "This is what the manager's page shows; --journal with the folder of the league's journals tells it all."
    elif not case.has_journal and not case.manager:
        yield "The manager's journal is not at hand: this is the account of the referee alone."
