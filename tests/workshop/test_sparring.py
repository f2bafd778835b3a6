"""Friendly matches: how the manager gives them out."""

from __future__ import annotations

import secrets
from itertools import count
from typing import Any

import pytest

from league.events import Status
from league.features.workshop.sparring_manager import GUEST_ID, REFEREE_ID, Fixtures, SparringManager, opponent_ids
from league.machine import Acknowledged, Address, Letter, Outgoing, Ping, Refusal, Step
from league.protocol.errors import PeerError
from league.protocol.message.envelope import Unsealed, seal
from league.protocol.message.messages import (
    LeagueRegisterRequest,
    LeagueRegisterResponse,
    MatchResultAck,
    MatchResultReport,
    Message,
    RefereeRegisterRequest,
    RefereeRegisterResponse,
    RoundAnnouncement,
)
from league.protocol.message.parts import PlayerMeta, RefereeMeta, Result, ResultDetails

GUEST = Address(GUEST_ID, "http://127.0.0.1:8101/mcp")
REFEREE = "http://127.0.0.1:9001/mcp"
OPPONENT = "http://127.0.0.1:9101/mcp"
RIVAL = "P99"
NOW = 1_800_000_000.0


# --- the manager ------------------------------------------------------------------------------------------------------


class Rig:
    """A manager, spoken to by everybody else."""

    def __init__(self, matches: int = 20) -> None:
        fixtures = Fixtures("sparring", "even_odd", GUEST, (RIVAL,), matches, first=1001)
        self.manager = SparringManager(fixtures, (REFEREE, OPPONENT), secrets.token_bytes)
        self._ids = count(1)
        self.manager.resume(NOW)

    def says(self, message: Message) -> tuple[object, list[Outgoing]]:
        """What the manager answers, and what it sends but pings."""
        step = self.manager.handle(Letter(next(self._ids), Unsealed(message.type, message)), NOW)
        return step.replies[0].content, without_pings(step)

    def referee(self, endpoint: str = REFEREE) -> tuple[object, list[Outgoing]]:
        meta = RefereeMeta(
            display_name="R",
            version="1.0.0",
            game_types=["even_odd"],
            contact_endpoint=endpoint,
            token_scheme="derived",
        )
        return self.says(RefereeRegisterRequest(**seal("referee:R", NOW, "conv-1"), referee_meta=meta))

    def opponent(self) -> tuple[object, list[Outgoing]]:
        meta = PlayerMeta(display_name="O", version="1.0.0", game_types=["even_odd"], contact_endpoint=OPPONENT)
        return self.says(LeagueRegisterRequest(**seal(f"player:{RIVAL}", NOW, "conv-1"), player_meta=meta))

    def everybody(self) -> list[Outgoing]:
        """Both are registered; what is sent then."""
        answer, _ = self.referee()
        assert isinstance(answer, RefereeRegisterResponse)
        self.token = answer.auth_token
        return self.opponent()[1]

    def told(self, outgoing: Outgoing) -> list[Outgoing]:
        """The players took the announcement; what is sent then."""
        sent: list[Outgoing] = []
        for address in outgoing.to:
            answer = Letter(next(self._ids), Acknowledged(), answers=outgoing.key, peer=address.agent_id)
            sent += without_pings(self.manager.handle(answer, NOW))
        return sent

    def given(self, announcement: Outgoing) -> Outgoing:
        """What the referee gets when the players were told."""
        (assignment,) = [one for one in self.told(announcement) if one.to[0].agent_id == REFEREE_ID]
        return assignment

    def report(self, match_id: str, winner: str | None, status: Status, token: str | None = None) -> object:
        score = {GUEST_ID: 3 if winner == GUEST_ID else 0, RIVAL: 3 if winner == RIVAL else 0}
        choices: dict[str, str | None] = {GUEST_ID: None, RIVAL: None}
        number = None
        if status != "TECHNICAL_LOSS":
            choices = {player: "odd" if player == winner else "even" for player in choices}
            number = 7
        if status == "DRAW":
            score = {GUEST_ID: 1, RIVAL: 1}
        details = ResultDetails(drawn_number=number, choices=choices, status=status)
        envelope = seal(f"referee:{REFEREE_ID}", NOW, "conv-2", token or self.token)
        result = Result(winner=winner, score=score, details=details)
        round_id = int(match_id[1:].partition("M")[0])
        about: dict[str, Any] = {"league_id": "sparring", "match_id": match_id, "game_type": "even_odd"}
        report = MatchResultReport(**envelope, **about, round_id=round_id, result=result, attempt=1)
        answer, self.sent = self.says(report)
        return answer

    def play(self, match_id: str, winner: str | None, status: Status) -> None:
        """The match is announced, given out, and reported."""
        (announcement,) = self.sent
        self.given(announcement)
        assert isinstance(self.report(match_id, winner, status), MatchResultAck)


def without_pings(step: Step) -> list[Outgoing]:
    return [one for one in step.outbox if not isinstance(one.message, Ping)]


def announced(outgoing: Outgoing) -> RoundAnnouncement:
    assert isinstance(outgoing.message, RoundAnnouncement)
    return outgoing.message


def test_the_players_are_told_first_and_then_the_referee() -> None:
    rig = Rig()
    (announcement,) = rig.everybody()
    assert {address.endpoint for address in announcement.to} == {GUEST.endpoint, OPPONENT}
    given = rig.given(announcement)
    assert given.to[0].endpoint == REFEREE
    (match,) = announced(given).matches
    assert (match.match_id, match.player_A_endpoint, match.player_B_endpoint) == (
        "R1M1001",
        GUEST.endpoint,
        OPPONENT,
    )


