"""One engine for all calls of a role.

A role hands the engine deliveries: one message to one peer, with a policy. A delivery goes through attempts, and each
attempt through calls:

    delivery ── attempt ── call, under way until `answered` or `failed`
                   │   └── call in the next form (a limit of its own), or to correct a wrong answer (the same deadline)
                   └── after a failure that counts: a pause, and the next attempt; after the last: the end

Only the engine changes the state of a delivery. It is *under way* while a call waits for its answer, *paused* while a
timer waits for the next call, and *over* once `on_end` was told, or nobody wants it any more. The table of exchanges
(spec section 6) says how long an attempt takes and how often it is repeated; the delivery's line (line.py) says in
which form a call is made, and which form comes next when a call was not understood.

What must never happen: two calls of one delivery that both count; an end that is told twice; a failure of ours that
counts against the peer; another form after a wrong answer. Nothing here survives a crash: the role knows from its
journal what to deliver again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Final

from msgspec import Struct, field

from league.calling.delivery import (
    Delivery,
    Ending,
    FailedAttempt,
    Interpretation,
    Reaction,
)
from league.calling.line import PLAIN, Sign
from league.calling.timers import Timers
from league.machine import UNREACHED, Blame, Failure, Letter, Outgoing, Ping, Undelivered
from league.protocol.conventions import Convention
from league.protocol.message.exchanges import ONCE

FAILURES_TO_OPEN: Final = 5
OPEN_S: Final = 60.0
BUSY_S: Final = 2.0
"""How long to wait for a peer that says "later" without saying when."""
SHORTEST_BUSY_S: Final = 1.0
LONGEST_BUSY_S: Final = 60.0
"""How long to wait for a busy peer in all, before being busy counts as a failure."""
RETRY_S: Final = 2.0
"""The pause after a failure that counts against nobody, or before another call under the same deadline."""
LATE_S: Final = 0.5
"""A timer that expires later than this is late because of us (a suspended process), not of the peer."""

# Needed for every answer: Python 3.11 finds a name of the module faster than a member of an enumeration.
_ANSWERED = Reaction.ANSWERED
_NOT_UNDERSTOOD = Reaction.NOT_UNDERSTOOD
_ENDS_ANSWERED = Ending.ANSWERED
_UNDERSTOOD: Final = (Reaction.ANSWERED, Reaction.REFUSED)
_OUTCOMES: Final = {
    Reaction.ANSWERED: Ending.ANSWERED,
    Reaction.REFUSED: Ending.REFUSED,
    Reaction.FINALLY_WRONG: Ending.FAILED,
}


class CircuitBreaker(Struct):
    """A peer that failed to answer five times in a row is not called for a minute (spec section 6.4).

    Closed: calls pass. Open: calls are refused until `open_until`; the next one decides.
    """

    failures: int = 0
    open_until: float = 0.0
    failing_since: float | None = None
    """When the first call failed since the last sign of life."""

    def is_open(self, now: float) -> bool:
        return now < self.open_until

    def failed(self, now: float) -> None:
        """Count a call that got no answer."""
        self.failures += 1
        if self.failing_since is None:
            self.failing_since = now
        if self.failures >= FAILURES_TO_OPEN:
            self.open_until = now + OPEN_S

    def succeeded(self) -> None:
        """Note a sign of life, of any kind."""
        # Nearly always nothing failed before, and nothing has to change.
        if self.failing_since is not None:
            self.close()
            self.failing_since = None

    def close(self) -> None:
        """Let calls pass, whatever happened before."""
        self.failures = 0
        self.open_until = 0.0


class PeerState(Struct):
    """The engine's view of a peer."""

    breaker: CircuitBreaker = field(default_factory=CircuitBreaker)
    deliveries: int = 0
    """Deliveries under way that the league waits for, pauses between attempts included."""


class Peers(dict[str, PeerState]):
    """By agent id; a peer that was never called begins with a closed breaker."""

    def __missing__(self, agent_id: str) -> PeerState:
        state = PeerState()
        self[agent_id] = state
        return state


