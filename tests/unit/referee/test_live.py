"""News of watched matches: one call per public step, and nothing that is not public."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

import msgspec
import pytest

from league import letters
from league.games import registry
from league.games.tic_tac_toe import GAME as TIC_TAC_TOE
from league.letters import Speaker
from league.machine import Address, LiveMatch, MatchNews, Ping, Pong, Watch
from league.protocol.message.envelope import STRICT
from league.protocol.message.exchanges import Role
from league.protocol.wire.jsonrpc import BadRequestError
from league.referee.live import WATCHED_S
from tests.support.referee_rig import Rig, announced, of_manager

TTT = announced(game_type="tic_tac_toe")
RPS = announced(game_type="rock_paper_scissors")
CELLS = (("P01", "0"), ("P02", "3"), ("P01", "1"), ("P02", "4"), ("P01", "2"))


def watched(rig: Rig, *match_ids: str, token: str | None = None) -> Rig:
    answer = rig.request(Watch(match_ids or ("R1M1",), token or of_manager()))
    assert isinstance(answer, Pong)
    assert answer.is_live
    rig.tick()
    return rig


def news(rig: Rig, *, answered: bool = True) -> list[LiveMatch]:
    """All news so far, which the manager takes."""
    rig.tick()
    while answered and (calls := [one for one in rig.under_way.values() if isinstance(one.message, MatchNews)]):
        for one in calls:
            rig.answer(one)
            rig.tick()
    return [one.message.live for one in rig.sent if isinstance(one.message, MatchNews)]


def test_each_public_step_is_told_once() -> None:
    rig = watched(Rig().given(TTT))
    news(rig)
    rig.joins("P01")
    news(rig)
    rig.joins("P02")
    news(rig)
    for player, cell in CELLS:
        rig.chooses(player, cell)
        news(rig)
    told = news(rig)
    assert [one.joined for one in told[:3]] == [(), ("P01",), ("P01", "P02")]
    assert [len(one.turns) for one in told] == [0, 0, 0, 1, 2, 3, 4, 5]
    assert told[-1].turns == tuple({player: cell} for player, cell in CELLS)
    assert not any(one.answered for one in told)


def test_a_choice_is_secret_until_both_are_in() -> None:
    rig = watched(Rig().given(RPS).joins("P01", "P02").chooses("P01", "rock"))
    (first,) = news(rig)
    assert (first.answered, first.turns) == (("P01",), ())
    assert b"rock" not in msgspec.json.encode(first)
    rig.chooses("P02", "paper")
    assert news(rig)[-1].turns == ({"P01": "rock", "P02": "paper"},)


def test_a_game_that_hides_something_shows_no_move_and_no_draw(monkeypatch: pytest.MonkeyPatch) -> None:
    hidden = msgspec.structs.replace(TIC_TAC_TOE, public=False)
    monkeypatch.setattr(registry, "find", lambda _: hidden)
    rig = watched(Rig().given(TTT).joins("P01", "P02").chooses("P01", "8"))
    (live,) = news(rig)
    # Whose turn it is may be a secret, too.
    assert live == LiveMatch(joined=("P01", "P02"))


def test_even_odd_tells_who_has_answered_and_nothing_more() -> None:
    rig = watched(Rig().given().joins("P01", "P02").chooses("P02", "odd"))
    (live,) = news(rig)
    assert live == LiveMatch(joined=("P01", "P02"), answered=("P02",))


def test_a_card_is_secret_until_a_showdown() -> None:
    rig = Rig(game_types=("kuhn_poker",)).given(announced(game_type="kuhn_poker"))
    watched(rig).joins("P01", "P02").chooses("P01", "check").chooses("P02", "bet").chooses("P01", "fold")
    (live,) = news(rig)[-1:]
    assert (live.turns, live.draws, live.clock) == ((), (), {}), "a clock would tell who has moved"
    assert live.board is not None
    assert [hand["faces"] for hand in live.board["hands"]] == [("",), ("",)]
    assert set(live.board) == {"hands", "text"}
    assert live.board["text"] == "Hand 2 of 10"


def test_only_the_newest_is_told_after_a_slow_call() -> None:
    rig = watched(Rig().given(TTT).joins("P01", "P02"))
    for player, cell in CELLS[:4]:
        rig.chooses(player, cell)
        rig.tick()
    assert len(news(rig, answered=False)) == 1
    assert [len(one.turns) for one in news(rig)] == [0, 4]


def test_who_is_not_the_manager_has_nothing_told() -> None:
    rig = watched(Rig().given(TTT), token="tok_league_manager_x").joins("P01", "P02")
    rig.request(Ping())
    assert news(rig) == []


def test_a_match_that_is_named_no_more_is_told_no_more() -> None:
    rig = watched(Rig().given(TTT)).joins("P01", "P02")
    before = len(news(rig))
    watched(rig, "R1M2").chooses("P01", "0")
    assert len(news(rig)) == before
    watched(rig).wait(WATCHED_S)
    after = len(news(rig))
    rig.chooses("P02", "1")
    assert len(news(rig)) == after == before + 1


def test_a_manager_that_does_not_answer_changes_nothing() -> None:
    rig = watched(Rig().given(TTT)).joins("P01", "P02")
    for player, cell in CELLS:
        for one in [call for call in rig.under_way.values() if isinstance(call.message, MatchNews)]:
            rig.fail(one)
        rig.chooses(player, cell)
        rig.tick()
    assert rig.decided.winner == "P01"


def test_news_are_in_no_journal() -> None:
    seen = watched(Rig().given(TTT)).joins("P01", "P02").chooses("P01", "0")
    news(seen)
    unseen = Rig().given(TTT).joins("P01", "P02").chooses("P01", "0")
    assert seen.journal == unseen.journal


@contextmanager
def functions_run() -> Iterator[set[str]]:
    """The files of all Python functions that run."""
    files: set[str] = set()

    def note(frame: FrameType, event: str, _: Any) -> None:
        if event == "call":
            files.add(frame.f_code.co_filename)

    sys.setprofile(note)
    try:
        yield files
    finally:
        sys.setprofile(None)


@pytest.mark.parametrize(("watch", "runs"), [(lambda rig: rig, False), (watched, True)])
def test_a_match_that_nobody_watches_runs_no_instruction_of_it(watch: Callable[[Rig], Rig], runs: bool) -> None:
    rig = watch(Rig().given(TTT))
    with functions_run() as files:
        rig.joins("P01", "P02")
        for player, cell in CELLS:
            rig.chooses(player, cell)
    assert any(file.endswith("referee/live.py") for file in files) is runs


def test_both_travel_as_json_rpc() -> None:
    to = Address("REF01", "http://x", "tok_league_manager_x")
    referee = Speaker(Role.REFEREE, "referee:REF01", STRICT)
    raw = letters.write_call(7, Watch(("R1M1",)), b"", to)
    assert letters.read_request(raw, referee).content == Watch(("R1M1",), "tok_league_manager_x")
    live = LiveMatch(("P01", "P02"), ("P01",), ({"P01": "3"}, {"P02": "4"}), (2,), {"P01": 1.5}, {"text": "x"})
    manager = Speaker(Role.MANAGER, "league_manager", STRICT)
    raw = letters.write_call(7, MatchNews("R1M1", 2, live), b"", to)
    assert letters.read_request(raw, manager).content == MatchNews("R1M1", 2, live, "tok_league_manager_x")
    with pytest.raises(BadRequestError):
        letters.read_request(raw.replace(b'["P01","P02"]', b"7"), manager)


def test_a_pong_declares_it() -> None:
    held = Pong((("R1M1", 1),), is_live=True)
    rig = Rig().given()
    assert rig.request(Ping()) == held
    raw = b'{"jsonrpc":"2.0","id":1,"result":{"matches":[{"match_id":"R1M1","attempt":1}],"live":"live.v1"}}'
    assert letters.read_answer(raw, Ping(), STRICT) == held
    assert letters.read_answer(raw.replace(b"live.v1", b"live.v2"), Ping(), STRICT) == Pong(held.matches)
