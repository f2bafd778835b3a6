"""Faults of players: what they did, which clause they broke, why that cost the match, and what to change next time.

A referee records every failed call (`AttemptFailed`), every wrong answer (`WrongAnswer`) and, if a player runs out of
retries or corrections, its final fault (`PlayerFaulted`). So a final fault is explained by the mistakes before it at
the same question. If the referee's record is not at hand, all that is known is what it reported to the manager.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from league.events import AttemptFailed, Event, MatchTaken, PlayerFaulted, ResultAccepted, WrongAnswer
from league.features.records.broken_clauses import (
    ClauseRef,
    at_field,
    cause_in,
    cite,
    clause_of,
    failure,
    named,
    question,
    violated,
)
from league.features.records.match_facts import MatchFacts
from league.protocol import timestamps
from league.protocol.errors import ERRORS
from league.protocol.safe_text import without_tokens
from league.referee.match import ANSWERED_EMPTY, DECLINED, REFUSED_BECAUSE

SILENT: Final = ("E001", "E009", "E045")
"""The faults of a player that gave no answer."""

Mistake = AttemptFailed | WrongAnswer
"""Something that went wrong and may still be put right."""


@dataclass(frozen=True, slots=True)
class PlayerFault:
    """What a player did wrong. `clause` is the clause it broke, `rule` the one that made it lose the match; None if it
    did not."""

    player_id: str
    code: str
    name: str
    phase: str
    sentence: str
    clause: ClauseRef | None
    rule: ClauseRef | None
    advice: str
    right_answer: str | None = None


class _Question(NamedTuple):
    """A question that a referee asked: a fault and the mistakes that led to it have the same one."""

    player_id: str
    phase: str
    turn: int


def final_faults(facts: MatchFacts, attempt: int) -> tuple[PlayerFault, ...]:
    """The faults that lost this attempt: from the referee's record, or as it reported them to the manager."""
    events = facts.events_in(attempt)
    if events:
        return tuple(_recorded(facts, event, events) for event in events if isinstance(event, PlayerFaulted))
    if isinstance(facts.result, ResultAccepted):
        return tuple(_reported(facts, facts.result))
    return ()


def corrected_mistakes(facts: MatchFacts, attempt: int) -> tuple[PlayerFault, ...]:
    """What went wrong and was put right by a retry or a correction: the last mistake of each kind."""
    events = facts.events_in(attempt)
    # The mistakes of a loser are part of its final fault.
    losers = {event.player_id for event in events if isinstance(event, PlayerFaulted)}
    by_kind: dict[tuple[str, str, str], list[Mistake]] = {}
    for event in events:
        if isinstance(event, Mistake) and event.player_id not in losers:
            kind = (event.player_id, event.phase, event.code)
            by_kind.setdefault(kind, []).append(event)
    return tuple(_corrected(facts, mistakes[-1], len(mistakes)) for mistakes in by_kind.values())


class ListedMistake(NamedTuple):
    """A mistake in a list of them: its clause and what helps against it."""

    match_id: str
    code: str
    detail: str
    clause: str
    hint: str


def listed_mistakes(player_id: str, events: Sequence[Event], game_type: str) -> Iterator[ListedMistake]:
    """Everything that went wrong with a player in these records of matches, the newest first."""
    for event in reversed(events):
        if not isinstance(event, Mistake | PlayerFaulted) or event.player_id != player_id:
            continue
        # Only the judgement of an answer names the clause it broke.
        requirement = ""
        if isinstance(event, WrongAnswer):
            requirement = event.requirement
        clause = violated(event.code, event.phase, game_type, requirement)
        hint = advice_for(event.code, event.phase, event.detail)
        detail = event.detail
        if cause_in(detail):
            detail = failure(event.code, detail)
        yield ListedMistake(event.match_id, named(event.code), detail, str(clause or ""), hint)


# --- from the referee's record ----------------------------------------------------------------------------------------


