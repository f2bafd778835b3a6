"""The SDK without a league: what a Player is asked, how its code is run, and the words its author gets."""

from __future__ import annotations

import asyncio
import inspect
import re
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from time import sleep as nap
from typing import Any, get_type_hints

import pytest
from msgspec import structs

import league
from league import ChooseParityCall, GameMoveCall, Parity, PastMatch, Player, Round, Standings, Turn, serve
from league.cli.main import main
from league.hosting.author import author_checks, authors
from league.hosting.author.author_code import Raised, ask_author
from league.hosting.member import players
from league.hosting.member.players import enter
from league.player.history import scanned
from league.protocol.message.parts import CallContext, MoveRequest
from league.terminal import CommandError
from tests.unit.player.test_strategies import past
from tests.unit.test_example_players import CALL

ENVELOPE: dict[str, Any] = {
    "protocol": "league.v2",
    "sender": "referee:REF01",
    "timestamp": "2025-01-15T10:30:00Z",
    "conversation_id": "conv-1",
    "deadline": "2025-01-15T10:30:30Z",
}
MOVE = GameMoveCall(
    **ENVELOPE,
    match_id="R1M1",
    player_id="P01",
    game_type="tic_tac_toe",
    move_request=MoveRequest(move_type="mark_cell", valid_options=["0", "4"], context={}),
)


def turn(call: ChooseParityCall | GameMoveCall = CALL, options: tuple[str, ...] = ("even", "odd")) -> Turn:
    return Turn("any", "R1M1", "P02", options, bytes(32), history=[past("odd")], call=call)


def inside(player: Player) -> Any:
    """What the library plays with."""
    return enter(player, type(player).__name__).strategy


def plays(player: Player, question: Turn) -> object:
    return inside(player).choose(question)


def warnings(player: Player) -> list[str]:
    check = enter(player, type(player).__name__).check
    assert check is not None
    return check()


class Chooser(Player):
    def choose_parity(self, call: ChooseParityCall) -> Parity:
        return "even" if call.match_id == "R9M1" and self.history else "odd"


class Mover(Player):
    def move(self, turn: Turn) -> str:
        return turn.options[-1]


class Both(Chooser, Mover):
    games = ("tic_tac_toe", "even_odd")


# --- what a player is asked -------------------------------------------------------------------------------------------


def test_the_parity_is_asked_of_the_method_for_it_with_the_message_and_the_history() -> None:
    assert plays(Chooser(), turn()) == "even"
    assert plays(Both(), turn()) == "even"


def test_a_player_without_it_moves_in_even_odd_too() -> None:
    assert plays(Mover(), turn()) == "odd"


def test_other_games_are_asked_of_move() -> None:
    assert plays(Both(), turn(MOVE, ("0", "4"))) == "4"
    with pytest.raises(NotImplementedError, match=r"Chooser has no method move\(self, turn\)"):
        plays(Chooser(), turn(MOVE, ("0", "4")))


def test_results_are_told_with_the_history_they_are_part_of() -> None:
    told: list[tuple[PastMatch, int]] = []

    class Listener(Mover):
        def on_match_over(self, match: PastMatch) -> None:
            told.append((match, len(self.history)))

    inside(Listener()).match_over(past("odd"), [past("even"), past("odd")])
    assert told == [(past("odd"), 2)]
    assert inside(Mover()).match_over(past("odd"), [past("odd")]) is None


@pytest.mark.parametrize(
    ("player", "games"),
    [
        (Player(), set()),
        (Chooser(), {"even_odd"}),
        (Mover(), {"even_odd", "tic_tac_toe"}),
        (Both(), {"even_odd", "tic_tac_toe"}),
    ],
)
def test_a_player_plays_what_it_has_a_method_for(player: Player, games: set[str]) -> None:
    assert {game for game in ("even_odd", "tic_tac_toe") if inside(player).plays(game)} == games


def test_misspelt_methods_are_named() -> None:
    class Misspelt(Player):
        def choose_party(self, call: ChooseParityCall) -> Parity:
            return "even"

        def on_match_end(self, match: PastMatch) -> None:
            self.remember(match)

        def remember(self, match: PastMatch) -> None:
            """A helper."""

        def prepare(self) -> None:
            """Another helper."""

    assert warnings(Misspelt()) == [
        "Misspelt.choose_party is never called; did you mean choose_parity?",
        "Misspelt.on_match_end is never called; did you mean on_match_over?",
    ]
    assert warnings(Both()) == []


