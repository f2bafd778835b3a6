"""Every answer of spec/vectors/answers.json is read as it says: by the readers of manager, referee and gateway."""

from __future__ import annotations

import json
from typing import Any

import pytest

from league import events as e
from league import letters
from league.gateway.guest import POLL_AFTER_S
from league.gateway.readers import tools
from league.gateway.readers.foreign_assignments import FreeQuery
from league.gateway.readers.tools import ToolList
from league.gateway.words import DialectCall, HttpPost, Words
from league.letters import HttpReply
from league.machine import Acknowledged, Address, Content, DialectProbe, Refusal, Step
from league.protocol.conventions import Convention
from league.protocol.message.envelope import Reading, Unsealed, unseal
from league.protocol.message.messages import Message, RoundAnnouncementAck
from tests.support.referee_rig import Rig, announced
from tests.support.vectors import ROOT, message

TABLE = json.loads((ROOT / "answers.json").read_text("utf-8"))
Case = dict[str, Any]


def cases(section: str) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("case", TABLE[section], ids=[case["why"] for case in TABLE[section]])


def body_of(case: Case) -> bytes:
    if isinstance(case["body"], str):
        return case["body"].encode()
    return json.dumps(case["body"]).encode()


def read(case: Case) -> Content:
    """The answer as it is read after the message that it answers."""
    sent = unseal(message(f"{case['to'].lower()}.full"), Reading("compat")).open()
    assert isinstance(sent, Message)
    return letters.read_answer(body_of(case), sent, Reading("compat"), status=case["status"])


@pytest.mark.requirement("ERROR.numbers")
@cases("refusals")
def test_a_refusal_is_read_by_its_number_and_its_words(case: Case) -> None:
    refusal = read(case)
    assert isinstance(refusal, Refusal)
    assert (refusal.code, refusal.understood) == (case["reads_as"], case["understood"])
    error = case["body"]["error"]
    assert refusal.words == f"{error['code']} {error['message']}"


@cases("acknowledgements")
def test_an_acknowledgement_is_told_from_a_web_server(case: Case) -> None:
    content = read(case)
    reading = "unreadable"
    if isinstance(content, Refusal):
        reading = "refused"
    elif isinstance(content, Acknowledged):
        reading = "empty" if content.is_empty else "acknowledged"
    elif isinstance(content, Unsealed) and isinstance(content.message, RoundAnnouncementAck):
        reading = "promised"
    assert reading == case["reads_as"]


@pytest.mark.requirement("REPORT.counted_once")
@cases("winners")
def test_only_words_about_the_winner_change_the_word_for_a_draw(case: Case) -> None:
    rig = Rig().enrolled(derived=False)
    rig.announce(announced(player_A_token=None, player_B_token=None, player_A_answers=None, player_B_answers=None))
    rig.joins("P01", "P02").chooses("P01", "even").chooses("P02", "even").hears_game_over("P01", "P02")
    rig.answer(rig.open("league_manager", "MATCH_RESULT_REPORT"), read(case))
    reports: list[Any] = [sent.message for sent in rig.sent if sent.kind == "MATCH_RESULT_REPORT"]
    assert reports[0].result.winner is None
    assert ("DRAW" in [report.result.winner for report in reports]) == case["refuses_winner"]


class UnderSchedule(Rig):
    """A referee under a manager that answers the question for the schedule, and nothing else."""

    schedule = b""

    def take(self, step: Step) -> Step:
        taken = super().take(step)
        for call in list(self.under_way.values()):
            if isinstance(call.message, FreeQuery) and call.message.query_type == "GET_SCHEDULE":
                self.answer(call, self.schedule)
        return taken


@pytest.mark.requirement("REFEREE.asks_for_schedule")
@cases("schedules")
def test_a_referee_takes_its_own_matches_from_a_schedule(case: Case) -> None:
    rig = UnderSchedule()
    rig.schedule = body_of(case)
    rig.enrolled(derived=False).wait(POLL_AFTER_S)
    assert [match.match_id for match in rig.of(e.MatchTaken)] == case["takes"]


@cases("tools")
def test_the_tools_of_a_player_say_how_it_is_asked(case: Case) -> None:
    listing = ToolList()
    listing.add(case["body"]["result"])
    picked = tools.pick("CHOOSE_PARITY_CALL", listing.tools)
    assert (picked.name if picked else None) == case["choice"]
    has_joined = picked is not None and tools.pick("GAME_INVITATION", listing.tools) is None
    assert has_joined == case["joins"]
    if picked is not None:
        assert list(tools.arguments(picked, message("choose_parity_call.full"))) == case["arguments"]


def probe(words: Words, endpoint: str) -> DialectCall:
    return words.begin(7, DialectProbe("player", "even_odd"), b"", Address("P01", endpoint, "tok", Convention.SPEC))


@pytest.mark.requirement("DIALECT.redirects")
@cases("redirects")
def test_a_redirect_is_followed_on_the_same_server_only(case: Case) -> None:
    words = Words()
    step = probe(words, case["endpoint"]).step(HttpReply(case["status"], b"", location=case["location"]))
    goes_to = None
    # A probe may go on with another question to the same address.
    if isinstance(step, HttpPost) and step.url != case["endpoint"]:
        goes_to = step.url
    assert goes_to == case["goes_to"]
