"""Why a match ended as it did: the verdict (whose fault, by which clause, what to change), the check of the draw (spec
section 12), and the course of the match.

Theory of operation. `match_facts.py` says what is known, `fault_words.py` what players did wrong, `timeline.py` what
happened when; here it becomes one `Explanation`, as data for the match page, MCP clients and `--json`, and as lines of
text for the terminal. There are three kinds of verdict: a walkover (nobody played), an ending (it was played, by the
rules or to a technical loss), and none yet (then the verdict says where the match stands). A player is blamed only if
a fault is on record: what a referee of others leaves out of its report is called unknown, never guessed.

Nothing here reads a file or a clock.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from league.events import (
    AnswerRefused,
    MatchLost,
    RequestRefused,
    ResultAccepted,
    ResultVoided,
    WalkoverDecided,
)
from league.features.records.broken_clauses import ClauseRef, cite
from league.features.records.fault_words import ITS_CODE, PlayerFault, corrected_mistakes, final_faults
from league.features.records.letter_words import content_of
from league.features.records.match_facts import Ending, MatchFacts, reported_choices
from league.features.records.timeline import TimelineAttempt, timeline
from league.games import draw
from league.games.contract import LOSS_POINTS, WIN_POINTS
from league.manager.state.ledger import provenance_in
from league.reading.evidence_words import basis_in, basis_words

VERDICT = "Verdict: "
"""The line with the outcome begins with this."""
LONGEST_ANSWER = 600
_PROGRAM = (
    "import hashlib, hmac; s, m = bytes.fromhex({seed}), {label}.encode(); "
    "print(hashlib.sha256(s + m).hexdigest()); "
    'draws = (hmac.digest(s, m + b"|%d" % i, "sha256")[0] for i in range(999)); '
    "print(next(b % 10 + 1 for b in draws if b < 250))"
)
_SHARED_PROGRAM = (
    "import hashlib, hmac; s, h, m = bytes.fromhex({seed}), bytes.fromhex({share}), {label}.encode(); "
    "c = hashlib.sha256(h + m).hexdigest().encode(); "
    'print(hashlib.sha256(s + m + b"|" + c).hexdigest()); k = hashlib.sha256(s + h).digest(); '
    'draws = (hmac.digest(k, m + b"|%d" % i, "sha256")[0] for i in range(999)); '
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
    """The check of a draw. `promised` is the commitment in the invitations, None if no letter shows it. `holds` is true
    if seed, promise and number belong together."""

    number: int
    seed: str
    share: str
    """The manager's share of a shared draw, and its promise; empty if the referee drew alone."""
    share_commitment: str
    commitment: str
    promised: str | None
    holds: bool
    sentence: str
    command: str
    """A command that prints the commitment and the number."""


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
    """What is missing here, and what else is on record."""


def explain(facts: MatchFacts) -> Explanation:
    """Explain a match."""
    started_at, attempts = timeline(facts)
    return Explanation(
        match_id=facts.match_id,
        league_id=facts.league_id,
        game_type=facts.game_type,
        round_id=facts.round_id,
        players=facts.players,
        names={player: facts.league.names.get(player, player) for player in facts.players},
        verdict=_verdict(facts),
        draw=_draw(facts),
        started_at=started_at,
        attempts=attempts,
        remarks=tuple(_remarks(facts, attempts)),
    )


# --- the verdict ------------------------------------------------------------------------------------------------------


def _verdict(facts: MatchFacts) -> MatchVerdict:
    if isinstance(facts.result, WalkoverDecided):
        return _walkover(facts, facts.result)
    ending = facts.ending
    if ending is None:
        return _undecided(facts)
    if ending.status == "TECHNICAL_LOSS":
        return _technical(facts, ending)
    return _played(facts, ending)


def _walkover(facts: MatchFacts, result: WalkoverDecided) -> MatchVerdict:
    gone = " and ".join(map(facts.named, result.withdrawn)) or "a player"
    won = "nobody wins"
    if result.winner:
        won = f"{facts.named(result.winner)} wins"
    return MatchVerdict(
        outcome="WALKOVER",
        winner=result.winner,
        points=facts.points,
        at_fault=(),
        why=(
            f"The match was not played: the operator had withdrawn {gone}, so {won} by walkover.",
            "That is the operator's decision; no message of a player led to it.",
        ),
        clauses=(cite("LEAGUE.withdrawn"),),
    )


