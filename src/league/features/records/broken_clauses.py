"""The clauses that reports cite: requirements with their sections of spec/league-v2.md, and error codes in words.

A test compares these tables with spec/requirements.toml, which is not part of the installed package.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from league.protocol.errors import ERRORS, NO_CHOICE_BECAUSE

SECTIONS: Final[Mapping[str, str]] = {
    "CHOICE.in_time": "5.11",
    "CHOICE.not_repaired": "5.11",
    "DRAW.commitment": "12",
    "DRAW.number_follows": "12",
    "DRAW.seed_shown": "12",
    "ENVELOPE": "3.1",
    "ENVELOPE.auth_token": "9.1",
    "ENVELOPE.conversation_id": "3.8",
    "ENVELOPE.message_type": "3.1",
    "ENVELOPE.protocol": "3.1",
    "ENVELOPE.sender": "3.3",
    "ENVELOPE.timestamp": "3.4",
    "JOIN.in_time": "5.9",
    "JSON.syntax": "2.6",
    "LEAGUE.void": "8.13",
    "LEAGUE.withdrawn": "8.13",
    "TROUBLE.decide": "8.15",
    "TROUBLE.wait": "8.15",
    "MATCH.answers_in_time": "6.1",
    "MATCH.busy_not_counted": "6.3",
    "MATCH.connection_errors": "6.3",
    "MATCH.correction": "6.5",
    "MATCH.declined_is_technical_loss": "5.9",
    "MATCH.fourth_wrong_answer_loses": "6.5",
    "EXPERIMENT.fallback_refused": "8.17",
    "MATCH.declined_choice": "8.17",
    "MATCH.judged_when_both_settled": "7.3",
    "MATCH.points": "8.2",
    "MATCH.silent_choice_126s": "6.4",
    "MATCH.silent_join_26s": "6.4",
    "MATCH.suspended_one_invitation": "8.11",
    "MATCH.winner": "8.1",
    "MATCH.window_ends": "6.5",
    "MATCH.wrong_ids": "6.6",
    "MOVE.valid_option": "8.10",
    "REFEREE.lease_no_blame": "8.12",
    "MATCH.refused_answers_noted": "6.2",
    "REFUSED.shown": "8.12",
    "TRUST.reports_by_address": "9.7",
    "REFEREE.lease_parked": "8.12",
    "REFEREE.lease_reassigned": "8.12",
    "REFEREE.lease_silence": "8.12",
    "REPORT.conflict": "8.4",
    "REPORT.duplicate": "8.4",
    "REPORT.not_assigned": "8.4",
    "REPORT.recomputed": "8.4",
    "REPORT.unknown_match": "8.4",
    "REPORT.until_acknowledged": "6.1",
    "REPORT.wrong_score": "8.4",
    "RPC.object": "2.2",
    "SCHEDULE.everybody_meets": "8.7",
    "SIZE.replies": "2.5",
    "SUSPENDED.after_two": "8.11",
    "SUSPENDED.recovers": "8.11",
    "TOKEN.wrong_in_answer": "9.2",
}
MESSAGES: Final[Mapping[str, str]] = {
    "REFEREE_REGISTER_REQUEST": "5.1",
    "REFEREE_REGISTER_RESPONSE": "5.2",
    "LEAGUE_REGISTER_REQUEST": "5.3",
    "LEAGUE_REGISTER_RESPONSE": "5.4",
    "ROUND_ANNOUNCEMENT": "5.5",
    "ROUND_COMPLETED": "5.6",
    "LEAGUE_COMPLETED": "5.7",
    "GAME_INVITATION": "5.8",
    "GAME_JOIN_ACK": "5.9",
    "CHOOSE_PARITY_CALL": "5.10",
    "CHOOSE_PARITY_RESPONSE": "5.11",
    "GAME_OVER": "5.12",
    "MATCH_RESULT_REPORT": "5.13",
    "LEAGUE_STANDINGS_UPDATE": "5.14",
    "LEAGUE_ERROR": "5.15",
    "GAME_ERROR": "5.16",
    "LEAGUE_QUERY": "5.17",
    "LEAGUE_QUERY_RESPONSE": "5.18",
    "GAME_MOVE_CALL": "5.19",
    "GAME_MOVE_RESPONSE": "5.20",
}
"""The section that describes a message also holds the clauses of its fields."""
_OF_CODE: Final[Mapping[str, str]] = {
    "E003": "ENVELOPE",
    "E004": "CHOICE.not_repaired",
    "E009": "MATCH.connection_errors",
    "E011": "TOKEN.wrong_in_answer",
    "E012": "TOKEN.wrong_in_answer",
    "E014": "REPORT.unknown_match",
    "E015": "MATCH.wrong_ids",
    "E016": "REPORT.not_assigned",
    "E017": "REPORT.duplicate",
    "E018": "ENVELOPE.protocol",
    "E021": "ENVELOPE.timestamp",
    "E024": "MOVE.valid_option",
    "E033": "MATCH.wrong_ids",
    "E034": "JSON.syntax",
    "E035": "RPC.object",
    "E037": "SIZE.replies",
    "E038": "ENVELOPE.message_type",
    "E039": "REPORT.recomputed",
    "E040": "REPORT.conflict",
    "E045": "MATCH.declined_choice",
    "E046": "EXPERIMENT.fallback_refused",
    "DECLINED": "MATCH.declined_is_technical_loss",
}
"""The clause behind a code if nothing more exact is on record."""


@dataclass(frozen=True, slots=True)
class ClauseRef:
    """A requirement and the section of spec/league-v2.md that states it."""

    requirement: str
    section: str

    def __str__(self) -> str:
        return f"{self.requirement}, section {self.section}"


def clause(requirement: str) -> ClauseRef | None:
    """The clause of this id; None if no match can run into it."""
    message, _, _ = requirement.partition(".")
    section = SECTIONS.get(requirement) or MESSAGES.get(message)
    if section is None:
        return None
    return ClauseRef(requirement, section)


def cite(requirement: str) -> ClauseRef:
    """A clause of the table above."""
    return ClauseRef(requirement, SECTIONS[requirement])


def clause_of(code: str, requirement: str = "") -> ClauseRef | None:
    """The clause that an error is about: the violated one if it is on record, or else the one behind its code."""
    return clause(requirement) or clause(_OF_CODE.get(code, ""))


def in_time(phase: str, game_type: str) -> ClauseRef:
    """The clause that sets the time limit of an answer."""
    if phase == "join":
        return cite("JOIN.in_time")
    if game_type == "even_odd":
        return cite("CHOICE.in_time")
    return cite("MATCH.answers_in_time")


def violated(code: str, phase: str, game_type: str, requirement: str = "") -> ClauseRef | None:
    """The clause that an error in a match violates."""
    # A missing answer is on record with a code only: what it violates is its time limit.
    if code == "E001":
        return in_time(phase, game_type)
    return clause_of(code, requirement)


def named(code: str) -> str:
    """A code with its name."""
    if code not in ERRORS:
        return code
    return f"{code} {ERRORS[code].name}"


def cause_in(detail: str) -> str:
    """The cause that a player of ours reported to its referee, such as an exception; empty if it reported none."""
    _, marker, cause = detail.partition(NO_CHOICE_BECAUSE)
    if not marker:
        return ""
    # The referee quotes the error; something of its own may follow the quote.
    cause, _, _ = cause.rpartition('"')
    return cause


def failure(code: str, detail: str) -> str:
    """What happened to a call: the cause that the player named, otherwise the error and its detail."""
    cause = cause_in(detail)
    if cause:
        return cause
    # E009 is called a connection error, but a player that answered was connected.
    if code == "E009" and is_answered(detail):
        return f"it {detail} (E009)"
    return f"{named(code)} ({detail})"


def is_answered(detail: str) -> bool:
    """Whether a failed call was answered, by its referee's words."""
    return detail.startswith("answered ")


def question(phase: str) -> str:
    """The name of the question that a player gets in this phase of a match."""
    if phase == "join":
        return "the invitation"
    return "the call for a choice"


def at_field(path: str, detail: str) -> str:
    """The detail of a wrong answer, with the field it is about."""
    if not path or path in detail:
        return detail
    return f"{path}: {detail}"