def _recorded(facts: MatchFacts, fault: PlayerFaulted, events: Sequence[Event]) -> PlayerFault:
    if fault.code == DECLINED:
        return _declined(facts, fault.player_id)
    asked_in = _question_of(fault)
    mistakes = [event for event in events if isinstance(event, Mistake) and _question_of(event) == asked_in]
    wrong_answers = [mistake for mistake in mistakes if isinstance(mistake, WrongAnswer)]
    if wrong_answers:
        return _by_wrong_answers(facts, fault, wrong_answers)
    failed_calls = [mistake for mistake in mistakes if isinstance(mistake, AttemptFailed)]
    return _by_failed_calls(facts, fault, failed_calls)


def _question_of(event: Mistake | PlayerFaulted) -> _Question:
    return _Question(event.player_id, event.phase, event.turn)


def _by_wrong_answers(facts: MatchFacts, fault: PlayerFaulted, wrong_answers: Sequence[WrongAnswer]) -> PlayerFault:
    last = wrong_answers[-1]
    clause = clause_of(last.code, last.requirement)
    detail = at_field(last.path, last.detail)
    answered = f"{fault.player_id} answered {question(fault.phase)} wrongly"
    if last.code == fault.code:
        sentence = f"{answered} {_times(len(wrong_answers))}; the last was {named(fault.code)}: {detail}"
        return _fault(facts, fault, sentence, clause, cite("MATCH.fourth_wrong_answer_loses"))
    # The fault is then that no right answer came in time; the wrong answer is what to learn from.
    sentence = f"{answered} ({named(last.code)}: {detail}) and gave no right answer before the same deadline"
    return _fault(facts, last, sentence, clause, cite("MATCH.window_ends"))


def _by_failed_calls(facts: MatchFacts, fault: PlayerFaulted, failed_calls: Sequence[AttemptFailed]) -> PlayerFault:
    # Four timeouts are told once, a timeout and a refused connection both.
    failures = dict.fromkeys(failure(call.code, call.detail) for call in failed_calls)
    if not failures:
        failures[failure(fault.code, fault.detail)] = None
    sentence = (
        f"{fault.player_id} failed at {question(fault.phase)} {_times(len(failed_calls))}: {', then '.join(failures)}"
    )
    is_suspended = False
    taken = next((event for event in facts.events_in(fault.attempt) if isinstance(event, MatchTaken)), None)
    if taken is not None:
        seat = taken.players.index(fault.player_id)
        # A player that was suspended gets one invitation without retries.
        is_suspended = taken.suspended[seat] and len(failed_calls) < 2
        sentence += f". It was called at {taken.endpoints[seat]}"
    return _fault(facts, fault, sentence, _clause(facts, fault), _rule(fault.phase, is_suspended))


def _times(count: int) -> str:
    if count == 1:
        return "once"
    if count == 2:
        return "twice"
    return f"{count} times"


def _clause(facts: MatchFacts, event: PlayerFaulted | AttemptFailed) -> ClauseRef | None:
    return violated(event.code, event.phase, facts.game_type)


def _rule(phase: str, is_suspended: bool = False) -> ClauseRef:
    """Why silence in this phase loses the match."""
    if phase != "join":
        return cite("MATCH.silent_choice_126s")
    if is_suspended:
        return cite("MATCH.suspended_one_invitation")
    return cite("MATCH.silent_join_26s")


def _declined(facts: MatchFacts, player_id: str) -> PlayerFault:
    clause = cite("MATCH.declined_is_technical_loss")
    return PlayerFault(
        player_id=player_id,
        code=DECLINED,
        name=DECLINED,
        phase="join",
        sentence=f"{player_id} declined the invitation to play {facts.game_type}",
        clause=clause,
        rule=clause,
        advice=_advice_after_declining(facts.game_type),
    )