def _technical(facts: MatchFacts, ending: Ending) -> MatchVerdict:
    attempt = facts.counted_attempt
    faults = final_faults(facts, attempt)
    at_fault = tuple(player for player in facts.players if player != ending.winner)
    why = [_technical_result(facts, ending, at_fault, bool(faults))]
    why.extend(f"{fault.sentence}." for fault in faults)
    # A referee of others need not say what the fault was.
    if not faults:
        why.append("Which fault it was, and whose, is not on record here: the report names none.")
    clauses = [clause for fault in faults for clause in (fault.clause, fault.rule) if clause is not None]
    clauses.append(cite("MATCH.points"))
    return MatchVerdict(
        outcome="TECHNICAL_LOSS",
        winner=ending.winner,
        points=ending.points,
        at_fault=at_fault,
        why=(*why, *_notes(facts)),
        clauses=tuple(dict.fromkeys(clauses)),
        faults=faults,
        stumbles=corrected_mistakes(facts, attempt),
    )


def _technical_result(facts: MatchFacts, ending: Ending, at_fault: Sequence[str], has_faults: bool) -> str:
    losers = " and ".join(map(facts.named, at_fault))
    if ending.winner is None:
        return f"Both players lost for technical reasons: {losers}. Nobody gets points."
    source = "by its own fault" if has_faults else "according to its referee"
    points = ending.points.get(ending.winner, WIN_POINTS)
    return f"{losers} lost for technical reasons, {source}; {facts.named(ending.winner)} gets {points} points."


def _played(facts: MatchFacts, ending: Ending) -> MatchVerdict:
    # A mistake that was put right decided nothing, but its player should know of it.
    corrected = corrected_mistakes(facts, facts.counted_attempt)
    clauses = [cite("MATCH.points")]
    if facts.game_type == "even_odd":
        clauses.insert(0, cite("MATCH.winner"))
    return MatchVerdict(
        outcome=ending.status,
        winner=ending.winner,
        points=ending.points,
        at_fault=(),
        why=(
            _played_result(facts, ending),
            *_by_rules(facts, ending),
            _blame(facts, ending, corrected),
            *_notes(facts),
        ),
        clauses=tuple(clauses),
        stumbles=corrected,
    )


def _played_result(facts: MatchFacts, ending: Ending) -> str:
    if ending.winner is None:
        first, second = facts.players
        return f"{facts.named(first)} and {facts.named(second)} drew, 1 point each."
    loser = facts.opponent(ending.winner)
    won = ending.points.get(ending.winner, WIN_POINTS)
    lost = ending.points.get(loser, LOSS_POINTS)
    return f"{facts.named(ending.winner)} won against {facts.named(loser)}, {won} points to {lost}."


def _unreported(facts: MatchFacts, ending: Ending) -> str:
    """What the even/odd report of a referee of others leaves out, though it decides; nothing if it is complete."""
    if facts.game_type != "even_odd" or not isinstance(ending, ResultAccepted):
        return ""
    choices = reported_choices(ending)
    missing = [f"no choice of {player}" for player in facts.players if choices.get(player) is None]
    if len(missing) == len(facts.players):
        missing = ["no choices"]
    number = ending.details.get("drawn_number")
    if not isinstance(number, int) or not number:
        missing.append("no number from 1 to 10")
    elif not 1 <= number <= 10:
        missing.append(f"{number}, which is no number from 1 to 10")
    return " and ".join(missing)


def _looks_like_loss(facts: MatchFacts, ending: Ending) -> bool:
    """True if the report of a win says that a choice was not made: it names the choice of one player alone, or has
    room for choices and a number, and neither. A report that leaves out both says nothing about that."""
    choices = ending.details.get("choices")
    if ending.winner is None or not isinstance(choices, dict):
        return False
    chosen = [player for player in facts.players if choices.get(player) is not None]
    if not chosen:
        return not isinstance(ending.details.get("drawn_number"), int) or ending.details["drawn_number"] == 0
    return len(chosen) < len(facts.players)


