"""The book of peers: in which form each is called next, and what is remembered of it."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from msgspec import structs

from league.calling.delivery import Interpretation, Reaction
from league.calling.line import PLAIN, Purpose, Sign
from league.events import ConventionLearned, Event, Registered
from league.gateway.book import PATIENCE_S, Form, FormLine, PeerBook, forms_of, page
from league.machine import Address
from league.protocol.conventions import WAYS, Convention
from league.protocol.signing.tokens import MANAGER

HERE = "http://127.0.0.1:8101/mcp"
PLAYER = Address("P01", HERE)
OUR_MANAGER = Address(MANAGER, "http://127.0.0.1:8000/mcp")


class Journal:
    """A book whose events become true at once."""

    def __init__(self, *, is_strict: bool = False, roster: Mapping[str, Convention] | None = None) -> None:
        self.events: list[Event] = []
        self.book = PeerBook(self._happened, lambda: is_strict, roster)

    def _happened(self, event: Event) -> None:
        self.events.append(event)
        self.book.apply(event)

    def line(self, to: Address = PLAYER, purpose: Purpose = Purpose.INVITE, pause_s: float = 0.0) -> FormLine:
        line = self.book.line(to, purpose, pause_s)
        assert isinstance(line, FormLine)
        return line


def conventions(line: FormLine, to: Address = PLAYER, sign: Sign = Sign.REFUSED) -> list[Convention]:
    """All that it tries, one after the other."""
    tried = [line.routed(to).convention]
    while line.next_form(sign, None, False) is not None:
        tried.append(line.routed(to).convention)
    return tried


def registered(convention: Convention, *, new_league: bool = False) -> Registered:
    return Registered(
        at=1.0,
        agent_id="REF01",
        league_id="L",
        serial=1,
        derived_tokens=False,
        convention=convention.value,
        new_league=new_league,
    )


def test_after_a_silence_the_convention_that_was_tried_last_is_still_the_one_an_answer_belongs_to() -> None:
    line = FormLine(forms_of(HERE, Convention.SPEC), HERE)
    assert line.next_form(Sign.NOT_JSON_RPC, None, False) is not None
    assert line.form.convention is Convention.BARE
    line.begin_again()
    assert line.answering_form(Convention.BARE).convention is Convention.BARE
    assert line.next_form(Sign.REFUSED, None, False) is not None
    assert line.form.convention not in (Convention.BARE, Convention.SPEC)


def test_a_request_without_a_frame_answers_the_call_without_one_if_there_was_one() -> None:
    line = FormLine(forms_of(HERE, Convention.SPEC), HERE)
    first = line.form
    line.acknowledged()
    assert line.answering_form(Convention.BARE).convention is Convention.SPEC
    while line.form.convention is not Convention.BARE:
        assert line.next_form(Sign.IGNORED, None, False) is not None
        line.acknowledged()
    assert line.answering_form(Convention.TYPE).convention is Convention.SPEC
    assert line.answering_form(Convention.BARE).convention is Convention.BARE
    # The answer may come while the next attempt begins.
    line.begin_again()
    assert line.form == first
    assert line.answering_form(Convention.BARE).convention is Convention.BARE


def test_every_convention_is_tried_beginning_with_the_likeliest() -> None:
    assert conventions(Journal().line()) == list(WAYS[Convention.SPEC])
    to = structs.replace(PLAYER, convention=Convention.TOOLS)
    assert conventions(Journal().line(to), to) == list(WAYS[Convention.TOOLS])


def test_the_convention_that_a_player_understood_is_journalled_once_and_found_again_at_its_endpoint() -> None:
    journal = Journal()
    understood = structs.replace(PLAYER, convention=Convention.NESTED)
    journal.line().understood(understood, 5.0)
    journal.line().understood(understood, 6.0)
    learned = ConventionLearned(at=5.0, agent_id="P01", endpoint=HERE, convention="NESTED")
    assert journal.events == [learned]
    assert journal.book.conventions.get(HERE) is Convention.NESTED
    assert journal.book.snapshot() == {HERE: "NESTED"}
    assert journal.line().is_proven
    journal.book.forget_endpoint(HERE)
    assert not journal.line().is_proven


def test_a_restarted_book_knows_what_the_journal_says() -> None:
    journal = Journal()
    for event in (
        registered(Convention.TYPE),
        ConventionLearned(at=2.0, agent_id="P01", endpoint=HERE, convention="BARE"),
    ):
        journal.book.apply(event)
    assert (journal.book.conventions.get(MANAGER), journal.book.conventions.get(HERE)) == (
        Convention.TYPE,
        Convention.BARE,
    )
    journal.book.apply(registered(Convention.SPEC, new_league=True))
    assert (journal.book.conventions.get(MANAGER), journal.book.conventions.get(HERE)) == (Convention.SPEC, None)


def test_a_manager_is_known_by_its_id_wherever_it_is() -> None:
    journal = Journal()
    journal.book.apply(registered(Convention.SPEC))
    journal.line(OUR_MANAGER, Purpose.TELL).understood(structs.replace(OUR_MANAGER, convention=Convention.TYPE), 1.0)
    assert journal.book.conventions.get(MANAGER) is Convention.TYPE


def test_the_roster_is_the_memory_of_a_manager() -> None:
    roster = {"P01": Convention.LOWER}
    journal = Journal(roster=roster)
    journal.book.learn("P01", HERE, Convention.LOWER, 1.0)
    assert journal.events == []
    journal.book.learn("P01", HERE, Convention.TYPE, 1.0)
    assert [event.convention for event in journal.events if isinstance(event, ConventionLearned)] == ["TYPE"]


@pytest.mark.parametrize("purpose", Purpose)
def test_under_the_strict_profile_every_line_is_plain(purpose: Purpose) -> None:
    assert Journal(is_strict=True).book.line(PLAYER, purpose) is PLAIN


def test_a_call_for_a_choice_is_repeated_only_after_no_such_method() -> None:
    line = Journal().line(purpose=Purpose.CHOOSE)
    assert (line.is_proven, line.learns) == (True, False)
    assert line.acknowledged() is None
    assert line.next_form(Sign.NOT_JSON_RPC, None, False) is None
    assert line.routed(PLAYER) is PLAYER
    assert line.next_form(Sign.REFUSED, None, False) is not None


def test_a_registration_ends_at_a_page_of_its_own_and_learns_nothing() -> None:
    line = Journal().line(OUR_MANAGER, Purpose.REGISTER)
    conventions(line, OUR_MANAGER)
    assert line.routed(OUR_MANAGER).endpoint == "http://127.0.0.1:8000/register"
    assert (line.learns, line.is_proven) == (False, False)


def test_a_referee_that_takes_matches_at_a_page_is_called_there_first_from_then_on() -> None:
    journal = Journal()
    referee = Address("REF01", "http://127.0.0.1:8001/mcp")
    line = journal.line(referee, Purpose.START)
    conventions(line, referee)
    page = line.routed(referee)
    assert page.endpoint == "http://127.0.0.1:8001/run_match"
    line.understood(page, 1.0)
    assert journal.events == []
    assert journal.line(referee, Purpose.START).routed(referee) == page


def test_an_acknowledgement_is_doubted_soon_unless_the_form_is_proven() -> None:
    journal = Journal()
    assert journal.line().acknowledged() == PATIENCE_S
    journal.book.apply(ConventionLearned(at=2.0, agent_id="P01", endpoint=HERE, convention="SPEC"))
    assert journal.line().acknowledged() is None


def test_what_was_said_most_about_is_the_verdict_and_where_the_next_attempt_begins() -> None:
    line = Journal().line()
    form = Interpretation(Reaction.NOT_UNDERSTOOD, "what?")
    more = Interpretation(Reaction.NOT_UNDERSTOOD, "no role")
    for verdict, tells_more in ((form, False), (more, True), (form, False)):
        line.next_form(Sign.REFUSED, verdict, tells_more)
    assert line.verdict is more
    line.begin_again()
    assert line.form == forms_of(HERE, Convention.SPEC)[3]
    line.forget()
    assert line.form == forms_of(HERE, Convention.SPEC)[0]


def test_a_form_whose_connection_broke_is_tried_again_in_the_next_attempt() -> None:
    line = Journal().line()
    first = line.form
    assert line.next_form(Sign.HUNG_UP, None, False) == 0.0
    line.begin_again()
    assert line.form is first


def test_the_pause_before_the_next_form_is_the_one_that_was_asked_for() -> None:
    assert Journal().line(PLAYER, Purpose.TELL, 2.0).next_form(Sign.REFUSED, None, False) == 2.0


def test_the_names_of_a_method_are_told_to_people() -> None:
    names = Journal().book.method_names(Convention.SPEC, "CHOOSE_PARITY_CALL")
    assert names == "parity_choose or choose_parity"


def test_a_peer_that_has_moved_is_called_where_it_is_now() -> None:
    learned: list[Form] = []
    line = FormLine((*forms_of(HERE, Convention.SPEC), page(HERE, "/register")), HERE)
    line.learn = lambda form, _: learned.append(form)
    moved = Address("league_manager", "http://127.0.0.1:9000/mcp")
    assert line.routed(moved) == moved
    line.understood(moved, 1.0)
    assert learned == [Form(HERE, Convention.SPEC)], "what was learned is about the peer, wherever it is"
