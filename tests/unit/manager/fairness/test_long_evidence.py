"""What a long match rests on: its talk does not fit into the report, and its moves name no players."""

from __future__ import annotations

from copy import deepcopy
from random import Random
from typing import Any

import pytest

from league import events as e
from league.features.games.cop_and_thief import GAME
from league.games.evidence import AssignedMatch
from league.games.moves import reported_choices
from league.machine import MatchRecord, RecordRequest
from league.manager.season.scoring import RECORD_PAUSE_S
from league.reading import views
from tests.support import signed_matches
from tests.support.managed import LEAGUE, Managed, Object, Sent
from tests.support.player_keys import key_of
from tests.support.signed_matches import SignedMatch

PLAYERS = ("P01", "P02")


class LongMatch:
    """A league with one match, whose talk is only in the record."""

    def __init__(self) -> None:
        self.league = Managed(players=2, game_type=GAME.name)
        self.league.register("referee", 1, game_types=[GAME.name], draw_scheme="shared.v2")
        for number in (1, 2):
            key = key_of(f"P{number:02}").public
            self.league.register("player", number, public_key=key, game_types=[GAME.name])
        self.league.answer_pings()
        self.league.answer_all()
        match = self.league.manager.ledger.matches["R1M1"]
        promise = match.current.share_commitment
        key = self.league.manager.ledger.manager_key
        self.played: SignedMatch = signed_matches.play(
            GAME,
            AssignedMatch(LEAGUE, "R1M1", 1, match.players, promise, manager_key=key),
            Random(1),
            bytes.fromhex(self.league.secrets["share/R1M1/1"]),
        )

    def report(self, *, has_talk: bool = False, **changed: Any) -> LongMatch:
        """Report as our referee would: without the talk, and without names."""
        result = deepcopy(self.played.result)
        details = result["details"]
        if not has_talk:
            del details["talk"]
        details["moves"] = [list(step.values()) for step in details["moves"]]
        details |= changed
        self.league.report("R1M1", result=result)
        return self

    @property
    def requests(self) -> list[Sent]:
        """The open requests for the record."""
        return [call for call in self.league.open.values() if isinstance(call.message, RecordRequest)]

    def hand_out(self, record: list[Object] | None = None) -> LongMatch:
        (request,) = self.requests
        events = self.played.record if record is None else record
        self.league.answer(request, MatchRecord("R1M1", 1, tuple(events)))
        return self

    @property
    def evidence(self) -> str | None:
        match = views.match(self.league.manager, "R1M1")
        assert match is not None
        evidence: str | None = match["evidence"]
        return evidence


def test_the_moves_of_a_long_match_are_read_without_the_names_of_players() -> None:
    played = LongMatch().played
    named = played.details["moves"]
    bare = {**played.details, "moves": [list(step.values()) for step in named]}
    assert reported_choices(GAME.rules, bare, PLAYERS) == reported_choices(GAME.rules, played.details, PLAYERS) == named
    # A step that cannot have been ends what can be read.
    bare["moves"][3] = ["up", "down"]
    assert reported_choices(GAME.rules, bare, PLAYERS) == named[:3]
    shapes: tuple[object, ...] = (None, 7, [7], [None], {})
    for moves in shapes:
        assert reported_choices(GAME.rules, {"moves": moves}, PLAYERS) == []


def test_a_round_waits_for_the_record_of_a_long_match() -> None:
    match = LongMatch().report()
    assert (match.evidence, match.league.of(e.RoundFinished)) == (None, [])
    match.hand_out()
    assert match.evidence == "proven"
    assert len(match.league.of(e.RoundFinished)) == len(match.league.of(e.ResultJudged)) == 1
    assert match.requests == []


def test_a_manager_that_was_killed_before_the_record_came_asks_for_it_again() -> None:
    match = LongMatch().report()
    match.league.restart()
    assert match.hand_out().evidence == "proven"
    match.league.restart()
    assert match.requests == []


def test_a_referee_that_did_not_hand_out_its_record_is_asked_again_while_the_league_is_played() -> None:
    match = LongMatch()
    # As long as another match is open, the league goes on.
    match.league.manager.ledger.rounds[0].undecided += 1
    match.report()
    while match.requests:
        match.league.fail(match.requests[0])
        match.league.wait(5)
    match.league.wait(RECORD_PAUSE_S)
    assert match.hand_out().evidence is None, "its round is not over"
    match.league.manager.ledger.rounds[0].undecided -= 1
    match.league.query("P01", "GET_STATUS")
    assert match.evidence == "proven"


@pytest.mark.parametrize("wrong", ["nothing", "a missing line", "another line", "lines of other turns"])
def test_a_record_that_is_not_what_the_report_promised_proves_nothing(wrong: str) -> None:
    match = LongMatch().report()
    record = deepcopy(match.played.record)
    if wrong == "nothing":
        record = []
    elif wrong == "a missing line":
        del record[5]["talk"]
    elif wrong == "another line":
        record[5]["talk"] = "something else"
    else:
        record = [{**row, "turn": row["turn"] + 1_000_000} for row in record]
    assert match.hand_out(record).evidence == "by_referee"


def test_talk_that_the_players_were_not_shown_proves_nothing() -> None:
    match = LongMatch().report()
    record = [{**row, "talk": "I never said this"} for row in match.played.record]
    assert match.hand_out(record).evidence == "by_referee"


def test_a_choice_that_was_swapped_in_a_long_match_is_not_proven() -> None:
    match = LongMatch()
    steps = [list(step.values()) for step in match.played.details["moves"]]
    # Both steps are legal from everywhere in the middle; somewhere the swap changes nothing else.
    for place, step in enumerate(steps):
        moves = [*steps[:place], step[::-1], *steps[place + 1 :]]
        swapped = LongMatch().report(moves=moves)
        if step[0] != step[1] and swapped.league.of(e.ResultAccepted):
            assert swapped.hand_out().evidence == "by_referee"
            return
    raise AssertionError("choose another seed: no swap is legal")