def _corrected(facts: MatchFacts, mistake: Mistake, count: int) -> PlayerFault:
    if isinstance(mistake, WrongAnswer):
        action = f"gave {count} wrong answers to"
        if count == 1:
            action = "gave 1 wrong answer to"
        detail = at_field(mistake.path, mistake.detail)
        clause = clause_of(mistake.code, mistake.requirement)
    else:
        action = f"failed {_times(count)} at"
        detail = mistake.detail
        clause = _clause(facts, mistake)
    reason = f"{named(mistake.code)}: {detail}"
    if cause_in(detail):
        reason = failure(mistake.code, detail)
    asked = question(mistake.phase)
    sentence = f"{mistake.player_id} {action} {asked} before it succeeded ({reason})"
    return _fault(facts, mistake, sentence, clause, None)


def _fault(
    facts: MatchFacts,
    event: PlayerFaulted | Mistake,
    sentence: str,
    clause: ClauseRef | None,
    rule: ClauseRef | None,
) -> PlayerFault:
    # An example helps against a wrong answer, not against silence.
    example = None
    if event.code not in SILENT:
        when = timestamps.write(event.at)
        example = right_answer(facts.game_type, event.phase, facts.match_id, event.player_id, when)
    _, _, name = named(event.code).partition(" ")
    return PlayerFault(
        player_id=event.player_id,
        code=event.code,
        name=name,
        phase=event.phase,
        sentence=without_tokens(sentence),
        clause=clause,
        rule=rule,
        advice=advice_for(event.code, event.phase, event.detail),
        right_answer=example,
    )


def _advice_after_declining(game_type: str) -> str:
    return (
        f"A Python player of this package declines games that it does not name: add {game_type} to its class, as in "
        f'games = ("{game_type}",). {advice_for(DECLINED, "join", "")}'
    )


# --- from the report to the manager -----------------------------------------------------------------------------------


def _reported(facts: MatchFacts, result: ResultAccepted) -> Iterator[PlayerFault]:
    """The faults in a report. Only referees of ours report them: a code and a detail for each player."""
    faults: Any = result.details.get("faults")  # Any: what a referee reported
    if not isinstance(faults, dict):
        return
    for player_id in facts.players:
        reported = faults.get(player_id)
        if isinstance(reported, dict):
            yield _reported_fault(facts, result, player_id, reported)


def _reported_fault(
    facts: MatchFacts, result: ResultAccepted, player_id: str, reported: Mapping[str, object]
) -> PlayerFault:
    code = str(reported.get("code"))
    if code == DECLINED:
        return _declined(facts, player_id)
    fault = PlayerFaulted(
        at=result.at,
        match_id=facts.match_id,
        attempt=result.attempt,
        player_id=player_id,
        phase="join" if reported.get("phase") == "join" else "move",
        turn=0,
        code=code,
        detail=str(reported.get("detail")),
    )
    rule = cite("MATCH.fourth_wrong_answer_loses")
    if code in SILENT:
        rule = _rule(fault.phase)
    sentence = f"{player_id} failed at {question(fault.phase)}: {failure(code, fault.detail)}"
    return _fault(facts, fault, sentence, _clause(facts, fault), rule)


# --- advice -----------------------------------------------------------------------------------------------------------

