"""Lines as the engine asks them: the plain one, and what the engine makes of one with several forms."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec import Struct, field, structs

from league.calling.delivery import Delivery, Ending, FailedAttempt, Interpretation, Policy, Reaction
from league.calling.engine import Calls
from league.calling.line import PLAIN, Book, Line, Purpose, Sign
from league.calling.timers import Timers
from league.machine import Acknowledged, Address, Content, Failure, Letter, Outgoing, Refusal, Undelivered
from league.protocol.conventions import Convention
from league.protocol.message.exchanges import RETRIED

HERE = Address("P01", "http://10.0.0.9:8101/mcp")
MESSAGE: Any = object()
UNKNOWN = Refusal("E036", "no such method", understood=False)


class TwoForms(Struct, Line, eq=False):
    """A line with two endpoints, which records all that it is told."""

    is_proven: bool = False
    learns: bool = True
    pause_s: float = 0.0
    told: list[object] = field(default_factory=list)
    forms: list[str] = field(default_factory=lambda: ["/one", "/two"])

    def routed(self, address: Address) -> Address:
        return structs.replace(address, endpoint=self.forms[0])

    def likeliest(self, address: Address) -> Address:
        return self.routed(address)

    def understood(self, to: Address, now: float) -> None:
        self.told.append(("understood", to.endpoint))

    def understood_by_request(self, convention: Convention, now: float) -> None:
        self.told.append(("understood", convention))

    def acknowledged(self) -> float | None:
        return 1.0 if len(self.forms) > 1 else None

    def next_form(self, sign: Sign, verdict: Interpretation | None, tells_more: bool) -> float | None:
        self.told.append(sign)
        if len(self.forms) == 1:
            return None
        del self.forms[0]
        return self.pause_s

    def begin_again(self) -> None:
        self.told.append("again")


class Desk:
    """An engine with one delivery."""

    def __init__(self, line: TwoForms, reactions: list[Reaction] | None = None) -> None:
        self.now = 100.0
        self.sent: list[Outgoing] = []
        self.ended: list[Ending] = []
        self.failed: list[FailedAttempt] = []
        self.timers = Timers()
        self.calls = Calls(self.sent.append, lambda _: None, self.timers)
        policy = Policy(5.0, RETRIED, if_not_understood=Reaction.FAILED)
        self.delivery = Delivery("P01", "hello", MESSAGE, policy, lambda: HERE, line=line)
        self.delivery.on_end = lambda _, outcome, __: self.ended.append(outcome)
        self.delivery.on_attempt_failed = lambda _, failed, __: self.failed.append(failed)
        if reactions is not None:
            left = iter(reactions)
            self.delivery.interpret = lambda *_: Interpretation(
                next(left), consequence=lambda _: Interpretation(Reaction.CORRECTABLE)
            )
        self.calls.deliver([self.delivery], self.now)

    @property
    def endpoints(self) -> list[str]:
        return [one.to[0].endpoint for one in self.sent]

    def answer(self, content: Content) -> Desk:
        self.calls.answered(Letter(0, content, answers=self.sent[-1].key, peer="P01"), self.now)
        return self

    def fail(self, failure: Failure) -> Desk:
        self.calls.failed(Undelivered(self.sent[-1].key, "P01", failure), self.now)
        return self

    def wait(self, seconds: float) -> Desk:
        self.now += seconds
        self.timers.run(self.now)
        return self


def test_a_plain_line_has_one_form_and_learns_nothing() -> None:
    assert PLAIN.routed(HERE) is HERE
    assert (PLAIN.is_proven, PLAIN.learns, PLAIN.verdict) == (True, False, None)
    assert [PLAIN.next_form(sign, None, True) for sign in Sign] == [None] * len(Sign)
    assert PLAIN.acknowledged() is None


def test_a_plain_book_opens_plain_lines_and_remembers_nobody() -> None:
    book = Book(lambda event: pytest.fail(f"{event} was journalled"), lambda: False)
    book.learn("P01", HERE.endpoint, Convention.BARE, 1.0)
    assert [book.line(HERE, purpose) for purpose in Purpose] == [PLAIN] * len(Purpose)
    assert book.conventions.get("P01") is None


def test_a_form_opens_a_new_limit_and_counts_as_no_attempt() -> None:
    desk = Desk(TwoForms())
    desk.now = 103.0
    desk.answer(UNKNOWN)
    assert (desk.endpoints, desk.failed) == (["/one", "/two"], [])
    assert [one.deadline for one in desk.sent] == [105.0, 108.0]


@pytest.mark.parametrize(
    ("failure", "sign"), [(Failure.NOT_UNDERSTOOD, Sign.NOT_JSON_RPC), (Failure.BROKEN, Sign.HUNG_UP)]
)
def test_the_line_is_told_by_what_sign_it_was_not_understood(failure: Failure, sign: Sign) -> None:
    line = TwoForms()
    desk = Desk(line).fail(failure)
    assert (line.told, desk.endpoints) == ([sign], ["/one", "/two"])


def test_a_broken_connection_says_nothing_about_a_proven_form() -> None:
    line = TwoForms(is_proven=True)
    desk = Desk(line).fail(Failure.BROKEN)
    assert (line.told, len(desk.failed)) == (["again"], 1)


def test_an_acknowledgement_is_doubted_when_nothing_follows() -> None:
    line = TwoForms()
    desk = Desk(line, [Reaction.ACKNOWLEDGED, Reaction.ANSWERED]).answer(Acknowledged()).wait(1.0)
    assert (line.told, desk.endpoints) == ([Sign.IGNORED], ["/one", "/two"])
    desk.answer(Acknowledged())
    assert (line.told[-1], desk.ended) == (("understood", "/two"), [Ending.ANSWERED])


def test_after_a_wrong_answer_no_form_is_tried() -> None:
    line = TwoForms()
    desk = Desk(line, [Reaction.WRONG, Reaction.NOT_UNDERSTOOD]).answer(Acknowledged()).answer(UNKNOWN)
    assert (line.told, set(desk.endpoints)) == ([], {"/one"})


def test_the_pause_of_the_line_comes_before_the_next_form() -> None:
    desk = Desk(TwoForms(pause_s=2.0)).answer(UNKNOWN)
    assert desk.endpoints == ["/one"]
    assert desk.wait(2.0).endpoints == ["/one", "/two"]


def test_an_answer_that_comes_as_a_request_is_told_with_its_convention() -> None:
    line = TwoForms()
    desk = Desk(line)
    desk.calls.answered_by_request(desk.delivery, Convention.BARE, desk.now)
    assert (line.told, desk.ended) == ([("understood", Convention.BARE)], [Ending.ANSWERED])
