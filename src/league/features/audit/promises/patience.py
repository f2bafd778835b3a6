"""Promise 19: before a player loses by silence its match waits, if its referee asks.

From the manager's journal: a referee that declared that it asks decides no such loss unasked. No player
that does not answer loses before its match has waited for it, as long as it has a pause left. No player gets more
pauses than the rule says. From facts that only a simulator knows: no loss is allowed while a third of the players
are down, as long as the player has time left at nobody's expense.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

from league import events as e
from league.features.audit.promises.grounds.event_history import has_technical_loss, inner, schedule_of, settings_of
from league.features.audit.promises.grounds.event_log import Attempt, attempt_of
from league.features.audit.promises.grounds.evidence import Evidence
from league.features.audit.promises.grounds.promise_findings import (
    Breach,
    Judge,
    breaches_in,
    no_manager_journal,
)

PROBED_FOR_S = 10.0
"""The manager notices players that have been down for so long when it answers a question about a loss."""
OWN_PAUSES = 3
FEWEST = 2
ASKED_ABOUT = ("E001", "E009", "E045")


def breaches(evidence: Evidence) -> Iterator[Breach]:
    settings = settings_of(evidence.manager)
    if settings is None or settings.outage_minutes <= 0:
        return
    yield from breaches_in(evidence.manager, _Waiting(evidence, settings.outage_minutes).judges)


def unobservable(evidence: Evidence) -> str | None:
    settings = settings_of(evidence.manager)
    if settings is not None and settings.outage_minutes <= 0:
        return "no match of this league waits"
    reason = no_manager_journal(evidence)
    if reason is None and evidence.simulator.downtimes is None and has_technical_loss(evidence.manager):
        return "who was down, and when, is not known"
    return reason


class _Waiting:
    """The pauses and losses of a league, as the manager's journal tells of them."""

    def __init__(self, evidence: Evidence, outage_minutes: float) -> None:
        self._schedule = schedule_of(evidence.manager)
        self._dishonest = evidence.simulator.dishonest
        self._downtimes = evidence.simulator.downtimes or {}
        self._most = {"player": float(OWN_PAUSES), "outage": outage_minutes}
        self._asking: set[str] = set()
        """Referees that declared that they ask."""
        self._players: set[str] = set()
        self._pauses: Counter[tuple[str, str]] = Counter()
        """How often a match waited for a player, by player and cause."""
        self._last: dict[tuple[Attempt, str], e.MatchPaused] = {}
        self._allowed: set[tuple[Attempt, str]] = set()

        self.judges: Mapping[type[e.Event], Judge] = {
            e.AgentRegistered: self._registered,
            e.TokenRenewed: self._registered,
            e.OrderCarriedOut: self._ordered,
            e.MatchPaused: self._paused,
            e.LossAllowed: self._allows,
            e.ResultAccepted: self._accepted,
        }

    def _ordered(self, event: e.OrderCarriedOut) -> None:
        if event.order == "withdraw":
            self._players.discard(event.target)

    def _registered(self, event: e.AgentRegistered | e.TokenRenewed) -> None:
        # A referee may register anew in another way.
        self._asking.discard(event.agent_id)
        if event.asks_before_losses:
            self._asking.add(event.agent_id)
        if isinstance(event, e.AgentRegistered) and event.role == "player":
            self._players.add(event.agent_id)

    def _paused(self, event: e.MatchPaused) -> Iterator[str]:
        player = event.player_id
        if self._pauses[player, event.cause] >= self._most[event.cause]:
            yield f"{event.match_id} waited for {player} once too often ({event.cause})"
        self._pauses[player, event.cause] += 1
        question = (attempt_of(event), player)
        last = self._last.get(question)
        if last is not None and last.turn == event.turn and last.cause == event.cause == "player":
            yield f"{event.match_id} waited twice on the account of {player} for one question"
        self._last[question] = event

    def _allows(self, event: e.LossAllowed) -> Iterator[str]:
        player = event.player_id
        question = (attempt_of(event), player)
        self._allowed.add(question)
        pause = self._last.get(question)
        # In leagues before format 5 another rule decided.
        if event.reached or event.pauses_left is None:
            return
        was_waited_for = pause is not None and pause.turn == event.turn and pause.cause == "player"
        if not was_waited_for and self._pauses[player, "player"] < OWN_PAUSES:
            yield f"{event.match_id} was lost by {player}, for which nobody had waited"
        is_excused = self._pauses[player, "outage"] < self._most["outage"]
        if is_excused and player in self._down(event.at) and self._are_many(self._down(event.at)):
            yield f"{event.match_id} was lost while many players were down"

    def _accepted(self, result: e.ResultAccepted) -> Iterator[str]:
        """A referee that declared that it asks has asked about these losses."""
        if result.status != "TECHNICAL_LOSS":
            return
        if result.referee_id in self._dishonest or result.referee_id not in self._asking:
            return
        slot = self._schedule.get(result.match_id)
        for player in slot.players if slot else ():
            code = inner(inner(result.details, "faults"), player).get("code")
            is_asked = (attempt_of(result), player) in self._allowed
            if player != result.winner and code in ASKED_ABOUT and not is_asked:
                yield f"{result.match_id}: nobody was asked before {player} lost"

    def _down(self, at: float) -> set[str]:
        """Return the players that were down for so long that the manager must have noticed."""
        return {
            player
            for player, times in self._downtimes.items()
            if any(begin <= at - PROBED_FOR_S and at <= end for begin, end in times)
        }

    def _are_many(self, down: set[str]) -> bool:
        silent = len(down & self._players)
        return silent >= FEWEST and 3 * silent >= len(self._players)