def _blame(facts: MatchFacts, ending: Ending, corrected: Sequence[PlayerFault]) -> str:
    missing = _unreported(facts, ending)
    if missing:
        referee = facts.referee_id or "its referee"
        report = f"The report of {referee} gives {missing}."
        if _looks_like_loss(facts, ending):
            return f"{report} A technical loss is likely, and only that referee knows whose fault it was."
        return f"{report} How the match went, only that referee knows."
    if corrected:
        players = sorted({facts.named(mistake.player_id) for mistake in corrected})
        return (
            f"The rules of the game decided, but {' and '.join(players)} had to be asked again: an answer was late or "
            "wrong at first."
        )
    return "Nobody was at fault: both players answered every question, and the rules of the game decided."


def _by_rules(facts: MatchFacts, ending: Ending) -> Iterator[str]:
    """How the rules of the game led to this result."""
    if _unreported(facts, ending):
        return
    choices = ending.details.get("choices")
    number = ending.details.get("drawn_number")
    # Other games tell their reason themselves, in the words of the referee's decision.
    if facts.game_type != "even_odd" or not isinstance(choices, dict) or not isinstance(number, int):
        decided = facts.decided(facts.counted_attempt)
        if decided is not None and decided.reason:
            yield f"{decided.reason}."
        return
    chosen = [choices.get(player) for player in facts.players]
    parity = "odd" if number % 2 else "even"
    rule = f"whoever said {parity} wins"
    if chosen[0] == chosen[1]:
        rule = "equal choices are always a draw"
    sentences = [f"{player} chose {choice}" for player, choice in zip(facts.players, chosen, strict=True)]
    yield f"{', '.join(sentences)}; the number was {number}, which is {parity}: {rule}."


def _notes(facts: MatchFacts) -> Iterator[str]:
    """Earlier attempts, choices that no player made, and what the result rests on."""
    attempt = facts.counted_attempt
    voided = [event for event in facts.manager if isinstance(event, ResultVoided)]
    if voided:
        yield f"An earlier result was voided by {_voided_by(voided[-1])}; attempt {attempt} counts."
    elif attempt > 1:
        reasons = dict.fromkeys(event.why for event in facts.manager if isinstance(event, MatchLost))
        why = _in_brackets("; ".join(reasons))
        yield f"It is the result of attempt {attempt}: those before were given up{why}, which is no player's fault."
    if facts.ending is not None:
        yield from _choices_by_nobody(facts, facts.ending)
    if facts.result is not None and (basis := basis_in(facts.result, facts.manager)):
        yield basis_words(basis)
    if isinstance(facts.result, ResultAccepted) and facts.result.corrected:
        changes = "; ".join(facts.result.corrected)
        yield f"The report of {facts.result.referee_id} contradicts itself; the manager corrected {changes}."
    yield from _refusals(facts)


def _refusals(facts: MatchFacts) -> Iterator[str]:
    """What came and was refused."""
    for event in facts.events_in(facts.counted_attempt):
        if isinstance(event, AnswerRefused):
            player = facts.named(event.player_id)
            claim = f", claiming to be {player}," if player else ""
            source = f"somebody at {event.origin}{claim}"
            yield f"An answer from {source} was refused, because {event.detail} ({event.code})."
    for event in facts.manager:
        if isinstance(event, RequestRefused):
            sender = f"{event.name} ({event.endpoint})"
            yield f"A {event.request} by {sender} came and was refused, because {event.detail} ({event.code})."


def _choices_by_nobody(facts: MatchFacts, ending: Ending) -> Iterator[str]:
    for player in facts.players:
        provenance = provenance_in(ending.details, player)
        if provenance is not None and provenance.fallbacks:
            yield (
                f"{provenance.fallbacks} of {provenance.choices} choices of {facts.named(player)} were not its own: "
                "its language model gave none, and its program chose instead."
            )


def _voided_by(event: ResultVoided) -> str:
    # Only the manager gives a reason.
    if event.why:
        return f"the manager ({event.why})"
    return "the operator"


def _in_brackets(text: str) -> str:
    if not text:
        return ""
    return f" ({text})"


# --- matches without a result -----------------------------------------------------------------------------------------


def _undecided(facts: MatchFacts) -> MatchVerdict:
    # Readers outside the manager know a match with a referee as one that is RUNNING.
    outcome = "RUNNING" if facts.status == "ASSIGNED" else facts.status
    return MatchVerdict(
        outcome=outcome,
        winner=None,
        points={},
        at_fault=(),
        why=tuple(_standing(facts)),
        clauses=tuple(_standing_clauses(facts)),
    )