_TEXTS: Final[Mapping[str, str]] = {
    "DECLINED": (
        'Any other player answers GAME_INVITATION with "accept": true. Declining loses the match at once, and there is '
        "no second invitation. In friendly matches, name its game: league spar URL --game NAME. To leave a league, ask "
        "its operator to withdraw the player."
    ),
    "E001 join": (
        "Answer every GAME_INVITATION at once, with GAME_JOIN_ACK in the result of the same HTTP request; nothing has "
        "to be decided yet. Usual causes: the program was stopped at a breakpoint or at input(), one slow request "
        "blocks a server with a single thread, or the program calls others before it answers."
    ),
    "E001 move": (
        "Choose faster, or give the choice a time limit of its own and answer with any legal choice when it is "
        "reached: a poor choice is better than none. Usual causes: a language model or another service that takes too "
        "long, an endless loop, or input() waiting for a person."
    ),
    "E001 refused": (
        "An answer came as a request of its own, and nothing in it showed that it was this player's. The simplest "
        "remedy: answer in the result of the same HTTP request. Or put into every answer the conversation_id of the "
        "call that it answers, or the auth_token that your registration returned."
    ),
    "E001 empty": (
        "The player received the call and answered it with an empty body, and no answer followed as a request of its "
        "own. Usually the handler returns nothing, or does not know this message: return the answer from it, as a JSON "
        "object in the result of the same HTTP request."
    ),
    "E003": (
        "Put the missing field into the answer, under exactly this name and with a value that is not null. All "
        "fields of the message belong at the top level of the JSON-RPC result."
    ),
    "E004": (
        'parity_choice is exactly "even" or "odd": a string in lower case, without blanks. "Even", " even", "EVEN", 0 '
        "and null are rejected, and the referee never repairs a choice."
    ),
    "E007": (
        "The field has the wrong JSON type. A string is in quotes; a boolean is true or false without quotes, never "
        "1 or 0."
    ),
    "E008": "The type is right but the value is not. Check its length, its range, and the values this field allows.",
    "E009": (
        "The referee could not get an answer from the endpoint: the process was not running (any more), it listens "
        "at another address or port than the one it registered, or its server closed the connection. Look at the "
        "player's own output around this time; keep the process alive until LEAGUE_COMPLETED."
    ),
    "E009 answered": (
        "The player answered with an error instead of the message. Usually it raised an exception or does not know "
        "the method. Accept any method, look at params.message_type, and answer with a result."
    ),
    "E009 unusable": (
        "The player answered, and the answer could not be read. Answer with one short JSON object, and do not compress "
        "it."
    ),
    "E009 broken": (
        "The connection broke before the answer was complete, or the answer was not HTTP. The usual cause is a process "
        "that ended, or a server that closes the connection: look at the player's own output around this time."
    ),
    "E009 redirect": (
        "The endpoint redirects to another address, which may differ only in a slash at the end. Register the address "
        "that the redirect names; with FastAPI or Flask, declare the route exactly as it is registered."
    ),
    "E009 login": (
        "The endpoint asks for a login. Referees show their tokens inside the message, not in HTTP headers: let POST "
        "requests to this path pass without a login."
    ),
    "E009 no page": (
        "The server is there, but accepts no POST at this path. Register the path at which your program accepts POST "
        "requests, usually /mcp, and allow the method POST there."
    ),
    "E009 server error": (
        "The server answered with a status of 500 or more, and no message. The usual cause is an exception in the "
        "handler: its traceback is in the player's own output around this time. Catch it, and answer with a result."
    ),
    "E009 busy": (
        "The player kept answering with status 429 or 503. The referee waits 60 seconds in each phase for a busy "
        "player; after that it counts as unreachable. Do not limit the rate of your own referee's calls."
    ),
    "E011": "This league is strict: the answer must carry the auth_token that the registration returned.",
    "E012": (
        "The auth_token in the answer is not this player's. Keep the one from the last registration: after registering "
        "again only the newest counts."
    ),
    "E015": (
        "Copy match_id from the call that you answer. A player may be in several matches at once; if it remembers "
        "'the current match' in a single variable, it mixes them up."
    ),
    "E018": '"protocol" must be "league.v2".',
    "E021": "Write timestamps in UTC as YYYY-MM-DDTHH:MM:SSZ.",
    "E024": (
        "Answer with one of move_request.valid_options of the call, spelled exactly as there; the options differ from "
        "turn to turn."
    ),
    "E033": (
        "The answer names another player. Use the player_id that your own registration returned (the call also "
        "carries it); two players started from one copy of the code must not share an id."
    ),
    "E034": (
        "The answer must be strict JSON in UTF-8, made by a JSON library: no printed dict (single quotes, None, True), "
        "no NaN, no key twice, and no HTML error page of a web framework."
    ),
    "E035": (
        'The answer must be one JSON-RPC 2.0 object: {"jsonrpc": "2.0", "id": the id of the call, "result": {…}}; '
        "neither an array nor a bare message."
    ),
    "E037": "An answer may have at most 10,240 bytes: leave out what the protocol does not ask for.",
    "E038": "message_type must name the message that answers this call.",
    "E045": (
        "The service that thinks for this player, usually the provider of a language model, did not answer in time. "
        "A match waits a minute for a player that declared its model when it registered, three times in a league. The "
        "provider's own message is in the player's output."
    ),
    "E046": (
        "The language model of this player did not make the choice, and this league accepts no other. What it said is "
        "in the player's journal: `league export --format conversations` shows it. A clearer prompt may help."
    ),
}
ITS_CODE: Final = "its code "
"""In the sentence about a fault of the author's own code."""
_CAUSES: Final[Mapping[str, str]] = {
    "its code raised ": (
        "The traceback is in the player's own output around this time. Four failed attempts lose a match: catch what "
        "may fail, and return any legal choice then."
    ),
    "its code returned ": (
        "Return one of the options, which are texts: every way through your method must end with a return. The "
        "player's own output around this time shows what it returned and what was legal."
    ),
    "its budget ": "A player with --max-tokens or --max-cost stops asking its model then: start it with a larger one.",
}
"""What helps against a cause that a player of ours named, by its beginning."""
_MANNERS: Final[Mapping[str, str]] = {
    REFUSED_BECAUSE: "refused",
    ANSWERED_EMPTY: "empty",
    "cannot be read": "unusable",
    "answered ": "answered",
    "busy": "busy",
    "broke": "broken",
}
"""How a connection failed, by words in the referee's detail."""
_HTTP_STATUS: Final = re.compile(r"HTTP status ([0-9]{3})")


