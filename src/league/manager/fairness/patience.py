"""Patience: before a player loses because it did not answer, its match waits (spec section 8.15).

Theory of operation. A referee that declared it asks first (MATCH_TROUBLE), and is told to `wait` or to `decide`. There
is one rule for every cause, be it a power cut, a closed lid, a language model or a lost registration answer:

    asked ──▶ we probe the player, and it answers ──▶ decide
      └─────▶ it does not: we probe all players, once for all questions
                 ├─ many are silent ──▶ wait, at nobody's expense: for `outage_minutes` per player and league
                 └─ few are ──▶ wait, on the player's own account: once for a question, three times a league
                                    └─ nothing is left of it ──▶ decide

Each pause lasts a minute. Meanwhile the referee asks the player again, every 5 seconds, and then us. A player whose
last probe failed is *silent* until anything is heard of it. What is recorded are the pauses (MatchPaused) and the
losses that were allowed (LossAllowed); everything else is lost in a crash, and the referee asks again.

What must never happen: a match waits for ever; a player gets more than a longer time for the same question; a referee
fills the journal with questions, or keeps a match by asking; players that go dark in turn stall the league.

A referee that does not ask has told its players that the match is over, so the loss stands. If many players were silent
then, that is recorded as a doubt, and the operator may have the match played again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final, Literal

from msgspec import Struct

from league.calling.delivery import Delivery, Ending, Policy
from league.events import LossAllowed, MatchPaused, PauseCause, ResultAccepted, ResultJudged
from league.machine import Letter, Ping
from league.manager.manager_context import ManagerPart
from league.manager.staffing.assignments import Assignments
from league.manager.state.ledger import NO_MODEL, Pause, ScheduledMatch
from league.manager.state.roster import Member
from league.protocol.errors import PeerError
from league.protocol.message.envelope import Unsealed, seal
from league.protocol.message.messages import MatchTrouble, MatchTroubleResponse
from league.protocol.signing import tokens

PROBE: Final = Policy(limit_s=3.0, is_waited_for=False)
PAUSE_S: Final = 60.0
OWN_PAUSES: Final = 3
"""How often in a league a match waits on the account of a player."""
FEWEST: Final = 2
"""A third of the players are many, and at least so many."""
MOST_DECISIONS: Final = 16
"""How often in an attempt a loss is allowed. An honest referee decides it then, unless the player answers after all."""
SILENCE: Final = ("E001", "E009")


class AskedLoss(Struct, eq=False):
    """A question that has no answer yet. It may have been asked more than once."""

    match: ScheduledMatch
    asked: MatchTrouble
    letters: list[Letter]

    @property
    def is_current(self) -> bool:
        """False if the attempt was taken away or decided while players were probed."""
        return self.match.status == "ASSIGNED" and self.match.attempt == self.asked.attempt

    @property
    def named(self) -> dict[str, Any]:
        """How events name it (Any: ready to be spread into one)."""
        return {name: getattr(self.asked, name) for name in ("match_id", "attempt", "turn", "player_id", "code")}

    @property
    def pause(self) -> Pause | None:
        """The last pause of the match for this question."""
        pause = self.match.current.pauses.get(self.asked.player_id)
        if pause is None or pause.turn != self.asked.turn:
            return None
        return pause


@dataclass(slots=True)
class Patience(ManagerPart):
    """Answers MATCH_TROUBLE, and knows who is silent."""

    assignments: Assignments
    has_shown_token: Callable[[Member], bool]
    _open: dict[str, AskedLoss] = field(default_factory=dict)
    silent: set[str] = field(default_factory=set)
    """The players whose last probe failed, and of whom nothing was heard since: whoever hears of one takes it out."""
    _awaited: set[str] = field(default_factory=set)
    """The players whose probes a survey waits for."""
    _after_survey: list[Callable[[float], None]] = field(default_factory=list)

    # --- who is silent ------------------------------------------------------------------------------------------------

    @property
    def reason(self) -> str | None:
        """Why matches wait at nobody's expense; None unless many players are silent."""
        players = [player.agent_id for player in self._players()]
        silent = [player_id for player_id in players if player_id in self.silent]
        if len(silent) < FEWEST or 3 * len(silent) < len(players):
            return None
        return f"{len(silent)} of {len(players)} players can't be reached: {', '.join(silent)}"

    @property
    def is_waiting(self) -> bool:
        """True while a match waits for a silent player at nobody's expense."""
        ledger = self._ledger
        return self.reason is not None and any(
            pause.cause == "outage" and player_id in self.silent
            for holdings in ledger.in_play.holdings.values()
            for match_id in holdings
            for player_id, pause in ledger.matches[match_id].current.pauses.items()
        )

    def _players(self) -> list[Member]:
        return [player for player in self._ledger.roster.of_role("player") if player.takes_part]

    def _survey(self, then: Callable[[float], None], now: float) -> None:
        """Probe all players, and do something when that is over."""
        self._after_survey.append(then)
        if self._awaited:
            return
        players = self._players()
        self._awaited = {player.agent_id for player in players}
        self._probe(players, self._surveyed, now)
        if not players:
            self._end_survey(now)

    def _surveyed(self, probe: Delivery, outcome: Ending, now: float) -> None:
        self._note(probe, outcome)
        self._awaited.discard(probe.peer)
        if not self._awaited:
            self._end_survey(now)

    def _end_survey(self, now: float) -> None:
        waiting = self._after_survey
        self._after_survey = []
        for then in waiting:
            then(now)

    def _probe(self, players: Sequence[Member], on_end: Callable[[Delivery, Ending, float], None], now: float) -> None:
        probes = [
            Delivery(
                player.agent_id,
                "patience",
                Ping(),
                PROBE,
                address=partial(self.context.address, player),
                on_end=on_end,
            )
            for player in players
        ]
        self.context.calls.deliver(probes, now)

    def _note(self, probe: Delivery, outcome: Ending) -> None:
        if outcome is Ending.FAILED:
            self.silent.add(probe.peer)
        else:
            self.silent.discard(probe.peer)

    # --- the question -------------------------------------------------------------------------------------------------

    def take_trouble(self, letter: Letter, read: Unsealed, referee: Member, now: float) -> None:
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
        question = self._open.get(key)
        if question is not None:
            question.letters.append(letter)
            return
        self._open[key] = AskedLoss(match, asked, [letter])
        if self._ledger.settings.outage_minutes == 0:
            self._decide(self._open.pop(key), None, now)
            return
        self._probe([self.context.member(asked.player_id)], partial(self._probed, key), now)

    def _read(self, read: Unsealed, referee: Member) -> MatchTrouble:
        if referee.role == "player":
            raise PeerError("E032", "only the referee of a match asks about it")
        if not referee.as_referee.asks_before_losses:
            raise PeerError("E036", "a referee that asks about losses declares it when it registers")
        self.context.check_league(read)
        asked = read.open()
        assert isinstance(asked, MatchTrouble)
        codes = (*SILENCE, NO_MODEL)
        if asked.code not in codes:
            detail = f"nobody has to be asked about a loss by {asked.code}; only about {', '.join(codes)}"
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

    def _probed(self, key: str, probe: Delivery, outcome: Ending, now: float) -> None:
        self._note(probe, outcome)
        if outcome is Ending.FAILED:
            # Perhaps it is not the only one.
            self._survey(partial(self._settle, key, False), now)
        else:
            self._settle(key, True, now)

    # --- the answer ---------------------------------------------------------------------------------------------------

    def _settle(self, key: str, is_reached: bool, now: float) -> None:
        question = self._open.pop(key)
        pause = question.pause
        # After a clock that was set back a pause would last longer. Then it is over.
        if pause is not None and pause.since <= now < pause.since + PAUSE_S:
            self._reply(question, "wait", self._why(question, pause.cause), now)
            return
        cause = self._cause(question, is_reached)
        if cause is None:
            self._decide(question, is_reached, now)
        else:
            self._wait(question, cause, now)

    def _cause(self, question: AskedLoss, is_reached: bool) -> PauseCause | None:
        """Return at whose expense the match waits for another minute; None: it does not wait."""
        player = self.context.member(question.asked.player_id)
        outage_minutes = self._ledger.settings.outage_minutes
        is_excused = question.asked.code == NO_MODEL or self._lacks_token(question, player)
        if is_reached and not is_excused:
            return None
        if not is_reached and self.reason is not None and player.attendance.outage_pauses < outage_minutes:
            return "outage"
        pause = question.pause
        had_its_own = pause is not None and pause.cause == "player"
        if had_its_own or player.attendance.own_pauses >= OWN_PAUSES:
            return None
        return "player"

    def _lacks_token(self, question: AskedLoss, player: Member) -> bool:
        """True if the answer to its registration may be lost: it answers without a token until it registers again, and
        then its referee may not know its new one."""
        is_renewed = player.agent_id in question.match.current.renewed
        return bool(player.credentials.public_key) and (is_renewed or not self.has_shown_token(player))

    def _why(self, question: AskedLoss, cause: PauseCause) -> str:
        player_id = question.asked.player_id
        if cause == "outage" and self.reason is not None:
            return self.reason
        if question.asked.code == NO_MODEL:
            return f"the language model of {player_id} does not answer"
        return f"{player_id} does not answer"

    def _wait(self, question: AskedLoss, cause: PauseCause, now: float) -> None:
        asked = question.asked
        why = self._why(question, cause)
        if question.is_current:
            self.context.happened(
                MatchPaused(
                    at=now,
                    **question.named,
                    cause=cause,
                    why=why,
                    behind=bool(asked.behind),
                )
            )
        self._reply(question, "wait", why, now)

    def _decide(self, question: AskedLoss, is_reached: bool | None, now: float) -> None:
        asked = question.asked
        if question.is_current:
            self.context.happened(
                LossAllowed(
                    at=now,
                    **question.named,
                    reached=is_reached,
                    pauses_left=OWN_PAUSES - self.context.member(asked.player_id).attendance.own_pauses,
                )
            )
        reason = "no match of this league waits"
        if is_reached is not None:
            answers = "answers" if is_reached else "does not answer"
            reason = f"the player {answers} the manager's probe"
        self._reply(question, "decide", reason, now)

    def _reply(self, question: AskedLoss, decision: Literal["decide", "wait"], reason: str, now: float) -> None:
        asked = question.asked
        response = MatchTroubleResponse(
            **seal(tokens.MANAGER, now, asked.conversation_id),
            match_id=asked.match_id,
            decision=decision,
            reason=reason,
        )
        for letter in question.letters:
            self.context.reply(letter, response)

    # --- losses that nobody asked about -------------------------------------------------------------------------------

    def lost(self, match: ScheduledMatch, result: ResultAccepted, now: float) -> None:
        """Find out whether many are silent when a referee that does not ask lets a silent player lose."""
        losers = set(_silent_losers(match, result))
        if losers - match.current.allowed.keys() and self._ledger.is_running:
            self._survey(partial(self._doubt, match, result, losers), now)

    def _doubt(self, match: ScheduledMatch, result: ResultAccepted, losers: set[str], now: float) -> None:
        basis = match.basis
        if self.reason is None or basis is None or match.result is not result or not losers & self.silent:
            return
        doubt = f"{self.reason}; league replay-match {match.match_id} has it played again"
        if basis.doubt:
            doubt = f"{basis.doubt}; {doubt}"
        self.context.happened(
            ResultJudged(
                at=now,
                match_id=match.match_id,
                attempt=match.attempt,
                evidence=basis.evidence,
                unsigned=basis.unsigned,
                doubt=doubt,
            )
        )


def _silent_losers(match: ScheduledMatch, result: ResultAccepted) -> Iterator[str]:
    """Yield the players that lost because they did not answer, as far as the report says why."""
    faults = result.details.get("faults")
    for player in match.players:
        fault = faults.get(player) if isinstance(faults, dict) else None
        code = None
        is_reached = False
        if isinstance(fault, dict):
            code = fault.get("code")
            is_reached = fault.get("reached") is True
        if player != result.winner and code in (None, *SILENCE) and not is_reached:
            yield player