def test_a_method_may_be_set_on_the_object() -> None:
    player: Any = Player()
    player.choose_parity = lambda _: "odd"
    assert inside(player).plays("even_odd")
    assert plays(player, turn()) == "odd"


def test_helpers_may_have_any_name() -> None:
    class Helpful(Mover):
        def helper(self) -> str:
            return "mine"

        choose = connect = hear = plays = ask = check = helper

    assert plays(Helpful(), turn()) == "odd"
    assert inside(Helpful()).match_over(past("odd"), [past("odd")]) is None
    assert inside(Helpful()).plays("tic_tac_toe")
    assert warnings(Helpful()) == []


def test_help_shows_what_authors_use() -> None:
    assert {name for name in dir(Player) if not name.startswith("_")} == {
        *("name", "version", "games", "standings", "round", "history"),
        *("choose_parity", "move", "on_match_over", "on_round", "on_standings", "on_error", "on_league_over"),
        *("query", "query_sync"),
    }


def test_a_running_league_shows_what_scripts_use() -> None:
    assert {name for name in dir(league.RunningLeague) if not name.startswith("_")} == {
        *("finished", "standings", "statistics"),
    }


def test_the_types_of_the_package_can_be_read() -> None:
    for name in league.__all__:
        if inspect.isclass(getattr(league, name)):
            get_type_hints(getattr(league, name))
    for name in ("choose_parity", "move", "on_match_over", "on_round", "query"):
        get_type_hints(getattr(Player, name))


def test_mistakes_are_told_at_the_start() -> None:
    class WithoutArgument(Player):
        def choose_parity(self) -> Parity:  # type: ignore[override]
            return "even"

    class LosesName(Mover):
        def __init__(self, name: str) -> None:
            self.seen = [name]

    class KeepsName(Mover):
        def __init__(self, name: str) -> None:
            super().__init__(name)

    class Rounds(Mover):
        def round(self, number: float) -> int:  # type: ignore[override]  # the mistake
            return int(number + 0.5)

    class Remembers(Mover):
        @property
        def history(self) -> list[str]:  # type: ignore[override]  # the mistake
            return []

    for mistaken, name in ((Rounds, "Rounds.round"), (Remembers, "Remembers.history")):
        with pytest.raises(CommandError, match=f"{name} takes the place of Player"):
            warnings(mistaken())
    with pytest.raises(CommandError, match=r"write def choose_parity\(self, call\)"):
        warnings(WithoutArgument())
    assert warnings(LosesName("Lost")) == [
        "LosesName.__init__ drops the name that it gets; write super().__init__(name) in it"
    ]
    assert warnings(KeepsName("Kept")) == []


def doze() -> None:
    nap(1)


def test_an_async_method_that_blocks_is_told_at_the_start() -> None:
    class Blocks(Player):
        async def move(self, turn: Turn) -> str:
            time.sleep(1)  # noqa: ASYNC251 - the mistake
            return turn.options[0]

        async def on_match_over(self, match: PastMatch) -> None:
            nap(1)  # noqa: ASYNC251 - the mistake

        async def on_standings(self, standings: Standings) -> None:
            await self.think()

        async def think(self) -> None:
            self.ponder()

        def ponder(self) -> None:
            doze()

        async def on_round(self, announced: Round) -> None:
            def later() -> None:
                nap(1)

            await asyncio.sleep(time.time())
            await asyncio.to_thread(self.ponder)
            await asyncio.to_thread(later)
            await asyncio.to_thread(lambda seconds: nap(seconds), 1)

    blocking = ("move", "on_match_over", "on_standings", "think")
    assert warnings(Blocks()) == [f"Blocks.{name} {author_checks.BLOCKS}" for name in blocking]


