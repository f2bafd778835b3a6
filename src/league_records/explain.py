"""Why a match ended as it did: the verdict (whose fault, by which clause, what to change), the check of the draw (spec
section 12), and the course of the match. Made from events and letters only; nothing here reads a file or a clock.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from league.events import MatchDecided, MatchHeld, MatchLost, ResultAccepted, ResultVoided, WalkoverDecided
from league.games import draw
from league_records.clauses import ClauseRef, known
from league_records.faults import PlayerFault, corrected_mistakes, final_faults
from league_records.letters import content_of
from league_records.match_facts import MatchFacts
from league_records.timeline import TimelineAttempt, timeline

VERDICT = "Verdict: "
"""What the line with the outcome begins with."""
_PROGRAM = (
    "import hashlib, hmac; s, m = bytes.fromhex({seed}), {label}.encode(); "
    "print(hashlib.sha256(s + m).hexdigest()); "
    'draws = (hmac.digest(s, m + b"|%d" % i, "sha256")[0] for i in range(999)); '
    "print(next(b % 10 + 1 for b in draws if b < 250))"
)


@dataclass(frozen=True, slots=True)
class MatchVerdict:
    """`outcome` is WIN, DRAW, TECHNICAL_LOSS or WALKOVER, or where the match stands. `at_fault` names players."""

    outcome: str
    winner: str | None
    points: Mapping[str, int]
    at_fault: tuple[str, ...]
    why: tuple[str, ...]
    clauses: tuple[ClauseRef, ...]
    faults: tuple[PlayerFault, ...] = ()
    stumbles: tuple[PlayerFault, ...] = ()


@dataclass(frozen=True, slots=True)
class Draw:
    """`promised` is the commitment that was sent with the invitations, None where no letter shows it; `holds` whether
    seed, promise and number belong together."""

    number: int
    seed: str
    commitment: str
    promised: str | None
    holds: bool
    sentence: str
    command: str
    """Prints the commitment and the number."""


@dataclass(frozen=True, slots=True)
class Explanation:
    """`started_at` is the moment the times of all lines are counted from (seconds since the epoch)."""

    match_id: str
    league_id: str
    game_type: str
    round_id: int
    players: tuple[str, str]
    names: Mapping[str, str]
    verdict: MatchVerdict
    draw: Draw | None
    started_at: float
    attempts: tuple[TimelineAttempt, ...]
    remarks: tuple[str, ...]
    """What is not available here, and what else is on record."""


def explain(facts: MatchFacts) -> Explanation:
    """Explain a match."""
    started_at, attempts = timeline(facts)
    return Explanation(
        match_id=facts.match_id,
        league_id=facts.league_id,
        game_type=facts.game_type,
        round_id=facts.round_id,
        players=facts.players,
        names={one: facts.names.get(one, one) for one in facts.players},
        verdict=_verdict(facts),
        draw=_draw(facts, facts.counted_attempt),
        started_at=started_at,
        attempts=attempts,
        remarks=tuple(_remarks(facts, attempts)),
    )


# --- the verdict ------------------------------------------------------------------------------------------------------


Ending = ResultAccepted | MatchDecided
"""A result, from the manager or, where nothing of the manager is at hand, from the referee."""


def _ending(facts: MatchFacts) -> Ending | None:
    if isinstance(facts.result, ResultAccepted):
        return facts.result
    return None if facts.manager else facts.decided(facts.attempt)


def _verdict(facts: MatchFacts) -> MatchVerdict:
    if isinstance(facts.result, WalkoverDecided):
        return _walkover(facts, facts.result)
    ending = _ending(facts)
    if ending is None:
        why, clauses = _standing(facts)
        return MatchVerdict(facts.status, None, {}, (), why, clauses)
    if ending.status == "TECHNICAL_LOSS":
        return _technical(facts, ending)
    return _played(facts, ending)


def _walkover(facts: MatchFacts, result: WalkoverDecided) -> MatchVerdict:
    gone = " and ".join(map(facts.named, result.withdrawn)) or "a player"
    won = f"{facts.named(result.winner)} wins" if result.winner else "nobody wins"
    why = f"The match was not played: {gone} had been withdrawn by the operator, so {won} by walkover."
    points = {one: 3 if one == result.winner else 0 for one in facts.players}
    note = "That is a decision of the operator; no message of a player led to it."
    return MatchVerdict("WALKOVER", result.winner, points, (), (why, note), (known("LEAGUE.withdrawn"),))


def _technical(facts: MatchFacts, ending: Ending) -> MatchVerdict:
    attempt = facts.counted_attempt
    faults = final_faults(facts, attempt)
    at_fault = tuple(one for one in facts.players if one != ending.winner)
    losers = " and ".join(map(facts.named, at_fault))
    if ending.winner is None:
        first = f"Both players lost for technical reasons: {losers}. Nobody gets points."
    else:
        other = f"{facts.named(ending.winner)} gets {ending.points.get(ending.winner, 3)} points"
        whose = "by its own fault" if faults else "as its referee says"
        first = f"{losers} lost for technical reasons, {whose}; {other}."
    why = [first, *(f"{one.sentence}." for one in faults)]
    if not faults:
        why.append("Which fault it was is not on record here, and so not whose: the report names none.")
    clauses = [found for one in faults for found in (one.clause, one.rule) if found is not None]
    clauses.append(known("MATCH.points"))
    return MatchVerdict(
        "TECHNICAL_LOSS",
        ending.winner,
        ending.points,
        at_fault,
        (*why, *_notes(facts)),
        tuple(dict.fromkeys(clauses)),
        faults,
        corrected_mistakes(facts, attempt),
    )


def _played(facts: MatchFacts, ending: Ending) -> MatchVerdict:
    if ending.winner is None:
        result = f"{facts.named(facts.players[0])} and {facts.named(facts.players[1])} drew, 1 point each."
    else:
        loser = facts.opponent(ending.winner)
        score = f"{ending.points.get(ending.winner, 3)} points to {ending.points.get(loser, 0)}"
        result = f"{facts.named(ending.winner)} won against {facts.named(loser)}, {score}."
    found = corrected_mistakes(facts, facts.counted_attempt)
    why = (result, *_by_rules(facts, ending), _blame(facts, ending, found), *_notes(facts))
    rules = (known("MATCH.winner"),) if facts.game_type == "even_odd" else ()
    clauses = (*rules, known("MATCH.points"))
    return MatchVerdict(ending.status, ending.winner, ending.points, (), why, clauses, (), found)


def _unreported(facts: MatchFacts, ending: Ending) -> str:
    """What an even/odd result by a referee of others does not say, though it should decide; "" if it says all."""
    given = ending.details.get("choices")
    choices = given if isinstance(given, dict) else {}
    number = ending.details.get("drawn_number")
    if facts.game_type != "even_odd" or not isinstance(ending, ResultAccepted) or ending.verified:
        return ""
    lacking = [f"no choice of {one}" for one in facts.players if choices.get(one) is None]
    lacking = ["no choices"] if len(lacking) == len(facts.players) else lacking
    if not isinstance(number, int) or not 1 <= number <= 10:
        lacking.append("no number from 1 to 10")
    return " and ".join(lacking)


def _blame(facts: MatchFacts, ending: Ending, corrected: Sequence[PlayerFault]) -> str:
    if lacking := _unreported(facts, ending):
        likely = "A technical loss is likely" if ending.winner else "Whether it was played at all is not known"
        return (
            f"The report of {facts.referee_id or 'its referee'} gives {lacking}. {likely}, "
            "and whose fault it was only that referee knows."
        )
    if corrected:
        who = " and ".join(sorted({facts.named(one.player_id) for one in corrected}))
        return f"The rules of the game decided, but {who} had to be asked again: an answer was late or wrong at first."
    return "Nobody was at fault: both players answered every question, and the rules of the game decided."


def _by_rules(facts: MatchFacts, ending: Ending) -> Iterator[str]:
    choices, number = ending.details.get("choices"), ending.details.get("drawn_number")
    if _unreported(facts, ending):
        return
    if facts.game_type != "even_odd" or not isinstance(choices, dict) or not isinstance(number, int):
        decided = facts.decided(facts.counted_attempt)
        if decided is not None and decided.reason:
            yield f"{decided.reason}."
        return
    chosen = ", ".join(f"{one} chose {choices.get(one)}" for one in facts.players)
    same = choices.get(facts.players[0]) == choices.get(facts.players[1])
    parity = "odd" if number % 2 else "even"
    end = "equal choices are always a draw" if same else f"whoever said {parity} wins"
    yield f"{chosen}; the number was {number}, which is {parity}: {end}."


def _notes(facts: MatchFacts) -> Iterator[str]:
    """Earlier attempts, and whether the result was verified."""
    attempt = facts.counted_attempt
    lost = [event for event in facts.manager if isinstance(event, MatchLost | MatchHeld)]
    voided = [event for event in facts.manager if isinstance(event, ResultVoided)]
    if voided:
        by = f"by the manager ({voided[-1].why})" if voided[-1].why else "by the operator"
        yield f"An earlier result was voided {by}; what counts is attempt {attempt}."
    elif attempt > 1:
        reasons = "; ".join(dict.fromkeys(event.why for event in lost))
        told = f" ({reasons})" if reasons else ""
        yield f"It is the result of attempt {attempt}: those before were given up{told}, which is no player's fault."
    if isinstance(facts.result, ResultAccepted) and not facts.result.verified:
        yield "It is unverified: what was reported does not prove it, and it stands as its referee told it."


# --- the draw ---------------------------------------------------------------------------------------------------------


def _draw(facts: MatchFacts, attempt: int) -> Draw | None:
    """The draw of this attempt, once it is over and where there was one."""
    decided = facts.decided(attempt)
    result = facts.result if isinstance(facts.result, ResultAccepted) and facts.result.attempt == attempt else None
    details = decided.details if decided else result.details if result else {}
    number, seed_hex = details.get("drawn_number"), details.get("draw_seed")
    if not isinstance(number, int) or not isinstance(seed_hex, str):
        return None
    named = (facts.league_id, facts.match_id, attempt)
    try:
        seed = bytes.fromhex(seed_hex)
        commitment, follows = draw.commitment(seed, *named), draw.number(seed, *named)
    except ValueError:
        return None
    promised = _promised(facts, attempt)
    holds = follows == number and promised in (None, commitment)
    program = _PROGRAM.format(seed=json.dumps(seed_hex), label=json.dumps("{}|{}|{}".format(*named)))
    sentence = _draw_sentence(number, follows, commitment, promised)
    return Draw(number, seed_hex, commitment, promised, holds, sentence, f"python3 -c {shlex.quote(program)}")


def _promised(facts: MatchFacts, attempt: int) -> str | None:
    for letter in facts.letters:
        if letter.message_type == "GAME_INVITATION" and letter.direction == "out":
            content = content_of(letter) or {}
            commitment = content.get("draw_commitment")
            if content.get("attempt") == attempt and isinstance(commitment, str):
                return commitment
    return None


def _draw_sentence(number: int, follows: int, commitment: str, promised: str | None) -> str:
    if follows != number:
        return f"The number is WRONG: {number} was reported, but the seed gives {follows}."
    if promised is None:
        return (
            f"The number {number} follows from the seed. Whether the seed is the promised one shows draw_commitment in "
            f"the invitation a player got: it must be {commitment}."
        )
    if promised != commitment:
        return f"The seed is NOT the promised one: the invitations said {promised}, the seed gives {commitment}."
    return (
        f"The number {number} follows from the seed, and the seed is the one promised with the invitations, before "
        "anybody had chosen."
    )


# --- matches without a result -----------------------------------------------------------------------------------------


def _standing(facts: MatchFacts) -> tuple[tuple[str, ...], tuple[ClauseRef, ...]]:
    pair = f"{facts.named(facts.players[0])} against {facts.named(facts.players[1])}"
    if facts.status == "SCHEDULED":
        now = f"round {facts.current_round} is being played" if facts.current_round else "no round has been opened yet"
        return (f"Not played yet: {pair} is a match of round {facts.round_id}, and {now}.",), ()
    if facts.status == "PARKED":
        return _parked(facts), (known("REFEREE.lease_parked"), known("REFEREE.lease_no_blame"))
    if facts.status == "VOIDED":
        void = [event for event in facts.manager if isinstance(event, ResultVoided)][-1]
        who, clause = (f"The manager ({void.why})", "OUTAGE.held") if void.why else ("The operator", "LEAGUE.void")
        text = f"{who} voided the result; the match will be played again as a new attempt."
        return (text,), (known(clause),)
    if facts.status == "WAITING" or facts.referee_id is None:
        return (f"Not decided yet: {pair} waits for a referee.",), ()
    return tuple(_running(facts, pair)), ()


def _parked(facts: MatchFacts) -> tuple[str, ...]:
    reasons = "; ".join(f"attempt {one.attempt}: {one.why}" for one in facts.manager if isinstance(one, MatchLost))
    told = f" ({reasons})" if reasons else ""
    return (
        f"Parked: every attempt was lost through its referee{told}. No player is to blame.",
        f"It is taken up when a referee comes back or the operator decides: league replay-match {facts.match_id} gives "
        "it three more attempts.",
    )


def _running(facts: MatchFacts, pair: str) -> Iterator[str]:
    yield f"Being played: {pair}, attempt {facts.attempt} with {facts.referee_id}."
    decided = facts.decided(facts.attempt)
    if decided is not None:
        yield f"Its referee has decided ({decided.reason}), but the manager has not accepted the report yet."
    else:
        yield "Choices are shown when it is over."


# --- remarks ----------------------------------------------------------------------------------------------------------


def _remarks(facts: MatchFacts, attempts: tuple[TimelineAttempt, ...]) -> Iterator[str]:
    yield from _missing(facts, attempts)
    for one in attempts:
        if one.clocks_apart:
            yield (
                f"The clocks of the manager and of {one.referee_id} differ by at least {abs(one.clocks_apart):.3f} s; "
                f"the times of {one.referee_id} were moved by that much."
            )
    for record in facts.records.values():
        yield from (f"Transcript: {one}." for one in record.remarks)
    for found in facts.deviations:
        yield (
            f"On record against {found.agent_id}, though it cost nothing: {found.code} {found.detail} "
            f"({found.requirement})."
        )


def _missing(facts: MatchFacts, attempts: tuple[TimelineAttempt, ...]) -> Iterator[str]:
    without = dict.fromkeys(
        one.referee_id for one in attempts if one.attempt and not one.has_record and one.referee_id is not None
    )
    for referee_id in without:
        where = f"; --journal {facts.source.elsewhere} may hold it" if facts.source.elsewhere else ""
        yield (
            f"The journal of {referee_id} is not at hand: what passed between it and the players (messages, times, "
            f"retries) is not available{where}."
        )
    if not facts.source.has_manager_journal and not facts.records:
        yield "This is what the manager's page shows; --journal with the folder of the league's journals tells it all."
    elif not facts.source.has_manager_journal and not facts.manager:
        yield "The manager's journal is not at hand: this is the account of the referee alone."


# --- the same in lines of text ----------------------------------------------------------------------------------------


def explanation_lines(one: Explanation) -> Iterator[str]:
    """An explanation, line by line."""
    names = [f"{player} ({one.names[player]})" if one.names[player] != player else player for player in one.players]
    yield f"{one.match_id}: {' against '.join(names)}, {one.game_type}, round {one.round_id} of {one.league_id}"
    yield ""
    yield f"{VERDICT}{one.verdict.outcome}"
    yield from (f"  {sentence}" for sentence in one.verdict.why)
    if one.verdict.clauses:
        yield f"  Clauses: {'; '.join(map(str, one.verdict.clauses))}"
    for fault in one.verdict.faults:
        yield from _advice("What to change", fault)
    for fault in one.verdict.stumbles:
        yield ""
        yield f"On the way: {fault.sentence}."
        yield from _advice("What to change", fault)
    if one.draw is not None:
        yield from ("", f"Draw: {one.draw.sentence}", f"  Check it yourself: {one.draw.command}")
    for attempt in one.attempts:
        yield ""
        yield from _course(attempt, one.started_at)
    if one.remarks:
        yield from ("", "Remarks:", *(f"  {remark}" for remark in one.remarks))


def _advice(title: str, fault: PlayerFault) -> Iterator[str]:
    yield ""
    yield f"{title} ({fault.player_id}, {fault.code}):"
    yield f"  {fault.advice}"
    if fault.right_answer:
        yield f"  A right answer, inside the JSON-RPC result: {fault.right_answer}"
        yield "  Try yours: league validate answer.json"


def _course(attempt: TimelineAttempt, started_at: float) -> Iterator[str]:
    title = f"Attempt {attempt.attempt}, referee {attempt.referee_id}" if attempt.attempt else "Before"
    begin = datetime.fromtimestamp(started_at, UTC)
    yield f"{title} (seconds since {begin:%Y-%m-%d %H:%M:%S} UTC)"
    for line in attempt.lines:
        clause = f" [{line.clause}]" if line.clause else ""
        indent = "    " if line.kind == "letter" else ""
        yield f"  {line.after:+9.3f}  {indent}{line.text}{clause}"
        if line.kind == "event" and line.body:
            yield f"  {'':9}      it had said: {line.body[:600]}"
