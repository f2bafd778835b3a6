"""Friendly matches: who gives them out, and what is made of them in the end."""

from __future__ import annotations

from itertools import count
from typing import Any

import pytest

from league.events import Status
from league.machine import Address, Failure, Letter, Outgoing, Step, Undelivered
from league.protocol.envelope import Unsealed, seal
from league.protocol.errors import PeerError
from league.protocol.messages import (
    LeagueRegisterRequest,
    LeagueRegisterResponse,
    MatchResultAck,
    MatchResultReport,
    Message,
    RefereeRegisterRequest,
    RefereeRegisterResponse,
    RoundAnnouncement,
)
from league.protocol.parts import PlayerMeta, RefereeMeta, Result, ResultDetails
from league_workshop.sparring_manager import GUEST_ID, REFEREE_ID, Fixtures, SparringManager, opponent_ids

GUEST = Address(GUEST_ID, "http://127.0.0.1:8101/mcp")
REFEREE = "http://127.0.0.1:9001/mcp"
OPPONENT = "http://127.0.0.1:9101/mcp"
RIVAL = "P99"
NOW = 1_800_000_000.0


# --- the manager ------------------------------------------------------------------------------------------------------


class Rig:
    """A manager, spoken to by everybody else."""

    def __init__(self, matches: int = 20) -> None:
        endpoints = {REFEREE_ID: REFEREE, RIVAL: OPPONENT}
        fixtures = Fixtures("sparring", "even_odd", GUEST, (RIVAL,), matches, first=1001)
        self.manager = SparringManager(fixtures, endpoints, lambda size: bytes(size))
        self._ids = count(1)

    def says(self, message: Message) -> tuple[object, list[Outgoing]]:
        """What the manager answers, and what it sends."""
        step = self.manager.handle(Letter(next(self._ids), Unsealed(message.type, message)), NOW)
        return step.replies[0].content, step.outbox

    def referee(self, endpoint: str = REFEREE) -> tuple[object, list[Outgoing]]:
        meta = RefereeMeta(display_name="R", version="1.0.0", game_types=["even_odd"], contact_endpoint=endpoint)
        return self.says(RefereeRegisterRequest(**seal("referee:R", NOW, "conv-1"), referee_meta=meta))

    def opponent(self) -> tuple[object, list[Outgoing]]:
        meta = PlayerMeta(display_name="O", version="1.0.0", game_types=["even_odd"], contact_endpoint=OPPONENT)
        return self.says(LeagueRegisterRequest(**seal("player:O", NOW, "conv-1"), player_meta=meta))

    def everybody(self) -> list[Outgoing]:
        """Both are registered; what is sent then."""
        answer, _ = self.referee()
        assert isinstance(answer, RefereeRegisterResponse)
        self.token = answer.auth_token
        return self.opponent()[1]

    def told(self, outgoing: Outgoing) -> Step:
        """The guest took the announcement, in whatever way."""
        return self.manager.undelivered(Undelivered(outgoing.key, GUEST_ID, Failure.BROKEN), NOW)

    def report(self, match_id: str, winner: str | None, status: Status, token: str | None = None) -> object:
        score = {GUEST_ID: 3 if winner == GUEST_ID else 0, RIVAL: 3 if winner == RIVAL else 0}
        details = ResultDetails(drawn_number=None, choices={GUEST_ID: None, RIVAL: None}, status=status)
        envelope = seal(f"referee:{REFEREE_ID}", NOW, "conv-2", token or self.token)
        result = Result(winner=winner, score=score, details=details)
        about: dict[str, Any] = {"league_id": "sparring", "round_id": 1, "match_id": match_id, "game_type": "even_odd"}
        answer, self.sent = self.says(MatchResultReport(**envelope, **about, result=result, attempt=1))
        return answer


def announced(outgoing: Outgoing) -> RoundAnnouncement:
    assert isinstance(outgoing.message, RoundAnnouncement)
    return outgoing.message


def test_the_guest_is_told_first_and_then_the_referee() -> None:
    rig = Rig()
    (told,) = rig.everybody()
    assert told.to == (GUEST,)
    (given,) = rig.told(told).outbox
    assert (given.to[0].agent_id, given.to[0].endpoint) == (REFEREE_ID, REFEREE)
    (match,) = announced(given).matches
    assert (match.match_id, match.player_A_endpoint, match.player_B_endpoint) == (
        "R1M1001",
        GUEST.endpoint,
        OPPONENT,
    )


