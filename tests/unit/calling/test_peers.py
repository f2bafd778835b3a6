"""One message to many peers, some of whom are not to be called any more; and peers that are forgotten."""

from __future__ import annotations

from league.calling.delivery import Delivery, Policy
from league.calling.engine import Calls
from league.calling.timers import Timers
from league.machine import Address, Failure, Outgoing, Ping, Undelivered


def calls_into(sent: list[Outgoing]) -> Calls:
    return Calls(sent.append, lambda _: None, Timers())


def ping(peer: str, address: Address | None) -> Delivery:
    return Delivery(peer, "ping", Ping(), Policy(3.0, is_guarded=True), lambda: address)


def test_who_is_not_to_be_called_any_more_is_left_out_and_nothing_to_it_is_under_way() -> None:
    sent: list[Outgoing] = []
    calls = calls_into(sent)
    idle: list[str] = []
    calls.on_idle = idle.append
    there = Address("P01", "http://127.0.0.1:8101/mcp")
    calls.deliver([ping("P01", there), ping("P02", None)], 0.0)
    assert [one.to for one in sent] == [(there,)]
    assert (calls.peers["P01"].deliveries, calls.peers["P02"].deliveries) == (1, 0)
    assert idle == ["P02"]


def test_of_a_forgotten_peer_no_failure_is_remembered() -> None:
    sent: list[Outgoing] = []
    calls = calls_into(sent)
    calls.deliver([ping("P01", Address("P01", "http://127.0.0.1:8101/mcp"))], 0.0)
    calls.failed(Undelivered(sent[0].key, "P01", Failure.REFUSED), 1.0)
    assert calls.peers["P01"].breaker.failures == 1
    calls.forget("P01")
    assert calls.peers["P01"].breaker.failures == 0
