"""Events of a match in words: who did what, with the code and the clause where something went wrong."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from league.events import (
    AgentStateChanged,
    AttemptFailed,
    Event,
    MatchAssigned,
    MatchBegun,
    MatchDecided,
    MatchDropped,
    MatchLost,
    MatchParked,
    MatchTaken,
    MatchUnparked,
    MoveMade,
    NumberDrawn,
    PlayerDeviated,
    PlayerFaulted,
    PlayerJoined,
    PlayersTold,
    PlayerWithdrawn,
    ReportSettled,
    ResultAccepted,
    ResultVoided,
    RoundOpened,
    WalkoverDecided,
    WrongAnswer,
)
from league.protocol.errors import ERRORS
from league.protocol.exchanges import EXCHANGES
from league.referee.match import DECLINED
from league.reports.case import Case
from league.reports.clauses import Clause, clause_of, known
from league.reports.letters import HIDDEN


@dataclass(frozen=True, slots=True)
class Told:
    """An event in words."""

    text: str
    player_id: str | None = None
    code: str | None = None
    clause: Clause | None = None


def tell(event: Event, case: Case, by: str, hidden: bool = False) -> Told:
    """What this event means, by the account of `by`; while its attempt is played, without the players' choices."""
    told = _TOLD.get(type(event))
    return told(_Account(case, by, hidden), event) if told else Told(type(event).__name__)


def named(code: str) -> str:
    """A code with its name."""
    return f"{code} {ERRORS[code].name}" if code in ERRORS else code


def in_time(phase: str, game_type: str) -> Clause:
    """Which clause sets the time for an answer."""
    if phase == "join":
        return known("JOIN.in_time")
    return known("CHOICE.in_time" if game_type == "even_odd" else "MATCH.answers_in_time")


def score(points: Mapping[str, int]) -> str:
    return ", ".join(f"{player} {count}" for player, count in points.items())


def about(path: str, detail: str) -> str:
    """What is wrong with an answer, with the field it is about."""
    return f"{path}: {detail}" if path and path not in detail else detail