def test_what_the_guest_is_told_holds_no_token_and_no_address_but_the_referees() -> None:
    rig = Rig()
    (told,) = rig.everybody()
    (match,) = announced(told).matches
    assert (match.player_A_token, match.player_B_token, match.player_A_endpoint) == (None, None, None)
    assert match.referee_endpoint == REFEREE


def test_only_our_own_referee_and_opponents_can_register() -> None:
    rig = Rig()
    answer, sent = rig.referee("http://127.0.0.1:9999/mcp")
    assert isinstance(answer, PeerError)
    assert (answer.code, sent) == ("E019", [])
    answer, _ = rig.referee(OPPONENT)
    assert isinstance(answer, PeerError)
    answer, sent = rig.opponent()
    assert isinstance(answer, LeagueRegisterResponse)
    assert (answer.player_id, sent) == (RIVAL, [])  # nothing begins without a referee


def test_a_report_leads_to_the_next_match_with_the_sides_changed() -> None:
    rig = Rig()
    rig.everybody()
    assert isinstance(rig.report("R1M1001", GUEST_ID, "WIN"), MatchResultAck)
    (next_one,) = announced(rig.sent[0]).matches
    assert (next_one.match_id, next_one.player_A_id, next_one.player_B_id) == ("R1M1002", RIVAL, GUEST_ID)
    (given,) = rig.told(rig.sent[0]).outbox
    (match,) = announced(given).matches
    assert match.player_B_standings is not None
    assert (match.player_B_standings.wins, match.player_B_standings.points) == (1, 3)


def test_the_same_report_twice_changes_nothing_more() -> None:
    rig = Rig()
    rig.everybody()
    for _ in range(2):
        assert isinstance(rig.report("R1M1001", None, "DRAW"), MatchResultAck)
    assert len(rig.manager.results) == 1
    assert rig.sent == []


@pytest.mark.parametrize(("match_id", "token", "code"), [("R1M1001", "tok_P01_x", "E012"), ("R1M7", None, "E014")])
def test_reports_of_others_are_refused(match_id: str, token: str | None, code: str) -> None:
    rig = Rig()
    rig.everybody()
    answer = rig.report(match_id, RIVAL, "WIN", token)
    assert isinstance(answer, PeerError)
    assert (answer.code, rig.manager.results) == (code, [])


@pytest.mark.parametrize("winner", [RIVAL, None], ids=["its fault", "both at fault"])
def test_two_technical_losses_of_the_guest_in_a_row_end_it(winner: str | None) -> None:
    rig = Rig()
    rig.everybody()
    rig.report("R1M1001", winner, "TECHNICAL_LOSS")
    assert not rig.manager.is_over
    rig.report("R1M1002", winner, "TECHNICAL_LOSS")
    assert (rig.manager.is_over, rig.manager.gave_up, rig.sent) == (True, True, [])


def test_neither_a_faulty_opponent_nor_a_loss_in_between_ends_it() -> None:
    rig = Rig(matches=5)
    rig.everybody()
    ends: list[tuple[str | None, Status]] = [
        (GUEST_ID, "TECHNICAL_LOSS"),
        (GUEST_ID, "TECHNICAL_LOSS"),
        (RIVAL, "TECHNICAL_LOSS"),
        (RIVAL, "WIN"),
        (RIVAL, "TECHNICAL_LOSS"),
    ]
    for place, (winner, status) in enumerate(ends):
        assert not rig.manager.is_over
        rig.report(f"R1M{1001 + place}", winner, status)
    assert (rig.manager.is_over, rig.manager.gave_up) == (True, False)


def test_an_assignment_that_got_lost_is_sent_again() -> None:
    rig = Rig()
    (given,) = rig.told(rig.everybody()[0]).outbox
    (again,) = rig.manager.undelivered(Undelivered(given.key, REFEREE_ID, Failure.TIMEOUT), NOW).outbox
    assert announced(again).matches == announced(given).matches


def test_opponents_do_not_take_ids_a_guest_is_likely_to_have() -> None:
    assert opponent_ids(3) == ("P99", "P98", "P97")


def test_matches_of_an_opponent_are_counted_by_their_ids_alone() -> None:
    fixtures = Fixtures("sparring", "even_odd", GUEST, ("P99", "P98"), 6, first=1001)
    played = [(fixtures.opponent(place), fixtures.meetings_before(fixtures.match_id(place))) for place in range(4)]
    assert played == [("P99", 0), ("P98", 0), ("P99", 1), ("P98", 1)]