def advice_for(code: str, phase: str, detail: str) -> str:
    """What helps against this fault."""
    cause = cause_in(detail)
    if cause:
        return _own_advice(cause)
    # The most exact advice first: for this phase, for this kind of failure, for the code.
    for key in (f"{code} {_manner(detail)}", f"{code} {phase}", code):
        if key in _TEXTS:
            return _TEXTS[key]
    if code in ERRORS:
        return f"{ERRORS[code].name}: {ERRORS[code].when}."
    return "There is no advice for this fault."


def _own_advice(cause: str) -> str:
    sentence = f"{cause[0].upper()}{cause[1:]}."
    for beginning, advice in _CAUSES.items():
        if cause.startswith(beginning):
            return f"{sentence.replace('Its', 'Your', 1)} {advice}"
    return sentence


def _manner(detail: str) -> str:
    status = _HTTP_STATUS.search(detail)
    if status is not None:
        return _manner_of_status(int(status[1]))
    for word, manner in _MANNERS.items():
        if word in detail:
            return manner
    return ""


def _manner_of_status(status: int) -> str:
    if status >= 500:
        return "server error"
    if status in (401, 403, 407):
        return "login"
    if status in (404, 405, 410):
        return "no page"
    if 300 <= status < 400:
        return "redirect"
    return "answered"


def right_answer(game_type: str, phase: str, match_id: str, player_id: str, league_time: str) -> str:
    """An answer that would have been right, as JSON to compare with."""
    answer: dict[str, object] = {
        "protocol": "league.v2",
        "message_type": "GAME_JOIN_ACK",
        "sender": f"player:{player_id}",
        "timestamp": league_time,
        "conversation_id": "(that of the call)",
        "auth_token": "(yours)",
        "match_id": match_id,
        "player_id": player_id,
    }
    if phase == "join":
        answer["arrival_timestamp"] = league_time
        answer["accept"] = True
    elif game_type == "even_odd":
        answer["message_type"] = "CHOOSE_PARITY_RESPONSE"
        answer["parity_choice"] = "even"
    else:
        answer["message_type"] = "GAME_MOVE_RESPONSE"
        answer["move_data"] = {"move_type": "(that of the call)", "choice": "(one of valid_options)"}
    return json.dumps(answer, ensure_ascii=False)
