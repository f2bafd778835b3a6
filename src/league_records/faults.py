"""Faults of players: what they did, which clause they broke, why that cost the match, and what to change next time."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from league.events import AttemptFailed, Event, MatchTaken, PlayerFaulted, ResultAccepted, WrongAnswer
from league.protocol import timestamps
from league.protocol.errors import ERRORS
from league.protocol.safe_text import without_tokens
from league.referee.match import DECLINED
from league_records.clauses import ClauseRef, at_field, clause_of, known, named, question, violated
from league_records.match_facts import MatchFacts

SILENT: Final = ("E001", "E009", "E045")
"""Faults of who gave no answer."""


@dataclass(frozen=True, slots=True)
class PlayerFault:
    """What a player did wrong. `clause` is what it broke, `rule` why that lost the match; None if it did not."""

    player_id: str
    code: str
    name: str
    phase: str
    sentence: str
    clause: ClauseRef | None
    rule: ClauseRef | None
    advice: str
    right_answer: str | None = None


def final_faults(facts: MatchFacts, attempt: int) -> tuple[PlayerFault, ...]:
    """The faults that lost this attempt: by the referee's record, or as it reported them to the manager."""
    events = _events(facts, attempt)
    if events:
        return tuple(_recorded(facts, one, events) for one in events if isinstance(one, PlayerFaulted))
    if isinstance(facts.result, ResultAccepted):
        return tuple(_reported(facts, facts.result))
    return ()


def corrected_mistakes(facts: MatchFacts, attempt: int) -> tuple[PlayerFault, ...]:
    """What went wrong and was put right by a retry or a correction: the last of each kind."""
    events = _events(facts, attempt)
    lost = {one.player_id for one in events if isinstance(one, PlayerFaulted)}
    last: dict[tuple[str, str, str], tuple[AttemptFailed | WrongAnswer, int]] = {}
    for one in events:
        if isinstance(one, AttemptFailed | WrongAnswer) and one.player_id not in lost:
            key = (one.player_id, one.phase, one.code)
            last[key] = (one, last[key][1] + 1 if key in last else 1)
    return tuple(_corrected(facts, one, count) for one, count in last.values())


def _events(facts: MatchFacts, attempt: int) -> list[Event]:
    return [event for event in facts.events if getattr(event, "attempt", None) == attempt]


def _recorded(facts: MatchFacts, fault: PlayerFaulted, events: Sequence[Event]) -> PlayerFault:
    if fault.code == DECLINED:
        return _declined(fault.player_id)
    mistakes = (one for one in events if isinstance(one, AttemptFailed | WrongAnswer))
    mine = [one for one in mistakes if _asked_in(one) == _asked_in(fault)]
    wrong = [one for one in mine if isinstance(one, WrongAnswer)]
    if wrong:
        return _by_wrong_answers(facts, fault, wrong)
    return _by_failed_calls(facts, fault, [one for one in mine if isinstance(one, AttemptFailed)])


def _by_wrong_answers(facts: MatchFacts, fault: PlayerFaulted, wrong: Sequence[WrongAnswer]) -> PlayerFault:
    last, asked = wrong[-1], question(fault.phase)
    clause, detail = clause_of(last.code, last.requirement), at_field(last.path, last.detail)
    answered = f"{fault.player_id} answered {asked} wrongly"
    if last.code == fault.code:
        sentence = f"{answered} {_times(len(wrong))}; the last was {named(fault.code)}: {detail}"
        return _fault(facts, fault, sentence, clause, known("MATCH.fourth_wrong_answer_loses"))
    sentence = f"{answered} ({named(last.code)}: {detail}) and gave no right answer before the same deadline"
    return _fault(facts, last, sentence, clause, known("MATCH.window_ends"))


def _by_failed_calls(facts: MatchFacts, fault: PlayerFaulted, failed: Sequence[AttemptFailed]) -> PlayerFault:
    kinds = dict.fromkeys(f"{named(one.code)} ({one.detail})" for one in failed)
    what = ", then ".join(kinds) or f"{named(fault.code)} ({fault.detail})"
    sentence = f"{fault.player_id} failed {question(fault.phase)} {_times(len(failed))}: {what}"
    taken = next((one for one in _events(facts, fault.attempt) if isinstance(one, MatchTaken)), None)
    is_suspended = False
    if taken is not None:
        seat = taken.players.index(fault.player_id)
        is_suspended = taken.suspended[seat] and len(failed) < 2
        sentence += f". It was called at {taken.endpoints[seat]}"
    return _fault(facts, fault, sentence, _clause(facts, fault), _rule(fault, is_suspended))