@dataclass(frozen=True, slots=True)
class _Account:
    """Somebody's account of a match; `hidden` while the attempt is played: without the players' choices."""

    case: Case
    by: str
    hidden: bool

    # --- the manager --------------------------------------------------------------------------------------------------

    def _opened(self, event: RoundOpened) -> Told:
        return Told(f"Round {event.round_id} was opened and announced.")

    def _assigned(self, event: MatchAssigned) -> Told:
        return Told(f"The manager gave the match to {event.referee_id}, as attempt {event.attempt}.")

    def _lost(self, event: MatchLost) -> Told:
        text = f"The manager gave attempt {event.attempt} up: {event.why}. That is no player's fault."
        return Told(text, clause=known("REFEREE.lease_no_blame"))

    def _parked(self, event: MatchParked) -> Told:
        return Told("The match was parked: it waits for the operator.", clause=known("REFEREE.lease_parked"))

    def _unparked(self, event: MatchUnparked) -> Told:
        return Told("The operator gave the match three more attempts.")

    def _accepted(self, event: ResultAccepted) -> Told:
        won = f", won by {event.winner}" if event.winner else ""
        doubt = "" if event.verified else " It could not be verified from what was reported."
        told = f"{event.status}{won}; points: {score(event.points)}.{doubt}"
        return Told(f"The manager accepted the report of {event.referee_id}: {told}")

    def _walkover(self, event: WalkoverDecided) -> Told:
        won = f"{event.winner} wins without playing" if event.winner else "nobody wins"
        text = f"The manager decided a walkover: {' and '.join(event.withdrawn)} withdrawn, {won}."
        return Told(text, clause=known("LEAGUE.withdrawn"))

    def _voided(self, event: ResultVoided) -> Told:
        return Told("The operator voided the result: the match is played again.", clause=known("LEAGUE.void"))

    def _withdrawn(self, event: PlayerWithdrawn) -> Told:
        return Told(f"The operator withdrew {event.agent_id}.", event.agent_id, clause=known("LEAGUE.withdrawn"))

    def _state(self, event: AgentStateChanged) -> Told:
        if event.state == "SUSPENDED":
            text = f"{event.agent_id} is now SUSPENDED, after two technical losses in a row."
            return Told(text, event.agent_id, clause=known("SUSPENDED.after_two"))
        return Told(f"{event.agent_id} is now {event.state}.", event.agent_id, clause=known("SUSPENDED.recovers"))

    # --- the referee --------------------------------------------------------------------------------------------------

    def _taken(self, event: MatchTaken) -> Told:
        join_s = EXCHANGES["GAME_INVITATION"].limit_s
        places = ", ".join(f"{one} at {place}" for one, place in zip(event.players, event.endpoints, strict=True))
        text = f"{self.by} took the match: {places}; {join_s:g} seconds to join, {event.move_seconds:g} for a move."
        late = [one for one, is_suspended in zip(event.players, event.suspended, strict=True) if is_suspended]
        if not late:
            return Told(text)
        text += f" {' and '.join(late)} was SUSPENDED: one invitation, no retries."
        return Told(text, late[0], clause=known("MATCH.suspended_one_invitation"))

    def _begun(self, event: MatchBegun) -> Told:
        return Told(f"The match began: {self.by} invited both players.")

    def _failed(self, event: AttemptFailed) -> Told:
        after = "no retry is left" if event.retry is None else f"retry {event.retry} follows"
        text = f"A call to {event.player_id} failed ({named(event.code)}): {event.detail}; {after}."
        clause = in_time(event.phase, self.case.game_type) if event.code == "E001" else clause_of(event.code)
        return Told(text, event.player_id, event.code, clause)

    def _wrong(self, event: WrongAnswer) -> Told:
        left = {0: "no correction is left", 1: "1 correction left before the same deadline"}.get(
            event.left, f"{event.left} corrections left before the same deadline"
        )
        told = f"({named(event.code)}): {about(event.path, event.detail)}; {left}"
        text = f"The answer of {event.player_id} was wrong {told}."
        return Told(text, event.player_id, event.code, clause_of(event.code, event.requirement))

    def _deviated(self, event: PlayerDeviated) -> Told:
        text = f"An answer of {event.player_id} was odd, and let pass ({named(event.code)}): {event.detail}."
        return Told(text, event.player_id, event.code, clause_of(event.code, event.requirement))

    def _joined(self, event: PlayerJoined) -> Told:
        return Told(f"{event.player_id} joined.", event.player_id)

    def _moved(self, event: MoveMade) -> Told:
        turn = f" in turn {event.turn}" if event.turn > 1 else ""
        text = f"{event.player_id} chose {HIDDEN if self.hidden else event.choice}{turn}."
        return Told(text, event.player_id)

    def _faulted(self, event: PlayerFaulted) -> Told:
        if event.code == DECLINED:
            text = f"{event.player_id} declined the invitation: a technical loss at once."
        else:
            text = f"{event.player_id} has lost by its own fault ({named(event.code)}): {event.detail}."
        return Told(
            text, event.player_id, event.code, clause_of(event.code) or in_time(event.phase, self.case.game_type)
        )

    def _drawn(self, event: NumberDrawn) -> Told:
        parity = f" ({'odd' if event.number % 2 else 'even'})" if self.case.game_type == "even_odd" else ""
        return Told(f"{self.by} drew the number {event.number}{parity}.", clause=known("DRAW.number_follows"))

    def _decided(self, event: MatchDecided) -> Told:
        won = f", won by {event.winner}" if event.winner else ""
        return Told(f"{self.by} decided: {event.status}{won} ({event.reason}); points: {score(event.points)}.")

    def _players_told(self, event: PlayersTold) -> Told:
        return Told("Both calls with GAME_OVER have ended.")

    def _settled(self, event: ReportSettled) -> Told:
        if event.answer == "ACCEPTED":
            return Told("The report was acknowledged.")
        text = f"The manager answered the report with {named(event.answer)}."
        if event.answer == "E017":
            text += " It has this very result already."
        else:
            text += " What this attempt decided does not count."
        return Told(text, code=event.answer, clause=clause_of(event.answer))

    def _dropped(self, event: MatchDropped) -> Told:
        return Told(f"{self.by} dropped this attempt: {event.why}.")


# Any: each method takes the one event it is listed under.
_TOLD: Final[Mapping[type[Event], Callable[[_Account, Any], Told]]] = {
    RoundOpened: _Account._opened,
    MatchAssigned: _Account._assigned,
    MatchLost: _Account._lost,
    MatchParked: _Account._parked,
    MatchUnparked: _Account._unparked,
    ResultAccepted: _Account._accepted,
    WalkoverDecided: _Account._walkover,
    ResultVoided: _Account._voided,
    PlayerWithdrawn: _Account._withdrawn,
    AgentStateChanged: _Account._state,
    MatchTaken: _Account._taken,
    MatchBegun: _Account._begun,
    MoveMade: _Account._moved,
    AttemptFailed: _Account._failed,
    WrongAnswer: _Account._wrong,
    PlayerDeviated: _Account._deviated,
    PlayerJoined: _Account._joined,
    PlayerFaulted: _Account._faulted,
    NumberDrawn: _Account._drawn,
    MatchDecided: _Account._decided,
    PlayersTold: _Account._players_told,
    ReportSettled: _Account._settled,
    MatchDropped: _Account._dropped,
}
