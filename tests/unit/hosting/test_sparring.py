"""Friendly matches: who gives them out, and what is made of them in the end."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import count
from typing import Any

import pytest

from league.events import Event, MatchDecided, MatchTaken, MoveMade, NumberDrawn, PlayerFaulted, Status
from league.hosting.sparring_host import GUEST_ID, REFEREE_ID, Card, SparringHost, opponent_ids
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
from league.reports.bouts import Bout, Outcome, Timing, bout_of, instructive
from league.reports.coaching import hints, usual_wins

GUEST = Address(GUEST_ID, "http://127.0.0.1:8101/mcp")
REFEREE = "http://127.0.0.1:9001/mcp"
OPPONENT = "http://127.0.0.1:9101/mcp"
RIVAL = "P99"
NOW = 1_800_000_000.0


# --- the host ---------------------------------------------------------------------------------------------------------


class Rig:
    """A host, spoken to by everybody else."""

    def __init__(self, matches: int = 20) -> None:
        endpoints = {REFEREE_ID: REFEREE, RIVAL: OPPONENT}
        card = Card("sparring", "even_odd", GUEST, (RIVAL,), endpoints, matches, first=1001)
        self.host = SparringHost(card, lambda size: bytes(size))
        self._ids = count(1)

    def says(self, message: Message) -> tuple[object, list[Outgoing]]:
        """What the host answers, and what it sends."""
        step = self.host.handle(Letter(next(self._ids), Unsealed(message.type, message)), NOW)
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
        return self.host.undelivered(Undelivered(outgoing.key, GUEST_ID, Failure.BROKEN), NOW)

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
    assert len(rig.host.results) == 1
    assert rig.sent == []


@pytest.mark.parametrize(("match_id", "token", "code"), [("R1M1001", "tok_P01_x", "E012"), ("R1M7", None, "E014")])
def test_reports_of_others_are_refused(match_id: str, token: str | None, code: str) -> None:
    rig = Rig()
    rig.everybody()
    answer = rig.report(match_id, RIVAL, "WIN", token)
    assert isinstance(answer, PeerError)
    assert (answer.code, rig.host.results) == (code, [])


@pytest.mark.parametrize("winner", [RIVAL, None], ids=["its fault", "both at fault"])
def test_two_technical_losses_of_the_guest_in_a_row_end_it(winner: str | None) -> None:
    rig = Rig()
    rig.everybody()
    rig.report("R1M1001", winner, "TECHNICAL_LOSS")
    assert not rig.host.is_over
    rig.report("R1M1002", winner, "TECHNICAL_LOSS")
    assert (rig.host.is_over, rig.host.gave_up, rig.sent) == (True, True, [])


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
        assert not rig.host.is_over
        rig.report(f"R1M{1001 + place}", winner, status)
    assert (rig.host.is_over, rig.host.gave_up) == (True, False)


def test_an_assignment_that_got_lost_is_sent_again() -> None:
    rig = Rig()
    (given,) = rig.told(rig.everybody()[0]).outbox
    (again,) = rig.host.undelivered(Undelivered(given.key, REFEREE_ID, Failure.TIMEOUT), NOW).outbox
    assert announced(again).matches == announced(given).matches


def test_opponents_do_not_take_ids_a_guest_is_likely_to_have() -> None:
    assert opponent_ids(3) == ("P99", "P98", "P97")


# --- one match --------------------------------------------------------------------------------------------------------


def match(*events: Event, winner: str | None = None, status: Status = "WIN") -> list[Event]:
    about: dict[str, Any] = {"at": NOW, "match_id": "R1M1", "attempt": 1}
    taken = MatchTaken(
        **about,
        league_id="sparring",
        round_id=1,
        game_type="even_odd",
        players=(RIVAL, GUEST_ID),
        endpoints=(OPPONENT, GUEST.endpoint),
        records=({}, {}),
        suspended=(False, False),
        move_seconds=30.0,
        seed="00" * 32,
    )
    points = {one: 3 if one == winner else 0 for one in (RIVAL, GUEST_ID)}
    decided = MatchDecided(
        **about, status=status, winner=winner, points=points, reason="because", game_result={}, details={}
    )
    return [taken, *events, decided]


def chose(player_id: str, choice: str) -> Event:
    return MoveMade(at=NOW, match_id="R1M1", attempt=1, player_id=player_id, turn=1, choice=choice)


def faulted(player_id: str, code: str, detail: str) -> Event:
    named: dict[str, Any] = {"match_id": "R1M1", "attempt": 1, "player_id": player_id, "phase": "join", "turn": 0}
    return PlayerFaulted(at=NOW, **named, code=code, detail=detail)


def test_a_match_is_told_from_the_guests_side() -> None:
    drawn = NumberDrawn(at=NOW, match_id="R1M1", attempt=1, number=7)
    events = match(chose(GUEST_ID, "odd"), chose(RIVAL, "even"), drawn, winner=GUEST_ID)
    assert bout_of(events, GUEST_ID, {RIVAL: "Random"}) == Bout(
        "R1M1", "Random", "won", 3, ("odd",), ("even",), 7, None
    )


@pytest.mark.parametrize(
    ("at_fault", "winner", "outcome"),
    [(GUEST_ID, RIVAL, "technical loss"), (RIVAL, GUEST_ID, "technical win")],
)
def test_a_fault_is_held_against_whose_it_is(at_fault: str, winner: str, outcome: Outcome) -> None:
    events = match(faulted(at_fault, "E001", "no GAME_JOIN_ACK"), winner=winner, status="TECHNICAL_LOSS")
    bout = bout_of(events, GUEST_ID, {})
    assert bout.outcome == outcome
    assert (bout.fault is not None) == (at_fault == GUEST_ID)


# --- all matches ------------------------------------------------------------------------------------------------------


def bout(
    outcome: Outcome, match_id: str = "R1M1", choices: tuple[str, ...] = ("even",), fault: str | None = None
) -> Bout:
    return Bout(match_id, "Random", outcome, 0, choices, ("odd",), 3, fault)


def test_the_most_instructive_match_is_the_first_technical_loss_or_the_last_lost_or_the_last() -> None:
    won, lost, again = bout("won", "1"), bout("lost", "2"), bout("lost", "3")
    first, second = bout("technical loss", "4"), bout("technical loss", "5")
    assert instructive([won, first, second, lost]) == first
    assert instructive([lost, again, won]) == again
    assert instructive([bout("drawn"), won]) == won
    assert instructive([]) is None


@pytest.mark.parametrize(("tosses", "usual"), [(0, (0, 0)), (1, (0, 1)), (5, (0, 5)), (6, (1, 5)), (20, (6, 14))])
def test_what_is_usual_for_a_coin(tosses: int, usual: tuple[int, int]) -> None:
    assert usual_wins(tosses) == usual


def test_a_thousand_tosses_are_counted_too() -> None:
    least, most = usual_wins(1000)
    assert (least + most, 460 < least < 475) == (1000, True)


def test_luck_is_not_praised_as_skill() -> None:
    said = " ".join(hints([*[bout("won")] * 4, *[bout("lost")] * 3, bout("drawn")], (), "even_odd"))
    assert "Choices differed in 7 of 8 matches, and of these you won 4" in said
    assert "1 to 6 would be usual for any player: that is chance" in said


def test_what_chance_rarely_does_is_not_called_chance() -> None:
    assert "chance alone rarely does that" in " ".join(hints([bout("lost")] * 12, (), "even_odd"))


def test_too_few_matches_prove_nothing_about_choices() -> None:
    said = " ".join(hints([bout("won")] * 4, (), "even_odd"))
    assert "always chose" not in said
    assert "usual" not in said


def timings() -> Iterator[Timing]:
    yield Timing("GAME_INVITATION", 5.0, 20, 0, 0.1, 0.2, 0.3, 0)
    yield Timing("CHOOSE_PARITY_CALL", 30.0, 20, 0, 1.0, 8.0, 21.5, 3)


def test_slow_answers_are_a_warning() -> None:
    said = list(hints([], tuple(timings()), "even_odd"))
    assert len(said) == 1
    assert said[0].startswith("3 answers to CHOOSE_PARITY_CALL took longer than half the limit of 30 s")


def test_a_player_of_another_league_is_not_taken_for_a_broken_one() -> None:
    refused = bout("technical loss", fault="E009 CONNECTION_ERROR at the invitation: answered with E028: we play in X")
    (said,) = hints([refused], (), "tic_tac_toe")
    assert "--league-id" in said


@pytest.mark.parametrize("makes", [lambda: ("even",), lambda: ("4", "0", "8")], ids=["one choice", "many moves"])
def test_playing_the_same_every_time_is_noticed(makes: Callable[[], tuple[str, ...]]) -> None:
    same = [bout("drawn", choices=makes()) for _ in range(6)]
    other = [*same, bout("drawn", choices=("odd",))]
    assert any("always" in hint for hint in hints(same, (), "tic_tac_toe"))
    assert not any("always" in hint for hint in hints(other, (), "tic_tac_toe"))