def _asked_in(one: PlayerFaulted | AttemptFailed | WrongAnswer) -> tuple[str, str, int]:
    return one.player_id, one.phase, one.turn


def _times(count: int) -> str:
    return "once" if count == 1 else "twice" if count == 2 else f"{count} times"


def _clause(facts: MatchFacts, one: PlayerFaulted | AttemptFailed) -> ClauseRef | None:
    return violated(one.code, one.phase, facts.game_type)


def _rule(fault: PlayerFaulted, is_suspended: bool) -> ClauseRef:
    if is_suspended and fault.phase == "join":
        return known("MATCH.suspended_one_invitation")
    return known("MATCH.silent_join_26s" if fault.phase == "join" else "MATCH.silent_choice_126s")


def _declined(player_id: str) -> PlayerFault:
    clause = known("MATCH.declined_is_technical_loss")
    text = f"{player_id} declined the invitation"
    return PlayerFault(player_id, DECLINED, DECLINED, "join", text, clause, clause, advice_for(DECLINED, "join", ""))


def _fault(
    facts: MatchFacts,
    one: PlayerFaulted | WrongAnswer | AttemptFailed,
    sentence: str,
    clause: ClauseRef | None,
    rule: ClauseRef | None,
) -> PlayerFault:
    example = None
    if one.code not in SILENT:
        when = timestamps.write(one.at)
        example = right_answer(facts.game_type, one.phase, facts.match_id, one.player_id, when)
    advice = advice_for(one.code, one.phase, one.detail)
    name = named(one.code).partition(" ")[2]
    return PlayerFault(
        one.player_id, one.code, name, one.phase, without_tokens(sentence), clause, rule, advice, example
    )


def _corrected(facts: MatchFacts, one: AttemptFailed | WrongAnswer, count: int) -> PlayerFault:
    if isinstance(one, WrongAnswer):
        what = f"gave {count} wrong answer{'s' * (count > 1)} to"
        detail, clause = at_field(one.path, one.detail), clause_of(one.code, one.requirement)
    else:
        what = f"failed {_times(count)} at"
        detail, clause = one.detail, _clause(facts, one)
    sentence = f"{one.player_id} {what} {question(one.phase)} before it succeeded ({named(one.code)}: {detail})"
    return _fault(facts, one, sentence, clause, None)


def _reported(facts: MatchFacts, result: ResultAccepted) -> Iterator[PlayerFault]:
    """By the report alone: the code and a sentence, if the referee is one of ours."""
    faults: Any = result.details.get("faults")  # Any: what a referee reported
    for player_id in facts.players:
        reported = faults.get(player_id) if isinstance(faults, dict) else None
        if not isinstance(reported, dict):
            continue
        code, detail = str(reported.get("code")), str(reported.get("detail"))
        if code == DECLINED:
            yield _declined(player_id)
            continue
        fault = PlayerFaulted(
            at=result.at,
            match_id=facts.match_id,
            attempt=result.attempt,
            player_id=player_id,
            phase="join" if reported.get("phase") == "join" else "move",
            turn=0,
            code=code,
            detail=detail,
        )
        rule = _rule(fault, is_suspended=False) if code in SILENT else known("MATCH.fourth_wrong_answer_loses")
        sentence = f"{player_id} failed {question(fault.phase)}: {named(code)}, {detail}"
        yield _fault(facts, fault, sentence, _clause(facts, fault), rule)


# --- advice -----------------------------------------------------------------------------------------------------------

