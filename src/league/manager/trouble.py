"""Trouble: a referee asks before it decides that a player loses because it did not answer (spec section 8.15).

MATCH_TROUBLE is answered `wait` or `decide`:

    asked ──▶ there is a reason to wait: an outage, an interruption, a language model ──▶ wait (MatchPaused)
      └─────▶ the player is probed ── it answers ──▶ decide (LossAllowed), or wait for a token that may be lost
                   └── it does not ──▶ all players are probed ── an outage ──▶ wait
                                                └── none ──▶ decide

After `wait` the referee asks the player again, and then us, so nothing has to be remembered but how long a match has
waited. That is in the ledger: a pause survives a crash of ours, and of the referee. The questions themselves do not:
a referee without an answer asks again.

What must never happen: a loss is allowed while an outage excuses it; a match waits for ever; a player gets more than a
longer time for the same question; a referee fills the journal with questions, or keeps a match by asking.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Final, Literal, NamedTuple

from msgspec import Struct

from league.calling.delivery import Delivery, Ending
from league.events import LossAllowed, MatchPaused
from league.machine import Letter, Ping
from league.manager.assignments import Assignments
from league.manager.excuses import UNAVAILABLE
from league.manager.ledger import BACK_WITHIN_S, ScheduledMatch
from league.manager.manager_context import ManagerPart
from league.manager.outages import MOST_HELD, PROBE, Outages
from league.manager.roster import Member
from league.protocol import tokens
from league.protocol.envelope import Unsealed, seal
from league.protocol.errors import PeerError
from league.protocol.messages import MatchTrouble, MatchTroubleResponse

PAUSE_S: Final = 60.0
"""How long a match waits for a language model, or after an interruption."""
MODEL_PAUSES: Final = 3
"""How often in a league a match waits for the language model of a player."""
MOST_DECISIONS: Final = 16
"""How often in an attempt a loss is allowed. An honest referee decides it then, unless the player answers after all."""
_CODES: Final = ("E001", "E009", UNAVAILABLE)


class Excuse(NamedTuple):
    """Why a match waits."""

    cause: Literal["outage", "interrupted", "model"]
    why: str


class OpenTrouble(Struct, eq=False):
    """A question that has no answer yet. It may have been asked more than once."""

    match: ScheduledMatch
    asked: MatchTrouble
    letters: list[Letter]
    surveys: int | None = None
    """How many surveys were begun before the player turned out to be gone: the next one decides."""


@dataclass(slots=True)
class Troubles(ManagerPart):
    """Answers MATCH_TROUBLE."""

    assignments: Assignments
    outages: Outages
    has_shown_token: Callable[[Member], bool]
    _open: dict[str, OpenTrouble] = field(default_factory=dict)

    def __post_init__(self) -> None:
        ManagerPart.__post_init__(self)
        self.outages.on_judged = self._judged

    def take(self, letter: Letter, read: Unsealed, referee: Member, now: float) -> None:
        """Take the question of an authenticated sender. PeerError refuses it."""
        asked = self._read(read, referee)
        match = self._match_of(asked, referee)
        if match.current.decisions >= MOST_DECISIONS:
            # The lease is not prolonged: if the referee does not report now, somebody else gets the match.
            raise PeerError(
                "E010", f"you may decide {match.match_id}, and have asked often enough", {"retry_after": 30}
            )
        self.assignments.prolong(match, referee, now)
        key = f"{asked.match_id}/{asked.attempt}/{asked.turn}/{asked.player_id}"
        trouble = self._open.get(key)
        if trouble is not None:
            trouble.letters.append(letter)
            return
        trouble = OpenTrouble(match, asked, [letter])
        excuse = self._excuse(trouble, now)
        if excuse is not None:
            self._wait(trouble, excuse, now)
        elif asked.code == UNAVAILABLE or not self.outages.is_on:
            self._decide(trouble, None, now)
        else:
            self._open[key] = trouble
            self._probe(key, trouble, now)

    def _read(self, read: Unsealed, referee: Member) -> MatchTrouble:
        if referee.role == "player":
            raise PeerError("E032", "only the referee of a match asks about it")
        if not referee.as_referee.asks_before_losses:
            raise PeerError("E036", "a referee that asks about losses declares it when it registers")
        self.context.check_league(read)
        asked = read.open()
        assert isinstance(asked, MatchTrouble)
        if asked.code not in _CODES:
            detail = f"nobody has to be asked about a loss by {asked.code}; only about {', '.join(_CODES)}"
            raise PeerError("E008", detail, {"field": "code"})
        return asked

    def _match_of(self, asked: MatchTrouble, referee: Member) -> ScheduledMatch:
        match_id = asked.match_id[:80]
        match = self._ledger.matches.get(asked.match_id)
        if match is None:
            raise PeerError("E014", f"there is no match {match_id!r}", {"match_id": match_id})
        is_held = match.status == "ASSIGNED" and match.referee_id == referee.agent_id
        if not is_held or match.attempt != asked.attempt:
            detail = f"attempt {asked.attempt} of {match_id} is not assigned to {referee.agent_id}"
            raise PeerError("E016", detail, {"match_id": match_id})
        if asked.player_id not in match.players:
            player = asked.player_id[:80]
            raise PeerError("E005", f"{player!r} does not play in {match_id}", {"match_id": match_id})
        return match

    # --- reasons to wait ----------------------------------------------------------------------------------------------

    def _excuse(self, trouble: OpenTrouble, now: float) -> Excuse | None:
        """Return why the match waits, or None."""
        if not self.outages.is_on:
            return None
        if trouble.asked.code == UNAVAILABLE:
            return self._model_excuse(trouble, now)
        player = self.context.member(trouble.asked.player_id)
        outage = self.outages.waits_for(player.agent_id)
        if outage is not None:
            return Excuse("outage", outage.reason)
        # After a clock that was set back more time would be left than there ever was. Then nobody waits any longer: the
        # restart with that clock excuses by itself.
        remaining_s = player.attendance.excused_until - now
        if 0 < remaining_s <= self._ledger.settings.move_seconds + BACK_WITHIN_S:
            return Excuse("outage", f"{player.agent_id} was gone with others until a moment ago")
        return self._interruption(trouble, now)

    def _model_excuse(self, trouble: OpenTrouble, now: float) -> Excuse | None:
        """A match waits for a language model that its player declared, but not often and not for long."""
        player = self.context.member(trouble.asked.player_id)
        excuse = Excuse("model", f"the language model of {player.agent_id} did not answer")
        if self._has_waited(trouble, "model"):
            return excuse if self._is_pausing(trouble, now) else None
        if player.conditions and player.attendance.model_pauses < MODEL_PAUSES:
            return excuse
        return None

    def _interruption(self, trouble: OpenTrouble, now: float) -> Excuse | None:
        """A match waits if its referee or this process was gone during the attempt."""
        match = trouble.match
        excuse = Excuse("interrupted", f"{match.match_id} was interrupted")
        if self._is_to_be_excused(trouble):
            return excuse
        if self._has_waited(trouble, "interrupted") and self._is_pausing(trouble, now):
            return excuse
        return None

    def _is_to_be_excused(self, trouble: OpenTrouble) -> bool:
        """True if the attempt was interrupted and the player was not waited for since."""
        match = trouble.match
        is_interrupted = (
            match.excuses.interrupted == match.attempt and trouble.asked.player_id not in match.excuses.players
        )
        # A limit, or a match whose referee is restarted again and again would never end.
        return is_interrupted and match.excuses.interruptions <= MOST_HELD

    def _has_waited(self, trouble: OpenTrouble, cause: str) -> bool:
        """True if this question has waited for this reason."""
        pause = trouble.match.current.pauses.get(trouble.asked.player_id)
        return pause is not None and pause.turn == trouble.asked.turn and pause.cause == cause

    def _is_pausing(self, trouble: OpenTrouble, now: float) -> bool:
        since = trouble.match.current.pauses[trouble.asked.player_id].since
        return since <= now < since + PAUSE_S

    # --- probing ------------------------------------------------------------------------------------------------------

    def _probe(self, key: str, trouble: OpenTrouble, now: float) -> None:
        """Probe the player at its endpoint as it stands."""
        player = self.context.member(trouble.asked.player_id)
        probe = Delivery(
            player.agent_id,
            "trouble",
            Ping(),
            PROBE,
            address=partial(self.context.address, player),
            on_end=partial(self._probed, key, trouble),
        )
        self.context.calls.deliver([probe], now)

    def _probed(self, key: str, trouble: OpenTrouble, probe: Delivery, outcome: Ending, now: float) -> None:
        if outcome is not Ending.FAILED:
            del self._open[key]
            self._look_at_token(trouble, now)
            self._settle(trouble, True, now)
            return
        player = probe.peer
        self.outages.gone.add(player)
        if self.outages.is_on and self.outages.counts(player):
            # Perhaps it is not the only one.
            trouble.surveys = self.outages.surveys
            self.outages.bind()
        else:
            del self._open[key]
            self._settle(trouble, False, now)

    def _look_at_token(self, trouble: OpenTrouble, now: float) -> None:
        """Excuse a player that is held to its token and has never shown one.

        The answer to its registration may be lost. It answers without a token until it has registered again.
        """
        match = trouble.match
        player = self.context.member(trouble.asked.player_id)
        is_first_loss = not player.attendance.technical_losses
        is_first_pause = match.excuses.interrupted != match.attempt
        if player.credentials.receipts and is_first_loss and is_first_pause and not self.has_shown_token(player):
            self.outages.interrupt(match, f"{player.agent_id} may not have its token yet", now)

    def _judged(self, now: float) -> None:
        """A survey has ended: answer the questions that it was made for."""
        for key, trouble in list(self._open.items()):
            if trouble.surveys is not None and self.outages.surveys > trouble.surveys:
                del self._open[key]
                self._settle(trouble, False, now)

    # --- the answer ---------------------------------------------------------------------------------------------------

    def _settle(self, trouble: OpenTrouble, is_reached: bool, now: float) -> None:
        excuse = self._excuse(trouble, now)
        if excuse is not None:
            self._wait(trouble, excuse, now)
        else:
            self._decide(trouble, is_reached, now)

    def _wait(self, trouble: OpenTrouble, excuse: Excuse, now: float) -> None:
        asked = trouble.asked
        is_new = not self._has_waited(trouble, excuse.cause)
        # Another interruption is another pause, also of the same question.
        if excuse.cause == "interrupted" and self._is_to_be_excused(trouble):
            is_new = True
        if is_new and self._is_current(trouble):
            self.context.happened(
                MatchPaused(
                    at=now,
                    match_id=asked.match_id,
                    attempt=asked.attempt,
                    turn=asked.turn,
                    player_id=asked.player_id,
                    code=asked.code,
                    cause=excuse.cause,
                    why=excuse.why,
                    behind=bool(asked.behind),
                )
            )
        self._reply(trouble, "wait", excuse.why, now)

    def _decide(self, trouble: OpenTrouble, is_reached: bool | None, now: float) -> None:
        asked = trouble.asked
        if self._is_current(trouble):
            self.context.happened(
                LossAllowed(
                    at=now,
                    match_id=asked.match_id,
                    attempt=asked.attempt,
                    turn=asked.turn,
                    player_id=asked.player_id,
                    code=asked.code,
                    reached=is_reached,
                )
            )
        self._reply(trouble, "decide", _words(is_reached), now)

    def _is_current(self, trouble: OpenTrouble) -> bool:
        """False if the attempt was taken away or decided while the player was probed."""
        match = trouble.match
        return match.status == "ASSIGNED" and match.attempt == trouble.asked.attempt

    def _reply(self, trouble: OpenTrouble, decision: Literal["decide", "wait"], reason: str, now: float) -> None:
        asked = trouble.asked
        response = MatchTroubleResponse(
            **seal(tokens.MANAGER, now, asked.conversation_id),
            match_id=asked.match_id,
            decision=decision,
            reason=reason,
        )
        for letter in trouble.letters:
            self.context.reply(letter, response)


def _words(is_reached: bool | None) -> str:
    if is_reached is None:
        return "there is nothing to wait for"
    if is_reached:
        return "the player answers the manager's probe"
    return "the player does not answer the manager's probe either"
