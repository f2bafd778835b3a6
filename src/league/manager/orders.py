"""The operator's orders (R-48, R-89). An order that comes again with the same key does nothing more."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import cast

from league.events import MatchUnparked, OrderCarriedOut, ResultVoided
from league.machine import Acknowledged, Letter, Operate
from league.manager.manager_context import ManagerPart
from league.manager.members.secret_rotation import ROTATABLE, is_retired, replacement
from league.manager.season.rounds import FEWEST_PLAYERS, FEWEST_REFEREES, Rounds
from league.manager.staffing.assignments import Assignments
from league.manager.state.roster import Applicant
from league.protocol.errors import PeerError
from league.protocol.order_table import ORDERS, Order


@dataclass(slots=True)
class OperatorOrders(ManagerPart):
    """Carries orders out. PeerError says why an order is refused."""

    rounds: Rounds
    assignments: Assignments

    def carry_out(self, letter: Letter, order: Operate, now: float) -> None:
        description = f"{order.order} {order.target}".strip()
        done = self._ledger.controls.orders.get(order.key)
        is_other = done is not None and done != description
        if done is not None and order.secret:
            # Whoever repeats the order must not believe that another secret counts now.
            is_other = is_other or self.context.secrets.get(ROTATABLE[order.target]) != order.secret
        if is_other:
            raise PeerError(
                "E023",
                f"the key of this order was used for another one: {done}",
            )
        # An operator whose connection broke sends the order again: it is carried out once and acknowledged twice.
        if done is None:
            handler = HANDLERS.get(order.order)
            if handler is None:
                raise PeerError(
                    "E023",
                    f"there is no order {order.order[:80]!r}; there are {', '.join(ORDERS)}",
                )
            handler(self, order, now)
        self.context.reply(letter, Acknowledged())

    def _carried_out(self, order: Operate, now: float, target: str = "") -> None:
        """Record an order. `target` is the id of its target, if the operator may have named it otherwise."""
        target = target or order.target
        named = ""
        if target != order.target:
            named = order.target
        name = cast("Order", order.order)  # it is in the table below
        self.context.happened(OrderCarriedOut(at=now, order=name, target=target, key=order.key, named=named))

    def _start(self, order: Operate, now: float) -> None:
        self._not_over()
        if self._ledger.state != "WAITING_FOR_REGISTRATIONS":
            raise PeerError("E023", "the league has started already")
        players = self._ledger.roster.count("player")
        referees = self._ledger.roster.count("referee")
        if players < FEWEST_PLAYERS or referees < FEWEST_REFEREES:
            need = f"a league needs {FEWEST_PLAYERS} players and {FEWEST_REFEREES} referee"
            raise PeerError("E023", f"{need}; it has {players} and {referees}")
        self._carried_out(order, now)

    def _pause(self, order: Operate, now: float) -> None:
        self._running()
        if self._ledger.controls.paused:
            raise PeerError("E023", "the league is paused already")
        self._carried_out(order, now)

    def _resume(self, order: Operate, now: float) -> None:
        self._running()
        if not self._ledger.controls.paused:
            raise PeerError("E023", "the league is not paused")
        self._carried_out(order, now)
        self.assignments.reassign(now)

    def _approve(self, order: Operate, now: float) -> None:
        """Let an applicant in, also one that was rejected before."""
        applicants = self._applicants(order)
        candidates = [applicant for applicant in applicants if applicant.is_waiting]
        if not candidates:
            candidates = [applicant for applicant in applicants if applicant.rejected]
        approved = _only_one(candidates, order, "was approved already").applicant_id
        self._carried_out(order, now, approved)

    def _reject(self, order: Operate, now: float) -> None:
        """Turn an applicant away, also one that was approved and has not come in yet."""
        applicants = [applicant for applicant in self._applicants(order) if not applicant.admitted]
        candidates = [applicant for applicant in applicants if applicant.is_waiting]
        if not candidates:
            candidates = [applicant for applicant in applicants if applicant.approved]
        reason = "was rejected already"
        if not applicants:
            reason = "is a member; league withdraw takes a player out"
        rejected = _only_one(candidates, order, reason).applicant_id
        self._carried_out(order, now, rejected)

    def _applicants(self, order: Operate) -> list[Applicant]:
        """Return the applicants that the operator may mean."""
        self._not_over()
        applicants = self._ledger.roster.applicants.meant_by(order.target)
        if not applicants:
            raise PeerError(
                "E005",
                f"nobody called {order.target[:80]!r} waits for approval",
            )
        return applicants

    def _readmit(self, order: Operate, now: float) -> None:
        """Let a member come back from a new address, without its token."""
        self._not_over()
        member = self._ledger.roster.members.get(order.target)
        if member is None:
            namesakes = [self._ledger.roster.with_name(role, order.target) for role in ("player", "referee")]
            members = [namesake for namesake in namesakes if namesake is not None]
            if len(members) > 1:
                ids = " or ".join(namesake.agent_id for namesake in members)
                raise PeerError("E023", f"a player and a referee are called {order.target[:80]!r}; name {ids}")
            if not members:
                raise PeerError("E005", f"there is no agent {order.target[:80]!r}")
            member = members[0]
        if member.attendance.withdrawn:
            raise PeerError("E023", f"{member.agent_id} was withdrawn, and cannot come back")
        if member.credentials.readmitting:
            raise PeerError("E023", f"{member.agent_id} may come back already: start it with the name it had")
        self._carried_out(order, now, member.agent_id)

    def _withdraw(self, order: Operate, now: float) -> None:
        member = self._ledger.roster.members.get(order.target)
        if member is None or not member.is_player:
            raise PeerError("E005", f"there is no player {order.target[:80]!r}")
        self._not_over()
        if member.attendance.withdrawn:
            raise PeerError("E023", f"{member.agent_id} was withdrawn already")
        self._carried_out(order, now)
        self.rounds.withdraw(member, now)

    def _replay(self, order: Operate, now: float) -> None:
        """Void the result in force, also after the end, or give a parked match three more attempts."""
        match = self._ledger.matches.get(order.target)
        if match is None and self._ledger.state != "WAITING_FOR_REGISTRATIONS":
            raise PeerError("E014", f"there is no match {order.target[:80]!r}")
        if not self._ledger.is_finished:
            self._running()
        elif self._ledger.controls.closed:
            raise PeerError("E031", "the league is closed")
        assert match is not None
        if any(self.context.member(player).attendance.withdrawn for player in match.players):
            raise PeerError(
                "E023",
                f"{match.match_id} cannot be played again: a player was withdrawn",
            )
        if match.status == "PARKED":
            self.context.happened(MatchUnparked(at=now, match_id=match.match_id, key=order.key))
        elif match.result is not None:
            # First the league, then the match: a voided result needs a league that runs.
            if self._ledger.is_finished:
                self.rounds.reopen(now)
            self.context.happened(ResultVoided(at=now, match_id=match.match_id, key=order.key))
        else:
            raise PeerError("E023", f"{match.match_id} has no result to void")

    def _close(self, order: Operate, now: float) -> None:
        if not self._ledger.is_finished:
            raise PeerError("E023", "the league is not over yet")
        if self._ledger.controls.closed:
            raise PeerError("E023", "the league is closed already")
        self._carried_out(order, now)

    def _rotate(self, order: Operate, now: float) -> None:
        """Replace a secret, in every state of the league."""
        name = ROTATABLE.get(order.target)
        if name is None:
            raise PeerError("E005", f"there is no secret {order.target[:80]!r}; replace {' or '.join(ROTATABLE)}")
        secrets = self.context.secrets
        if secrets.get(name) == order.secret or is_retired(secrets, name, order.secret):
            raise PeerError("E023", "this secret was used before; choose a new one")
        for changed, value in replacement(secrets, name, order.secret).items():
            self.context.keep_secret(changed, value)
        self._carried_out(order, now)

    def _not_over(self) -> None:
        if self._ledger.is_finished:
            raise PeerError("E031", "the league is over")

    def _running(self) -> None:
        self._not_over()
        if not self._ledger.is_running:
            raise PeerError("E030", "the league has not started")


def _only_one(applicants: Sequence[Applicant], order: Operate, reason: str) -> Applicant:
    """Return the only applicant that an order can mean. `reason` says why there is none."""
    name = repr(order.target[:80])
    if not applicants:
        raise PeerError("E023", f"{name} {reason}")
    if len(applicants) > 1:
        choices = ", ".join(f"{applicant.applicant_id} from {applicant.origin}" for applicant in applicants[:10])
        raise PeerError(
            "E023",
            f"several applicants are called {name}; name one by its id: {choices}",
        )
    return applicants[0]


HANDLERS: Mapping[str, Callable[[OperatorOrders, Operate, float], None]] = {
    "start": OperatorOrders._start,
    "pause": OperatorOrders._pause,
    "resume": OperatorOrders._resume,
    "approve": OperatorOrders._approve,
    "reject": OperatorOrders._reject,
    "readmit": OperatorOrders._readmit,
    "withdraw": OperatorOrders._withdraw,
    "replay-match": OperatorOrders._replay,
    "close": OperatorOrders._close,
    "rotate-token": OperatorOrders._rotate,
}