def test_what_a_player_says_of_itself_is_said_of_it() -> None:
    class Forgetful(Mover):
        name = "Owl"
        games = "tic_tac_toe"

        def __init__(self) -> None:  # without a word to Player
            pass

    said = [(one.name, one.version, one.games) for one in (enter(Mover(), "Mover"), enter(Forgetful(), "Forgetful"))]
    assert said == [("", "1.0.0", ()), ("Owl", "1.0.0", ("tic_tac_toe",))]
    given = enter(Mover("Elk", version="2.0.0", games="rock_paper_scissors"), "Mover")
    assert (given.name, given.version, given.games) == ("Elk", "2.0.0", ("rock_paper_scissors",))
    assert enter(Mover(games=["a", "b"]), "Mover").games == ("a", "b")


def test_games_that_are_no_names_are_told() -> None:
    class Confused(Mover):
        games: Any = (7,)

    with pytest.raises(CommandError, match=r"Confused.games is \(7,\), not a list of names such as 'even_odd'"):
        enter(Confused(), "Confused")


# --- running the author's code ----------------------------------------------------------------------------------------


def ask(code: Callable[[], object]) -> object:
    async def asked() -> object:
        return await ask_author(code)

    return asyncio.run(asked())


async def soon(value: object) -> object:
    await asyncio.sleep(0)
    if isinstance(value, BaseException):
        raise value
    return value


def test_code_may_answer_at_once_or_later() -> None:
    assert ask(lambda: "even") == "even"
    assert ask(partial(soon, "odd")) == "odd"


def fail(error: BaseException) -> object:
    raise error


@pytest.mark.parametrize("error", [ValueError("no"), SystemExit(3), KeyboardInterrupt(), StopIteration()])
@pytest.mark.parametrize("code", [fail, soon])
def test_whatever_is_raised_is_caught(code: Callable[[BaseException], object], error: BaseException) -> None:
    raised = ask(partial(code, error))
    assert isinstance(raised, Raised)
    # A coroutine cannot raise StopIteration: Python makes another error of it.
    assert raised.error is error or raised.error.__cause__ is error


def test_code_that_cancels_itself_has_failed() -> None:
    assert isinstance(ask(partial(soon, asyncio.CancelledError())), Raised)


def test_who_is_cancelled_from_outside_ends() -> None:
    async def cancelled() -> bool:
        started = asyncio.Event()

        async def forever() -> None:
            started.set()
            await asyncio.Event().wait()

        task = asyncio.create_task(ask_author(forever))
        await started.wait()
        task.cancel()
        await asyncio.wait((task,))
        return task.cancelled()

    assert asyncio.run(cancelled())


# --- what an author is shown ------------------------------------------------------------------------------------------


def test_a_slip_is_named_and_nothing_else_is_guessed() -> None:
    shown = partial(authors.illegal_choice, "Mine", call=CALL, options=("even", "odd"))
    assert "returned ' ODD', which is not legal; did you mean 'odd'?\n" in shown(value=" ODD")
    assert "returned 'heads', which is not legal\n" in shown(value="heads")
    assert "rejects it (E004)" in shown(value="heads")
    moved = authors.illegal_choice("Mine", "5", MOVE, ("0", "4"))
    assert "rejects it (E024)" in moved
    assert "Legal: '0', '4'." in moved
    number = authors.no_choice("Mine", 4, MOVE, ("0", "4"))
    assert number.startswith('Mine returned 4: 4 is a number; return "4"\n')
    yielded = authors.no_choice("Mine", (choice for choice in ("0", "4")), MOVE, ("0", "4"))
    assert yielded.partition("\n")[0].endswith("; write return instead of yield")


def test_a_report_stays_short_and_shows_no_token() -> None:
    told = authors.no_choice("Mine", ["x" * 100_000], CALL, ("even", "odd"))
    assert len(told) < 2_000
    secret = "tok_P01_abcdefghijklmnopqrstuvwxyz0123456789"
    assert secret not in authors.raised("Mine", ValueError(secret), CALL, ("even", "odd"))


def error_of(code: Callable[[], object]) -> BaseException:
    raised = ask(code)
    assert isinstance(raised, Raised)
    return raised.error


def test_the_same_exception_is_shown_in_full_once() -> None:
    reports = authors.Reports()

    def told(text: str) -> str:
        error = error_of(partial(fail, ValueError(text)))
        return reports.once(authors.raised("Mine", error, CALL, ("even", "odd")), authors.origin_of(error))

    assert "Legal: 'even', 'odd'." in told("R1M1")
    assert told("R1M2") == "Mine failed: ValueError: R1M2 again (×2)"
    assert told("R1M2") == "Mine failed: ValueError: R1M2 again (×3)"
    other = error_of(partial(int, "x"))
    assert "Legal" in reports.once(authors.raised("Mine", other, CALL, ()), authors.origin_of(other))