def _standing(facts: MatchFacts) -> Iterator[str]:
    """Where a match without a result stands."""
    first, second = facts.players
    pair = f"{facts.named(first)} against {facts.named(second)}"
    if facts.status == "SCHEDULED":
        now = "no round has been opened yet"
        if facts.league.current_round:
            now = f"round {facts.league.current_round} is being played"
        yield f"Not played yet: {pair} is a match of round {facts.round_id}, and {now}."
    elif facts.status == "PARKED":
        yield from _parked(facts)
        yield from _refusals(facts)
    elif facts.voided is not None:
        yield f"The result was voided by {_voided_by(facts.voided)}; the match will be played again as a new attempt."
    elif facts.status == "ASSIGNED" and facts.referee_id is not None:
        yield from _running(facts, pair)
    else:
        yield f"Not decided yet: {pair} waits for a referee."


def _standing_clauses(facts: MatchFacts) -> Iterator[ClauseRef]:
    if facts.status == "PARKED":
        yield cite("REFEREE.lease_parked")
        yield cite("REFEREE.lease_no_blame")
    elif facts.voided is not None:
        yield cite("LEAGUE.void")


def _parked(facts: MatchFacts) -> Iterator[str]:
    lost = [f"attempt {event.attempt}: {event.why}" for event in facts.manager if isinstance(event, MatchLost)]
    yield f"Parked: every attempt was lost through its referee{_in_brackets('; '.join(lost))}. No player is to blame."
    yield (
        f"It goes on when a referee comes back or the operator decides: league replay-match {facts.match_id} gives it "
        "three more attempts."
    )


def _running(facts: MatchFacts, pair: str) -> Iterator[str]:
    yield f"Being played: {pair}, attempt {facts.attempt} with {facts.referee_id}."
    decided = facts.decided(facts.attempt)
    if decided is not None:
        yield f"Its referee has decided ({decided.reason}), but the manager has not accepted the report yet."
    else:
        yield "Choices are shown when it is over."
    yield from _refusals(facts)


# --- the draw ---------------------------------------------------------------------------------------------------------


def _draw(facts: MatchFacts) -> Draw | None:
    """The draw of the attempt that counts, once it is over; None in games without one."""
    attempt = facts.counted_attempt
    details = _details(facts)
    number = details.get("drawn_number")
    seed_hex = details.get("draw_seed")
    if not isinstance(number, int) or not isinstance(seed_hex, str):
        return None
    # A seed that is no seed proves nothing, and there is nothing to check.
    try:
        seed = bytes.fromhex(seed_hex)
        share_hex = str(details.get("draw_share") or "")
        share_commitment = str(details.get("share_commitment") or "")
        commitment = draw.commitment(seed, facts.league_id, facts.match_id, attempt, share_commitment)
        if share_hex:
            seed = draw.mixed(seed, bytes.fromhex(share_hex))
        follows = draw.number(seed, facts.league_id, facts.match_id, attempt)
    except ValueError:
        return None
    promised = _promised(facts, attempt)
    program = _SHARED_PROGRAM if share_hex else _PROGRAM
    program = program.format(seed=json.dumps(seed_hex), share=json.dumps(share_hex), label=json.dumps(facts.draw_label))
    return Draw(
        number=number,
        seed=seed_hex,
        share=share_hex,
        share_commitment=share_commitment,
        commitment=commitment,
        promised=promised,
        holds=follows == number and promised in (None, commitment),
        sentence=_draw_sentence(number, follows, commitment, promised),
        command=f"python3 -c {shlex.quote(program)}",
    )


def _details(facts: MatchFacts) -> Mapping[str, object]:
    """The details of the attempt that counts, from its referee's record if that is at hand."""
    decided = facts.decided(facts.counted_attempt)
    if decided is not None:
        return decided.details
    if isinstance(facts.result, ResultAccepted):
        return facts.result.details
    return {}


def _promised(facts: MatchFacts, attempt: int) -> str | None:
    """The commitment that the invitations of this attempt carried."""
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
            f"The number {number} follows from the seed. To check that the seed is the promised one, look at the "
            f"invitation of a player: its draw_commitment must be {commitment}."
        )
    if promised != commitment:
        return f"The seed is NOT the promised one: the invitations said {promised}, the seed gives {commitment}."
    return (
        f"The number {number} follows from the seed, and the seed is the one promised with the invitations, before "
        "anybody had chosen."
    )


# --- remarks ----------------------------------------------------------------------------------------------------------


