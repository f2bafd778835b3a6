"""What a long match rests on: its receipts and its talk do not fit into the report, and its moves name no players."""

from __future__ import annotations

from copy import deepcopy
from random import Random
from typing import Any

import pytest

from league import events as e
from league.games.evidence import PlayedMatch, receipts_digest
from league.games.moves import reported_choices
from league.machine import MatchRecord, RecordRequest
from league.manager.scoring import RECORD_PAUSE_S
from league.protocol import tokens
from league.protocol.receipts import receipt_key
from league.reports import views
from league_games.cop_and_thief import GAME
from tests.support import signed_matches
from tests.support.managed import LEAGUE, Managed, Object, Sent
from tests.support.signed_matches import SignedMatch

PLAYERS = ("P01", "P02")
DECLARED: Object = {"receipts": "receipt.v1", "game_types": [GAME.name]}


class LongMatch:
    """A league with one match, of which the manager knows the digest of the receipts."""

    def __init__(self) -> None:
        self.league = Managed(players=2, game_type=GAME.name)
        self.league.register("referee", 1, game_types=[GAME.name])
        for number in (1, 2):
            self.league.register("player", number, **DECLARED)
        self.league.answer_pings()
        self.league.answer_all()
        keys = {player: tokens.deriver(self.league.tokens[player]) for player in PLAYERS}
        players = self.league.manager.ledger.matches["R1M1"].players
        self.played: SignedMatch = signed_matches.play(
            GAME,
            PlayedMatch(LEAGUE, "R1M1", 1, players),
            {player: receipt_key(key, player, LEAGUE, "R1M1", 1) for player, key in keys.items()},
            Random(1),
        )

    def report(self, *, has_talk: bool = False, **changed: Any) -> LongMatch:
        """Report as our referee would: without the talk, with a digest for the receipts, and without names."""
        result = deepcopy(self.played.result)
        details = result["details"]
        details["receipts_digest"] = receipts_digest(details.pop("receipts"))
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

    def protest(self, turn: int, choice: str) -> LongMatch:
        """P01 shows a receipt for its choice in this turn."""
        details = self.played.details
        claim = {"turn": turn, "choice": choice, "receipt": details["receipts"]["P01"][turn - 1]}
        self.league.query(
            "P01",
            "PROTEST",
            match_id="R1M1",
            attempt=1,
            why=f"asked again for turn {turn}",
            receipts=[claim],
            draw_commitment=details["draw_commitment"],
        )
        return self

    @property
    def evidence(self) -> str:
        match = views.match(self.league.manager, "R1M1")
        assert match is not None
        evidence: str = match["evidence"]
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


def test_a_long_match_is_proven_as_soon_as_its_record_comes() -> None:
    match = LongMatch().report()
    assert match.evidence == "by_referee"
    match.hand_out()
    assert match.evidence == "proven"
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
    assert match.hand_out().evidence == "proven"


@pytest.mark.parametrize("wrong", ["nothing", "a missing receipt", "another receipt", "receipts of another match"])
def test_a_record_that_is_not_what_the_report_promised_proves_nothing(wrong: str) -> None:
    match = LongMatch().report()
    record = deepcopy(match.played.record)
    if wrong == "nothing":
        record = []
    elif wrong == "a missing receipt":
        del record[5]["receipt"]
    elif wrong == "another receipt":
        record[5]["receipt"] = record[6]["receipt"]
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


def test_a_receipt_that_agrees_with_a_long_match_makes_no_dispute() -> None:
    """Its moves do not name the players: only the rules tell whose choice was which."""
    match = LongMatch().report(has_talk=True).hand_out()
    choice = match.played.details["moves"][2]["P01"]
    match.protest(3, choice)
    (protest,) = match.league.of(e.ProtestReceived)
    assert protest.signed == {3: choice}
    assert match.evidence == "proven"