def test_the_guest_has_no_token_that_could_be_checked() -> None:
    rig = Rig()
    (announcement,) = rig.everybody()
    assert {address.agent_id: address.token is not None for address in announcement.to} == {
        GUEST_ID: False,
        RIVAL: True,
    }
    (match,) = announced(rig.given(announcement)).matches
    assert (match.player_A_token, match.player_A_answers) == (None, [])
    assert match.player_B_token
    assert match.player_B_answers


def test_the_announcement_holds_no_token_and_no_address_but_the_referees() -> None:
    rig = Rig()
    (announcement,) = rig.everybody()
    (match,) = announced(announcement).matches
    assert (match.player_A_token, match.player_B_token, match.player_A_endpoint) == (None, None, None)
    assert match.referee_endpoint == REFEREE


def test_only_our_own_referee_and_opponents_can_register() -> None:
    rig = Rig()
    answer, sent = rig.referee("http://127.0.0.1:9999/mcp")
    assert isinstance(answer, PeerError)
    assert (answer.code, sent) == ("E019", [])
    answer, sent = rig.opponent()
    assert isinstance(answer, LeagueRegisterResponse)
    assert (answer.player_id, sent) == (RIVAL, [])  # nothing begins without a referee


def test_a_report_leads_to_the_next_match_with_the_sides_changed() -> None:
    rig = Rig()
    rig.sent = rig.everybody()
    rig.play("R1M1001", GUEST_ID, "WIN")
    (announcement,) = rig.sent
    (next_match,) = announced(announcement).matches
    assert (next_match.match_id, next_match.player_A_id, next_match.player_B_id) == ("R2M1002", RIVAL, GUEST_ID)
    (match,) = announced(rig.given(announcement)).matches
    assert match.player_B_standings is not None
    assert (match.player_B_standings.wins, match.player_B_standings.points) == (1, 3)


def test_the_same_report_twice_changes_nothing_more() -> None:
    rig = Rig()
    rig.sent = rig.everybody()
    rig.play("R1M1001", None, "DRAW")
    answer = rig.report("R1M1001", None, "DRAW")
    assert isinstance(answer, PeerError)
    assert answer.code == "E017"
    assert rig.manager.completed == ("R1M1001",)
    assert rig.sent == []


@pytest.mark.parametrize(("match_id", "token", "code"), [("R1M1001", "tok_P01_x", "E012"), ("R1M7", None, "E014")])
def test_reports_of_others_are_refused(match_id: str, token: str | None, code: str) -> None:
    rig = Rig()
    rig.everybody()
    answer = rig.report(match_id, RIVAL, "WIN", token)
    assert isinstance(answer, PeerError)
    assert (answer.code, rig.manager.completed) == (code, ())


@pytest.mark.parametrize("winner", [RIVAL, None], ids=["its fault", "both at fault"])
def test_two_technical_losses_of_the_guest_in_a_row_end_it(winner: str | None) -> None:
    rig = Rig()
    rig.sent = rig.everybody()
    rig.play("R1M1001", winner, "TECHNICAL_LOSS")
    assert not rig.manager.is_over
    rig.play("R2M1002", winner, "TECHNICAL_LOSS")
    assert (rig.manager.is_over, rig.manager.gave_up, rig.sent) == (True, True, [])


def test_neither_a_faulty_opponent_nor_a_loss_in_between_ends_it() -> None:
    rig = Rig(matches=5)
    rig.sent = rig.everybody()
    ends: list[tuple[str | None, Status]] = [
        (GUEST_ID, "TECHNICAL_LOSS"),
        (GUEST_ID, "TECHNICAL_LOSS"),
        (RIVAL, "TECHNICAL_LOSS"),
        (RIVAL, "WIN"),
        (RIVAL, "TECHNICAL_LOSS"),
    ]
    for place, (winner, status) in enumerate(ends):
        assert not rig.manager.is_over
        rig.play(f"R{place + 1}M{1001 + place}", winner, status)
    assert (rig.manager.is_over, rig.manager.gave_up) == (True, False)


def test_nobody_hears_of_a_table_or_of_the_end() -> None:
    rig = Rig(matches=1)
    rig.sent = rig.everybody()
    rig.play("R1M1001", GUEST_ID, "WIN")
    assert rig.sent == []
    later = rig.manager.tick(NOW + 60.0)
    assert without_pings(later) == []
    assert rig.manager.state == "RUNNING_LEAGUE"


def test_a_referee_that_refuses_a_match_ends_it() -> None:
    rig = Rig()
    given = rig.given(rig.everybody()[0])
    refusal = Refusal("E027", "no such game")
    rig.manager.handle(Letter(99, refusal, answers=given.key, peer=REFEREE_ID), NOW)
    assert (rig.manager.is_over, rig.manager.refusal) == (True, refusal)


def test_opponents_do_not_take_ids_a_guest_is_likely_to_have() -> None:
    assert opponent_ids(3) == ("P99", "P98", "P97")


def test_matches_of_an_opponent_are_counted_by_their_ids_alone() -> None:
    fixtures = Fixtures("sparring", "even_odd", GUEST, ("P99", "P98"), 6, first=1001)
    played = [(fixtures.opponent(place), fixtures.meetings_before(fixtures.match_id(place))) for place in range(4)]
    assert played == [("P99", 0), ("P98", 0), ("P99", 1), ("P98", 1)]