class Calls:
    """The deliveries of one role. `send` and `cancel` write into the step being built; `on_answer` is told of every
    answer, `on_idle` when nothing to a peer is under way any more."""

    def __init__(
        self,
        send: Callable[[Outgoing], None],
        cancel: Callable[[str], None],
        timers: Timers,
    ) -> None:
        self.timers = timers
        self.on_answer: Callable[[Delivery, float], None] = lambda *_: None
        self.on_failure: Callable[[Delivery], None] = lambda _: None
        """Gets a delivery whose call got no answer, or a "later" from somebody who cannot serve it now."""
        self.on_idle: Callable[[str], None] | None = None
        self.peers = Peers()
        self._send = send
        self._cancel = cancel
        self._under_way: dict[tuple[str, str], Delivery] = {}
        self._count = 0

    def forget(self, agent_id: str) -> None:
        """Forget a peer that is not called again."""
        self.peers.pop(agent_id, None)

    # --- delivering ---------------------------------------------------------------------------------------------------

    def deliver(self, deliveries: Sequence[Delivery], now: float) -> None:
        """Deliver the same message to all of them: one Outgoing, encoded once."""
        for delivery in deliveries:
            if delivery.policy.is_waited_for:
                self.peers[delivery.peer].deliveries += 1
        if deliveries:
            self._call(deliveries, now)

    def deliver_at(self, delivery: Delivery, at: float, now: float) -> None:
        """Deliver a message, not before its time: after a restart a retry keeps its pause."""
        if delivery.policy.is_waited_for:
            self.peers[delivery.peer].deliveries += 1
        self._retry_at(delivery, at, now)

    def hasten(self, delivery: Delivery, now: float) -> None:
        """Send a delivery now that was to leave later."""
        if not delivery.is_over and self.timers.is_set(delivery):
            self._retry(delivery, now)

    def drop(self, delivery: Delivery, *, cancel: bool = False) -> None:
        """Give a delivery up: there is no further attempt. The answer to a call under way is still a sign of life,
        unless the call is cancelled too."""
        if delivery.is_over:
            return
        key = delivery.attempt.key
        if key is not None and not cancel:
            # `_call_ended` finishes it when the answer is in: until then somebody is still called.
            delivery.is_over = True
            return
        if key is not None:
            self._cancel(key)
        self._finish(delivery)

    def repeat_no_more(self, delivery: Delivery) -> None:
        """Make no further attempt, but let the answer to a call under way count."""
        if delivery.attempt.key is None:
            self.drop(delivery)
        else:
            delivery.stop_repeating()

    def end(self, delivery: Delivery, outcome: Ending, now: float) -> None:
        """End a delivery, and tell its role."""
        if not delivery.is_over:
            self._finish(delivery)
            delivery.on_end(delivery, outcome, now)

    def answered_by_request(self, delivery: Delivery, convention: Convention, now: float) -> None:
        """End a delivery whose answer came as a request of its own (R-02), in this convention."""
        delivery.line.understood_by_request(convention, now)
        self.end(delivery, Ending.ANSWERED, now)

    def wrong_by_request(
        self,
        delivery: Delivery,
        convention: Convention,
        read: Interpretation,
        now: float,
    ) -> None:
        """Draw the consequence of a wrong answer that came as a request of its own, in this convention."""
        # Wrong or not, the peer has read the call.
        delivery.line.understood_by_request(convention, now)
        self._react(delivery, read, now)

    def understood_by_request(self, delivery: Delivery) -> None:
        """Wait for the end of the attempt: what came as a request shows that the peer has understood the call."""
        if delivery.has_timer and delivery.attempt.ends is not None:
            self._await_end(delivery)

    def _call(self, deliveries: Sequence[Delivery], now: float) -> None:
        """Call each peer that is still to be called; the other deliveries are over. All have the same message and the
        same limit."""
        self._count += 1
        key = f"{deliveries[0].label}/{self._count}"
        addresses = []
        for delivery in deliveries:
            address = delivery.address()
            if address is None:
                self._finish(delivery)
                continue
            attempt = delivery.attempt
            # Without a deadline this is the first call of an attempt, or of a form.
            if attempt.ends is None:
                attempt.begun_at = now
                attempt.ends = now + delivery.policy.limit_s
            if delivery.compose is not None and not self._compose(delivery, now):
                continue
            # Nearly all calls have one form, and broadcasts are many.
            if delivery.line is not PLAIN:
                address = delivery.line.routed(address)
            if delivery.has_timer:
                self._clear_timer(delivery)
            self._under_way[key, delivery.peer] = delivery
            attempt.key = key
            attempt.sent_at = now
            attempt.to = address
            addresses.append(address)
            message = delivery.message
            ends = attempt.ends
        if addresses:
            self._send(Outgoing(key, tuple(addresses), message, ends))

    def _compose(self, delivery: Delivery, now: float) -> bool:
        """Write the message of the next call. Without a message the delivery is over."""
        assert delivery.compose is not None, "the caller has looked"
        message = delivery.compose(delivery, now)
        if message is None:
            self._finish(delivery)
            return False
        delivery.message = message
        return True

    # --- answers ------------------------------------------------------------------------------------------------------

    def answered(self, letter: Letter, now: float) -> None:
        """Take the answer to a call: a sign of life, whatever it says."""
        key = letter.answers or ""
        delivery = self._under_way.pop((key, letter.peer), None)
        if delivery is None:
            return
        is_newest = self._call_ended(delivery, key)
        # An older call, which timed out, may be answered too: only its answer counts, never its failure.
        delivery.answer = letter.content
        to = delivery.attempt.to
        peer = self.peers.get(letter.peer)
        if peer is not None and peer.breaker.failing_since is not None:
            peer.breaker.succeeded()
        if delivery.is_over:
            self.on_answer(delivery, now)
            return
        read = delivery.interpret(delivery, letter.content, now)
        if read.reaction is not _NOT_UNDERSTOOD:
            if delivery.line.learns and to is not None and read.reaction in _UNDERSTOOD:
                delivery.line.understood(to, now)
            self.on_answer(delivery, now)
        if read.reaction is _ANSWERED:
            self.end(delivery, _ENDS_ANSWERED, now)
        elif is_newest:
            self._react(delivery, read, now)

    def _call_ended(self, delivery: Delivery, key: str) -> bool:
        """Note the end of a call: return whether it was the newest of its delivery."""
        is_newest = key == delivery.attempt.key
        if is_newest:
            delivery.attempt.key = None
            if delivery.is_over:
                self._finish(delivery)
        return is_newest

    def _react(self, delivery: Delivery, read: Interpretation, now: float) -> None:
        match read.reaction:
            case Reaction.ANSWERED | Reaction.REFUSED | Reaction.FINALLY_WRONG as final:
                self.end(delivery, _OUTCOMES[final], now)
            case Reaction.WRONG:
                self._wrong(delivery, read, now)
            case Reaction.CORRECTABLE | Reaction.EXHAUSTED:
                self._correct(delivery, read, now)
            case Reaction.CALL_AGAIN:
                # The peer has read nothing yet, so it gets the whole time again.
                delivery.attempt.ends = None
                self._call([delivery], now)
            case Reaction.FAILED:
                self._attempt_failed(delivery, Failure.ERROR, read.detail, now)
            case Reaction.ACKNOWLEDGED:
                self._acknowledged(delivery, read, now)
            case Reaction.NOT_UNDERSTOOD:
                self._not_understood(delivery, Sign.REFUSED, read, now)

    def _wrong(self, delivery: Delivery, read: Interpretation, now: float) -> None:
        """Draw the consequence of a wrong answer; after the deadline it is no answer at all."""
        assert read.consequence is not None, "a wrong answer has one"
        if delivery.attempt.ends is not None and now >= delivery.attempt.ends:
            self._attempt_failed(delivery, Failure.TIMEOUT, "", now)
        else:
            self._react(delivery, read.consequence(now), now)

    def _correct(self, delivery: Delivery, read: Interpretation, now: float) -> None:
        """Call again after a wrong answer, under the same deadline, or wait for that if it was wrong too often."""
        delivery.attempt.is_last = True
        if read.reaction is Reaction.CORRECTABLE:
            self._retry_at(delivery, now + read.pause_s, now)
        else:
            self._await_end(delivery)

    def _acknowledged(self, delivery: Delivery, read: Interpretation, now: float) -> None:
        """Wait for an answer that may still come as a request of its own, until the attempt ends."""
        attempt = delivery.attempt
        # A peer that promised an answer is not doubted before the end. It can promise only once.
        is_believed = read.is_promise and not attempt.is_acknowledged
        attempt.is_acknowledged = True
        attempt.is_reached = True
        patience_s = delivery.line.acknowledged()
        if attempt.is_last and delivery.has_timer:
            # A wrong answer came as a request of its own, before this one: its correction is due.
            return
        if patience_s is None or attempt.is_last:
            self._await_end(delivery)
            return
        doubted_at = now if attempt.ends is None else attempt.ends
        if not is_believed:
            doubted_at = min(now + patience_s, doubted_at)
        self._set_timer(delivery, doubted_at, self._doubt)

    def _doubt(self, delivery: Delivery, now: float) -> None:
        """Try the next form, because nothing followed the acknowledgement."""
        # The peer perhaps acknowledges even what it does not understand.
        pause_s = delivery.line.next_form(Sign.IGNORED, None, False)
        if pause_s is None:
            self._await_end(delivery)
        else:
            self._call_in_next_form(delivery, pause_s, now)

    def _await_end(self, delivery: Delivery) -> None:
        """Wait for the end of the attempt: no call is under way, but an answer may still come."""
        ends = delivery.attempt.ends
        assert ends is not None, "an attempt is open"
        self._set_timer(delivery, ends, self._attempt_ended)

    def _attempt_ended(self, delivery: Delivery, now: float) -> None:
        ends = delivery.attempt.ends
        if ends is not None and now - ends > LATE_S:
            # We slept through the peer's answer: it gets another call, at no cost.
            delivery.attempt.ends = None
            self._call([delivery], now)
        else:
            self._attempt_failed(delivery, Failure.TIMEOUT, "", now)

    # --- not understood -----------------------------------------------------------------------------------------------

    def _not_understood(self, delivery: Delivery, sign: Sign, read: Interpretation, now: float) -> None:
        """Call in the next form, if there is one, and no wrong answer shows that the peer has read the call."""
        pause_s = None
        if sign is not Sign.HUNG_UP:
            delivery.attempt.is_reached = True
        if not delivery.attempt.is_last:
            pause_s = delivery.line.next_form(sign, read, read.tells_more)
        if pause_s is None:
            self._never_understood(delivery, read, now)
        else:
            self._call_in_next_form(delivery, pause_s, now)

    def _crashed(self, delivery: Delivery, failed: Undelivered, now: float) -> None:
        """React to a status of 500 or more, or an answer that cannot be read: something broke there, but somebody
        answered."""
        self.peers[delivery.peer].breaker.succeeded()
        delivery.attempt.is_reached = True
        if type(delivery.message) is Ping:
            self.on_answer(delivery, now)
            self.end(delivery, Ending.REFUSED, now)
        else:
            self._hung_up(delivery, failed.failure, failed.detail, now)

    def _hung_up(self, delivery: Delivery, failure: Failure, detail: str, now: float) -> None:
        """React to a broken connection."""
        # Some peers hang up on a call whose form they do not know, or break over it.
        if delivery.attempt.is_last or delivery.line.is_proven:
            self._attempt_failed(delivery, failure, detail, now)
        else:
            self._not_understood(
                delivery,
                Sign.HUNG_UP,
                Interpretation(_NOT_UNDERSTOOD, detail),
                now,
            )

    def _call_in_next_form(self, delivery: Delivery, pause_s: float, now: float) -> None:
        """Call in the next form, with a limit of its own: a form does not count as an attempt."""
        delivery.attempt.ends = None
        self._retry_at(delivery, now + pause_s, now)

    def _never_understood(self, delivery: Delivery, read: Interpretation, now: float) -> None:
        """End the search for a form: none helped. The answer to the likeliest form counts."""
        read = delivery.line.verdict or read
        if delivery.attempt.is_acknowledged:
            # It acknowledged one of these calls, and may still answer with a request of its own.
            self._await_end(delivery)
        elif read.consequence is not None:
            self._wrong(delivery, read, now)
        elif delivery.policy.if_not_understood is Reaction.FAILED:
            failure = Failure.NOT_UNDERSTOOD if delivery.attempt.is_reached else Failure.BROKEN
            self._attempt_failed(delivery, failure, read.detail, now)
        else:
            delivery.refusal = read.detail
            self.on_answer(delivery, now)
            self.end(delivery, Ending.REFUSED, now)

    # --- failures and retries -----------------------------------------------------------------------------------------

    def failed(self, failed: Undelivered, now: float) -> None:
        """Take the failure of a call, which got no answer."""
        delivery = self._under_way.pop((failed.key, failed.peer), None)
        if delivery is None or not self._call_ended(delivery, failed.key) or delivery.is_over:
            return
        if failed.failure is Failure.TIMEOUT and delivery.policy.accepts_late_answers:
            # It stays under way, because its answer may still come.
            self._under_way[failed.key, failed.peer] = delivery
            delivery.attempt.timed_out += (failed.key,)
        if failed.blame is Blame.LOCAL:
            self._excuse(delivery, failed.failure, now)
        else:
            self._take_failure(delivery, failed, now)

    def _take_failure(self, delivery: Delivery, failed: Undelivered, now: float) -> None:
        """Go on after a failure that is not ours."""
        if failed.failure is Failure.NOT_UNDERSTOOD:
            # Somebody answered, if not in JSON-RPC.
            self.peers[failed.peer].breaker.succeeded()
            read = Interpretation(_NOT_UNDERSTOOD, failed.detail)
            self._not_understood(delivery, Sign.NOT_JSON_RPC, read, now)
        elif failed.failure in (Failure.SERVER_ERROR, Failure.UNUSABLE):
            self._crashed(delivery, failed, now)
        else:
            self.on_failure(delivery)
            self._not_served(delivery, failed, now)

    def _not_served(self, delivery: Delivery, failed: Undelivered, now: float) -> None:
        """Nobody answered, or somebody who cannot serve us now."""
        if failed.failure is Failure.BROKEN:
            self._hung_up(delivery, failed.failure, failed.detail, now)
        elif failed.failure is Failure.BUSY:
            self._wait_while_busy(delivery, failed.retry_after, now)
        else:
            is_peers = failed.blame is Blame.PEER
            self._attempt_failed(
                delivery,
                failed.failure,
                failed.detail,
                now,
                counts_against_peer=is_peers,
            )

    def _excuse(self, delivery: Delivery, failure: Failure, now: float) -> None:
        """Call again at no cost, because the fault was ours."""
        # A message that may be said only once was perhaps heard.
        if delivery.policy.retries.refused_only and failure is not Failure.REFUSED:
            self.end(delivery, Ending.FAILED, now)
            return
        delivery.attempt.ends = None
        # A timeout was long enough; whatever else is wrong with us needs a moment to pass.
        retry_at = now if failure is Failure.TIMEOUT else now + RETRY_S
        self._retry_at(delivery, retry_at, now)

    def _wait_while_busy(self, delivery: Delivery, retry_after: float | None, now: float) -> None:
        """Give a busy peer the time it asks for: a sign of life, and nobody's fault for a while."""
        self.peers[delivery.peer].breaker.succeeded()
        wait_s = BUSY_S
        if retry_after:
            wait_s = max(retry_after, SHORTEST_BUSY_S)
        wait_s = min(wait_s, LONGEST_BUSY_S - delivery.busy_s)
        delivery.busy_s += wait_s
        attempt = delivery.attempt
        if type(delivery.message) is Ping:
            self.on_answer(delivery, now)
            self.end(delivery, Ending.ANSWERED, now)
        elif delivery.policy.retries == ONCE:
            self.end(delivery, Ending.FAILED, now)
        elif wait_s <= 0:
            self._attempt_failed(
                delivery,
                Failure.BUSY,
                f"still busy after {LONGEST_BUSY_S:g} seconds",
                now,
            )
        else:
            # A correction keeps what was left of its time.
            if attempt.is_last and attempt.ends is not None:
                attempt.ends += wait_s
            else:
                attempt.ends = None
            self._retry_at(delivery, now + wait_s, now)

    def _attempt_failed(
        self,
        delivery: Delivery,
        failure: Failure,
        detail: str,
        now: float,
        counts_against_peer: bool = True,
    ) -> None:
        """Count a failed attempt: the table of exchanges says whether and when there is another."""
        if delivery.attempt.is_last:
            self._correction_failed(delivery, failure, detail, now)
            return
        retries = delivery.policy.retries
        delivery.failures += 1
        is_reached = delivery.attempt.is_reached or failure not in UNREACHED
        delivery.attempt.close()
        # The breaker spares peers that cannot be reached. One that answers, if only with an error, can be.
        if delivery.policy.is_guarded and counts_against_peer and failure in UNREACHED:
            self.peers[delivery.peer].breaker.failed(now)
        delivery.line.begin_again()
        retry_at = None
        if failure is Failure.REFUSED or not retries.refused_only:
            pause_s = retries.delay_before(delivery.failures, failure is Failure.REFUSED)
            if pause_s is not None:
                retry_at = now + pause_s
        delivery.on_attempt_failed(delivery, FailedAttempt(failure, detail, retry_at, is_reached), now)
        # The callback may have dropped the delivery.
        if retry_at is None:
            self.end(delivery, Ending.FAILED, now)
        elif not delivery.is_over:
            self._retry_at(delivery, retry_at, now)

    def _correction_failed(self, delivery: Delivery, failure: Failure, detail: str, now: float) -> None:
        """Call again while time remains: after a wrong answer there is no other attempt."""
        ends = delivery.attempt.ends
        if failure is Failure.TIMEOUT or ends is None:
            # There was a wrong answer.
            failed = FailedAttempt(Failure.TIMEOUT, detail, None, is_reached=True)
            delivery.on_attempt_failed(delivery, failed, now)
            self.end(delivery, Ending.FAILED, now)
        elif now + RETRY_S < ends:
            self._retry_at(delivery, now + RETRY_S, now)
        else:
            self._await_end(delivery)

    def _retry_at(self, delivery: Delivery, at: float, now: float) -> None:
        if at <= now:
            self._retry(delivery, now)
        else:
            self._set_timer(delivery, at, self._retry)

    def _retry(self, delivery: Delivery, now: float) -> None:
        attempt = delivery.attempt
        # A correction keeps its deadline, unless that passed during the pause.
        if attempt.ends is not None and attempt.ends <= now:
            attempt.ends = None
        if delivery.policy.is_guarded and self.peers[delivery.peer].breaker.is_open(now):
            self.end(delivery, Ending.FAILED, now)
        else:
            self._call([delivery], now)

    def _set_timer(
        self,
        delivery: Delivery,
        at: float,
        action: Callable[[Delivery, float], None],
    ) -> None:
        delivery.has_timer = True
        self.timers.set(delivery, at, partial(action, delivery))

    def _clear_timer(self, delivery: Delivery) -> None:
        delivery.has_timer = False
        self.timers.clear(delivery)

    # --- the end ------------------------------------------------------------------------------------------------------

    def _finish(self, delivery: Delivery) -> None:
        delivery.is_over = True
        if delivery.has_timer:
            self._clear_timer(delivery)
        attempt = delivery.attempt
        if attempt.key is not None:
            self._under_way.pop((attempt.key, delivery.peer), None)
        for key in attempt.timed_out:
            self._under_way.pop((key, delivery.peer), None)
        if delivery.policy.is_waited_for:
            peer = self.peers[delivery.peer]
            peer.deliveries -= 1
            if peer.deliveries == 0 and self.on_idle is not None:
                self.on_idle(delivery.peer)