def _remarks(facts: MatchFacts, attempts: Sequence[TimelineAttempt]) -> Iterator[str]:
    yield from _missing(facts, attempts)
    for attempt in attempts:
        if attempt.clocks_apart:
            yield (
                f"The clocks of the manager and of {attempt.referee_id} differ by at least "
                f"{abs(attempt.clocks_apart):.3f} s; the times of {attempt.referee_id} were moved by that much."
            )
    for record in facts.records.values():
        for remark in record.remarks:
            yield f"Transcript: {remark}."
    for deviation in facts.deviations:
        yield (
            f"On record against {deviation.agent_id}, though it cost nothing: {deviation.code} {deviation.detail} "
            f"({deviation.requirement})."
        )


def _missing(facts: MatchFacts, attempts: Sequence[TimelineAttempt]) -> Iterator[str]:
    """The accounts that are not at hand, and where they may be."""
    silent = [attempt.referee_id for attempt in attempts if attempt.attempt and not attempt.has_record]
    # A referee may have had several attempts: one remark is enough.
    for referee_id in dict.fromkeys(silent):
        if referee_id is None:
            continue
        where = ""
        if facts.source.elsewhere:
            where = f"; --journal {facts.source.elsewhere} may hold it"
        yield (
            f"The journal of {referee_id} is not at hand: its messages with the players, their times and retries are "
            f"not available{where}."
        )
    if facts.source.has_manager_journal:
        return
    if not facts.records:
        yield "This is what the manager's page shows. For everything, use --journal with the folder of all journals."
    elif not facts.manager:
        yield "The manager's journal is not at hand: this is the account of the referee alone."


# --- the same in lines of text ----------------------------------------------------------------------------------------


def explanation_lines(explanation: Explanation) -> Iterator[str]:
    """An explanation, line by line."""
    yield _title(explanation)
    yield ""
    yield from _verdict_lines(explanation.verdict)
    if explanation.draw is not None:
        yield ""
        yield f"Draw: {explanation.draw.sentence}"
        yield f"  Check it yourself: {explanation.draw.command}"
    for attempt in explanation.attempts:
        yield ""
        yield from _course(attempt, explanation.started_at)
    if explanation.remarks:
        yield ""
        yield "Remarks:"
        for remark in explanation.remarks:
            yield f"  {remark}"


def _title(explanation: Explanation) -> str:
    names = []
    for player in explanation.players:
        name = explanation.names[player]
        if name != player:
            player = f"{player} ({name})"
        names.append(player)
    league = f"round {explanation.round_id} of {explanation.league_id}"
    return f"{explanation.match_id}: {' against '.join(names)}, {explanation.game_type}, {league}"


def _verdict_lines(verdict: MatchVerdict) -> Iterator[str]:
    yield f"{VERDICT}{verdict.outcome}"
    for sentence in verdict.why:
        yield f"  {sentence}"
    if verdict.clauses:
        yield f"  Clauses: {'; '.join(map(str, verdict.clauses))}"
    for fault in verdict.faults:
        yield from _advice(fault)
    for fault in verdict.stumbles:
        yield ""
        yield f"On the way: {fault.sentence}."
        yield from _advice(fault)


def _advice(fault: PlayerFault) -> Iterator[str]:
    yield ""
    kind = "an error in its code" if ITS_CODE in fault.sentence else fault.code
    yield f"What to change ({fault.player_id}, {kind}):"
    yield f"  {fault.advice}"
    if fault.right_answer:
        yield f"  A right answer, inside the JSON-RPC result: {fault.right_answer}"
        yield "  Try yours: league validate answer.json"


def _course(attempt: TimelineAttempt, started_at: float) -> Iterator[str]:
    title = "Before"
    if attempt.attempt:
        title = f"Attempt {attempt.attempt}, referee {attempt.referee_id}"
    begin = datetime.fromtimestamp(started_at, UTC)
    yield f"{title} (seconds since {begin:%Y-%m-%d %H:%M:%S} UTC)"
    for line in attempt.lines:
        text = line.text
        if line.clause:
            text += f" [{line.clause}]"
        # Letters stand below the events they belong to.
        if line.kind == "letter":
            text = f"    {text}"
        yield f"  {line.after:+9.3f}  {text}"
        if line.kind == "event" and line.body:
            yield f"  {'':9}      its answer was: {line.body[:LONGEST_ANSWER]}"