def test_the_first_match_is_not_in_the_history_yet() -> None:
    with pytest.raises(IndexError, match=r"history\[-1\]: the history is empty before your first match is over"):
        scanned([])[-1]
    assert list(scanned([])) == []


def test_the_attribute_that_the_author_meant_is_named() -> None:
    player: Any = Player("Mine")
    report = authors.raised("Mine", error_of(lambda: player.histroy), CALL, ("even", "odd"))
    assert re.search("(?i)did you mean:? '?history'?\\?", report)


def test_a_message_is_shown_as_python_reads_it() -> None:
    call = structs.replace(CALL, context=CallContext(opponent_id="P02", round_id=3))
    told = authors.no_choice("Mine", 4, call, ("even", "odd"))
    assert "The question was a CHOOSE_PARITY_CALL, which choose_parity(self, call) gets as call:\n" in told
    assert "\n  call.context.opponent_id = 'P02'\n  call.context.round_id = 3\n" in told
    assert "call.context.your_standings" not in told, "it was left out"
    assert "\n  turn.call.move_request.valid_options = [" in authors.no_choice("Mine", 4, MOVE, ("0", "4"))


def test_objects_and_dictionaries_are_told_apart() -> None:
    context: Any = CallContext(opponent_id="P02")

    def told(code: Callable[[], object]) -> str:
        return authors.raised("Mine", error_of(code), CALL, ("even", "odd"))

    assert authors.OBJECTS in told(lambda: context["opponent_id"])
    assert authors.OBJECTS in told(lambda: context.get("opponent_id"))
    data: Any = {"board": []}
    assert "This is a dictionary: write ['board'] instead of .board." in told(lambda: data.board)
    assert authors.OBJECTS not in told(lambda: data.borad)
    number: Any = 4
    assert authors.OBJECTS not in told(lambda: number["board"])


def test_an_object_that_cannot_be_shown_is_told_all_the_same() -> None:
    class Shy:
        def __repr__(self) -> str:
            raise RuntimeError("do not look")

    assert "returned <Shy instance at" in authors.no_choice("Mine", Shy(), CALL, ("even", "odd"))


def test_a_traceback_begins_where_the_authors_code_does() -> None:
    class Broken(Player):
        def choose_parity(self, call: ChooseParityCall) -> Parity:
            raise ValueError("mine")

    raised = ask(partial(inside(Broken()).choose, turn()))
    assert isinstance(raised, Raised)
    told = authors.trace_of(raised.error)
    assert told.count("File ") == 1
    assert "in choose_parity" in told


# --- finding a player -------------------------------------------------------------------------------------------------


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.path", list(sys.path))
    monkeypatch.setattr("sys.modules", dict(sys.modules))
    return tmp_path


@pytest.mark.parametrize(
    ("source", "told"),
    [
        (None, "cannot load authored:Mine: there is no module 'authored' here"),
        ("class Yours: ...", "cannot load authored:Mine: authored has no class 'Mine'; its classes: Yours"),
        ("import numbers\nMine = 3", "cannot load authored:Mine: authored has no class 'Mine'; its classes: none"),
        (
            "class Mine: ...",
            "Mine is not a strategy: it has no method choose(self, turn), and it is not a league.Player",
        ),
    ],
)
def test_what_is_no_player_is_told_in_one_sentence(
    here: Path, capsys: pytest.CaptureFixture[str], source: str | None, told: str
) -> None:
    if source is not None:
        (here / "authored.py").write_text(source)
    with pytest.raises(CommandError) as caught:
        players.load("authored:Mine")
    assert str(caught.value) == told
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("source", "line", "last"),
    [
        ("import no_such_module\n", "line 1", "ModuleNotFoundError: No module named 'no_such_module'"),
        ("class Mine:\n    def __init__(self): self.book = open('no book')\n", "line 2", "FileNotFoundError"),
        ("class Mine:\n  def choose(self turn): ...\n", "line 2", "SyntaxError"),
        ("import sys\nsys.exit(0)\n", "line 2", "SystemExit"),
    ],
)
def test_code_that_fails_to_load_is_shown_from_its_own_first_line(
    here: Path, capsys: pytest.CaptureFixture[str], source: str, line: str, last: str
) -> None:
    (here / "authored.py").write_text(source)
    assert main(["player", "--strategy", "authored:Mine"]) == 1
    told = capsys.readouterr().err
    assert f'authored.py", {line}' in told
    assert f"league player: cannot load authored:Mine: {last}" in told
    assert "importlib" not in told
    assert "hosting" not in told


