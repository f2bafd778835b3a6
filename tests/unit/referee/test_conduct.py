"""Matches of games with several turns, one player at a time or both at once, and with chance in between."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import pytest

from league import events as e
from league.games import draw, registry
from league.games.contract import CHANCE, NOBODY, TURN, BaseRules, Game, Mover, Outcome, Seat, require_legal, tie, win
from league.games.moves import MoveWire
from league.protocol.message.messages import GameError, GameMoveCall, GameOver, MatchResultReport
from tests.support.referee_rig import LEAGUE, Rig, announced, plain

RPS = announced(game_type="rock_paper_scissors")
TTT = announced(game_type="tic_tac_toe")


def requests(rig: Rig, player: str) -> list[dict[str, object]]:
    return [plain(one)["move_request"] for one in rig.said(GameMoveCall, player)]


# --- both at once, several turns --------------------------------------------------------------------------------------


def test_rock_paper_scissors_asks_both_at_once_for_each_throw_and_numbers_the_turns() -> None:
    rig = Rig().given(RPS).joins("P01", "P02")
    (first,) = rig.said(GameMoveCall, "P01")
    assert plain(first)["move_request"] == {
        "move_type": "throw",
        "valid_options": ["rock", "paper", "scissors"],
        "context": {"best_of": 3, "throws": [], "won": {"you": 0, "opponent": 0}, "turn": 1},
    }
    assert first.deadline == "2025-06-15T15:07:10Z"
    rig.wait(2).chooses("P01", "rock").chooses("P02", "scissors")
    rig.wait(2).chooses("P02", "rock").chooses("P01", "rock")
    rig.wait(2).chooses("P01", "paper").chooses("P02", "scissors")
    assert rig.times("GAME_MOVE_CALL", "P01") == rig.times("GAME_MOVE_CALL", "P02") == [0, 2, 4]
    contexts = [one["context"] for one in requests(rig, "P02")]
    assert [one["turn"] for one in contexts if isinstance(one, dict)] == [1, 2, 3]
    assert (rig.decided.status, rig.decided.winner) == ("DRAW", None)
    moves = [{"P01": "rock", "P02": "scissors"}, {"P01": "rock", "P02": "rock"}, {"P01": "paper", "P02": "scissors"}]
    rig.hears_game_over("P01", "P02")
    assert plain(rig.said(GameOver)[0])["game_result"]["moves"] == moves
    assert plain(rig.said(MatchResultReport)[0])["result"]["details"]["moves"] == moves
    assert rig.of(e.NumberDrawn) == []


def test_each_turn_has_its_own_attempts_and_corrections() -> None:
    rig = Rig().given(RPS).joins("P01", "P02").chooses("P01", "rock").until(96)
    for _ in range(3):
        rig.says("P02", rig.choosing("P02", "lizard"))
    rig.chooses("P02", "paper").chooses("P01", "rock")
    begin = rig.t
    assert rig.question("P02").deadline == begin + 30
    for _ in range(3):
        rig.says("P02", rig.choosing("P02", "spock"))
    rig.chooses("P02", "paper")
    assert rig.decided.winner == "P02"
    assert len({one.key for one in rig.sent if one.message.type == "GAME_MOVE_CALL"}) == len(rig.said(GameMoveCall))


def test_a_fault_in_a_later_turn_shows_the_last_choices() -> None:
    rig = Rig().given(RPS).joins("P01", "P02").chooses("P01", "rock").chooses("P02", "paper").chooses("P01", "scissors")
    rig.until(126)
    assert rig.decided.winner == "P01"
    assert rig.decided.game_result["choices"] == {"P01": "scissors", "P02": "paper"}
    assert rig.decided.game_result["moves"] == [{"P01": "rock", "P02": "paper"}]
    (fault,) = rig.of(e.PlayerFaulted)
    assert (fault.phase, fault.turn) == ("move", 2)


# --- in turns ---------------------------------------------------------------------------------------------------------


def test_in_tic_tac_toe_only_the_player_whose_turn_it_is_is_asked() -> None:
    rig = Rig().given(TTT).joins("P01", "P02")
    for turn, (player, cell) in enumerate([("P01", "0"), ("P02", "3"), ("P01", "1"), ("P02", "4"), ("P01", "2")], 1):
        other = "P02" if player == "P01" else "P01"
        assert rig.asked(player)
        assert not rig.asked(other)
        assert plain(rig.question(player).message)["move_request"]["context"]["turn"] == turn
        rig.wait(1).chooses(player, cell)
    assert (rig.decided.status, rig.decided.winner) == ("WIN", "P01")
    assert rig.decided.reason == "P01 has X in the cells 0, 1, 2"
    assert rig.decided.details["moves"] == [{"P01": "0"}, {"P02": "3"}, {"P01": "1"}, {"P02": "4"}, {"P01": "2"}]


def test_an_illegal_move_is_e024_and_the_legal_ones_are_named() -> None:
    rig = Rig().given(TTT).joins("P01", "P02").chooses("P01", "4")
    rig.says("P02", rig.choosing("P02", "4"))
    (error,) = rig.said(GameError, "P02")
    assert (error.error_code, error.action_required) == ("E024", "GAME_MOVE_RESPONSE")
    assert error.context == {
        "field": "move_data.choice",
        "invalid_choice": "4",
        "valid_choices": ["0", "1", "2", "3", "5", "6", "7", "8"],
    }
    rig.chooses("P02", "0").chooses("P01", "1")
    assert rig.of(e.PlayerFaulted) == []


@pytest.mark.parametrize(
    ("moved", "code"),
    [
        ({"move_type": "throw", "choice": "1"}, "E008"),
        ({"move_type": "mark_cell", "choice": 1}, "E024"),
        ({"move_type": "mark_cell", "choice": "9"}, "E024"),
        ({"move_type": "mark_cell"}, "E003"),
        ({"choice": "1"}, "E003"),
        ("1", "E007"),
    ],
)
def test_each_way_to_get_a_move_wrong_has_its_code(moved: object, code: str) -> None:
    rig = Rig().given(TTT).joins("P01", "P02")
    rig.says("P01", rig.choosing("P01", "1", move_data=moved))
    assert [one.code for one in rig.of(e.WrongAnswer)] == [code]
    rig.chooses("P01", "1")
    assert rig.asked("P02")


def test_a_parity_is_no_move_of_another_game() -> None:
    rig = Rig().given(TTT).joins("P01", "P02")
    rig.says("P01", {"message_type": "CHOOSE_PARITY_RESPONSE", "match_id": "R1M1", "player_id": "P01",
                     "parity_choice": "even"})  # fmt: skip
    assert [one.code for one in rig.of(e.WrongAnswer)] == ["E038"]


def test_a_silent_player_loses_on_its_turn_and_the_other_waits_for_nothing() -> None:
    rig = Rig().given(TTT).joins("P01", "P02").chooses("P01", "4").until(126)
    assert rig.decided.winner == "P01"
    assert len(rig.times("GAME_MOVE_CALL", "P01")) == 1


# --- chance between moves ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Laid:
    """Guess, draw, guess, draw: the choices and the numbers so far."""

    guesses: tuple[str, ...] = ()
    numbers: tuple[int, ...] = ()


class Guessing(BaseRules):
    """Each player in turn guesses the next number high or low; whoever is right alone wins."""

    def start(self) -> Laid:
        return Laid()

    def to_move(self, state: Laid) -> Mover:
        if len(state.guesses) > len(state.numbers):
            return CHANCE
        return NOBODY if len(state.numbers) == 2 else TURN[len(state.guesses)]

    def legal_moves(self, state: Laid, seat: Seat) -> tuple[str, ...]:
        return ("high", "low") if seat in self.to_move(state).seats else ()

    def play(self, state: Laid, moves: Mapping[Seat, str]) -> Laid:
        require_legal(self, state, moves)
        return Laid((*state.guesses, *moves.values()), state.numbers)

    def draw(self, state: Laid, number: int) -> Laid:
        return Laid(state.guesses, (*state.numbers, number))

    def outcome(self, state: Laid) -> Outcome | None:
        if len(state.numbers) < 2:
            return None
        right = [(guess == "high") == (number > 5) for guess, number in zip(state.guesses, state.numbers, strict=True)]
        if right[0] == right[1]:
            return tie("guessed")
        return win(right.index(True), "guessed")

    def view(self, state: Laid, seat: Seat) -> dict[str, object]:
        return {"numbers": list(state.numbers)}


def history(state: Laid) -> tuple[dict[Seat, str] | int, ...]:
    steps: list[dict[Seat, str] | int] = []
    for place, guess in enumerate(state.guesses):
        steps += [{place: guess}, *state.numbers[place : place + 1]]
    return tuple(steps)


@pytest.fixture
def guessing(monkeypatch: pytest.MonkeyPatch) -> Game:
    rules = Guessing()
    game = Game("guessing", rules, MoveWire(rules, history, move_type="guess"), turns=2)
    monkeypatch.setattr(registry, "BUILT_IN", {**registry.BUILT_IN, "guessing": game})
    return game


def test_each_chance_step_of_a_game_has_its_own_number_of_the_promised_seed(guessing: Game) -> None:
    rig = Rig(game_types=["guessing"]).given(announced(game_type="guessing")).joins("P01", "P02")
    rig.chooses("P01", "high")
    seed = bytes.fromhex(rig.of(e.MatchTaken)[0].seed)
    numbers = [draw.number(seed, LEAGUE, "R1M1", 1, index) for index in (0, 1)]
    assert requests(rig, "P02")[0]["context"] == {"numbers": numbers[:1], "turn": 2}
    rig.restart().chooses("P02", "low")
    assert [one.number for one in rig.of(e.NumberDrawn)] == numbers
    assert rig.decided.details["draws"] == numbers
    assert rig.decided.status in ("WIN", "DRAW")
    assert rig.replayed().snapshot() == rig.desk.snapshot()