_TEXTS: Final[Mapping[str, str]] = {
    "DECLINED": (
        'Answer GAME_INVITATION with "accept": true. Declining is a loss at once, there is no second invitation; '
        "who wants to leave the league asks its operator to withdraw the player."
    ),
    "E001 join": (
        "Answer every GAME_INVITATION at once, with GAME_JOIN_ACK in the result of the same HTTP request; nothing has "
        "to be decided yet. Usual causes: the program was stopped at a breakpoint or at input(), one slow request "
        "blocks a server with a single thread, or the program calls others before it answers."
    ),
    "E001 move": (
        "Choose faster, or give the choice a limit of its own and answer with any legal choice when it is reached: "
        "a poor choice is better than none. Usual causes: a language model or another service that takes too long, "
        "an endless loop, input() waiting for somebody."
    ),
    "E003": (
        "Put the missing field into the answer, under exactly this name and with a value that is not null. All "
        "fields of the message stand at the top level of the JSON-RPC result."
    ),
    "E004": (
        'parity_choice is exactly "even" or "odd": lower case, no blanks, a string. "Even", " even", "EVEN", 0 and '
        "null are refused, and the referee never repairs a choice."
    ),
    "E007": (
        'The field has the wrong JSON type: a string stands in quotes, true and false are not 1 and 0, not "true".'
    ),
    "E008": "The type is right, the value is not: mind length, range and the values that are allowed for this field.",
    "E009": (
        "The referee could not get an answer out of the endpoint: the process was not running (any more), it listens "
        "at another address or port than the one it registered, or its server broke off. Look into the player's own "
        "output around this time; keep the process alive until LEAGUE_COMPLETED."
    ),
    "E009 answered": (
        "The player answered with an error instead of the message. Mostly it raised an exception or does not know "
        "the method: accept any method and look at params.message_type, and answer with a result."
    ),
    "E009 broken": (
        "The connection broke before an answer was complete, or what came was no HTTP or a status of the 5xx kind: "
        "mostly an exception in the handler. Its traceback is in the player's own output around this time."
    ),
    "E009 busy": (
        "The player kept answering with status 429 or 503. The referee waits for a busy player 60 seconds in a "
        "phase, and then it counts as unreachable. Do not limit the rate of your own referee's calls."
    ),
    "E011": "This league is strict: the answer must carry the auth_token that the registration returned.",
    "E012": (
        "The auth_token in the answer is not this player's. Keep the one of the last registration: after registering "
        "again only the newest counts."
    ),
    "E015": (
        "Copy match_id from the very call that is being answered. A player may be in several matches, and one that "
        "remembers 'the current match' in a single variable mixes them up."
    ),
    "E018": '"protocol" must be "league.v2".',
    "E021": "Write timestamps in UTC as YYYY-MM-DDTHH:MM:SSZ.",
    "E024": (
        "Answer with one of move_request.valid_options of the call, spelled exactly so; they differ from turn to turn."
    ),
    "E033": (
        "The answer names another player. Use the player_id that your own registration returned (the call also "
        "carries it); two players started from one copy of the code must not share an id."
    ),
    "E034": (
        "The answer must be strict JSON in UTF-8: made by a JSON library, not by printing a dict (single quotes, "
        "None, True), no NaN, no key twice, and no HTML error page of a web framework."
    ),
    "E035": (
        'The answer must be one JSON-RPC 2.0 object: {"jsonrpc": "2.0", "id": the id of the call, "result": {…}}; '
        "no array, no bare message."
    ),
    "E037": "An answer has at most 10,240 bytes: leave out what nobody asked for.",
    "E038": "message_type must name the message that answers the call, and nothing else.",
    "E045": (
        "The service that thinks for this player, mostly the provider of a language model, did not answer in time. The "
        "match is played again for it, three times at most and not too often in a league. What the provider said is in "
        "the player's own output."
    ),
}


def advice_for(code: str, phase: str, detail: str) -> str:
    """What helps against this fault."""
    for key in (f"{code} {phase}", f"{code} {_manner(detail)}", code):
        if key in _TEXTS:
            return _TEXTS[key]
    return f"{ERRORS[code].name}: {ERRORS[code].when}." if code in ERRORS else "Nothing is known about this fault."


def _manner(detail: str) -> str:
    """How a connection failed, by the referee's wording."""
    for word, manner in (("answered ", "answered"), ("busy", "busy"), ("broke", "broken")):
        if word in detail:
            return manner
    return ""


def right_answer(game_type: str, phase: str, match_id: str, player_id: str, league_time: str) -> str:
    """What would have been right, as JSON to compare with."""
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
        answer |= {"arrival_timestamp": league_time, "accept": True}
    elif game_type == "even_odd":
        answer |= {"message_type": "CHOOSE_PARITY_RESPONSE", "parity_choice": "even"}
    else:
        move = {"move_type": "(that of the call)", "choice": "(one of valid_options)"}
        answer |= {"message_type": "GAME_MOVE_RESPONSE", "move_data": move}
    return json.dumps(answer, ensure_ascii=False)