# --- the package ------------------------------------------------------------------------------------------------------


def test_serve_takes_a_player_not_its_class() -> None:
    anything: Any = Mover
    with pytest.raises(TypeError, match=r"write serve\(Mover\(\)\)"):
        serve(anything, [])


def test_serve_takes_a_player_not_any_object() -> None:
    class Mine: ...

    anything: Any = Mine()
    with pytest.raises(TypeError, match=r"Mine is not one; write class Mine\(Player\)"):
        serve(anything, [])


PLAYERS = """
from league import Player, serve

class First(Player):
    def move(self, turn):
        return turn.options[0]

class Second(First):
    pass

serve(First())
serve(Second())
"""


@pytest.mark.parametrize(
    ("source", "advice"),
    [
        (PLAYERS, "name its class, too: {file}:First or {file}:Second"),
        ("from league import Player", "it has no class that plays, such as class Mine(Player)"),
    ],
)
def test_a_file_alone_is_not_a_strategy(tmp_path: Path, source: str, advice: str) -> None:
    file = tmp_path / "mine.py"
    file.write_text(source, "utf-8")
    with pytest.raises(CommandError) as refused:
        players.load(str(file))
    assert str(refused.value) == f"cannot load {file}: {advice.format(file=file)}"


def test_a_file_that_serves_at_its_end_is_loaded_for_its_class_only(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text(PLAYERS, "utf-8")
    assert players.load(f"{file}:Second").title == "Second"


def test_everything_an_author_needs_is_in_the_package_and_nothing_that_is_not() -> None:
    assert set(league.__all__) <= set(dir(league))
    assert all(getattr(league, name) is not None for name in league.__all__)
    with pytest.raises(AttributeError, match="no attribute 'Referee'"):
        _ = league.Referee  # type: ignore[attr-defined]


def test_importing_the_package_loads_nothing_yet() -> None:
    code = "import sys; import league; print(sorted(m for m in sys.modules if m.startswith(('league', 'msgspec'))))"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=True)
    assert loaded.stdout == "['league']\n"


# --- what is told after a match ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("match", "told"),
    [
        (past("even"), "R1M1: you drew against P02: you said even, it said even, the number was 4"),
        (
            past("odd", status="WIN", winner="P02", drawn_number=7),
            "R1M1: you lost against P02: you said even, it said odd, the number was 7",
        ),
        (
            past("rock", status="WIN", winner="P01", my_choice="paper", drawn_number=None),
            "R1M1: you won against P02: you said paper, it said rock",
        ),
        (
            past(None, status="TECHNICAL_LOSS", winner="P02"),
            "R1M1: you lost against P02 by a technical loss (yours); league explain R1M1 tells why",
        ),
        (
            past(None, status="TECHNICAL_LOSS", winner=None),
            "R1M1: you lost against P02 by a technical loss (of both players); league explain R1M1 tells why",
        ),
        (
            past(None, status="TECHNICAL_LOSS", winner="P01"),
            "R1M1: you won against P02 by a technical loss (its own)",
        ),
    ],
)
def test_every_result_is_one_line(match: PastMatch, told: str) -> None:
    assert authors.result(match) == told
    assert "league explain" not in authors.result(match, explained_by="the report of league spar")


def test_of_a_game_with_several_turns_the_reason_is_told() -> None:
    ended = {"moves": [{"P01": "4"}, {"P02": "4"}], "reason": "P02 has four in a row\x1b after 8 discs"}
    match = structs.replace(past("4", status="WIN", winner="P02", drawn_number=None), game_result=ended)
    told = authors.result(match)
    assert told.startswith("R1M1: you lost against P02: P02 has four in a row")
    assert "\x1b" not in told
