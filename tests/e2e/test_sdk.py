"""Players written with the SDK, as processes of their own: what they play, and what their authors are shown."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from league import ChooseParityCall, Parity, Player, serve
from league.events import ResultAccepted
from tests.support.processes import WATCHDOG_S, Process, Processes, assert_kept

README = (Path(__file__).parents[2] / "README.md").read_text("utf-8")
SCALE = 10
"""Referees' pauses are so many times shorter."""
NOBODY = "http://127.0.0.1:1/mcp"


def write(processes: Processes, name: str, body: str) -> Path:
    """A player's file, as an author would write it."""
    file = processes.folder / f"{name}.py"
    guard = f'\n\nif __name__ == "__main__":\n    serve({name.title()}(name="{name.title()}"))\n'
    file.write_text(f"from league import Player, serve\n\n\n{body.strip()}\n{guard}", "utf-8")
    return file


def duel(processes: Processes, file: Path, move_seconds: float = 30) -> tuple[Process, ResultAccepted]:
    """The player of that file plays one match against a good one: how its process ended, and the match."""
    manager = processes.manager(players=2, move_seconds=move_seconds)
    processes.referee(manager, time_scale=SCALE)
    other = processes.players(manager, "good", strategy="always_odd")
    player = processes.script(file, manager, time_scale=SCALE)
    assert (player.wait(), other.wait()) == (0, 0)
    (result,) = processes.events("manager", ResultAccepted)
    return player, result


# --- good players -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "choice"), [("Contrarian", "even")])
def test_the_players_of_the_readme_play_as_printed(processes: Processes, name: str, choice: str) -> None:
    file = processes.folder / f"{name.lower()}.py"
    whole, its_class = re.findall(r"^```python\n(.*?)^```$", README, re.DOTALL | re.MULTILINE)
    # The second class stands without what the first one is surrounded by.
    before, _, after = whole.partition("class Center(Player):")
    last_lines = after[after.index("if __name__") :].replace("Center", name)
    file.write_text(f"{before}{its_class}\n\n{last_lines}", "utf-8")
    player, result = duel(processes, file)
    assert name in processes.members()
    assert result.details["choices"][processes.members()[name]] == choice
    assert player.lines[0] == f"ready: {player.endpoint}"
    assert player.said("registered as P0")
    assert len(player.said("R1M1: you ")) == 1


def test_nobody_needs_to_name_the_game_of_the_league(processes: Processes) -> None:
    file = write(
        processes,
        "first",
        """
class First(Player):
    def move(self, turn):
        return turn.options[0]
""",
    )
    manager = processes.manager(players=2, game="connect_four")
    processes.referee(manager, time_scale=SCALE)
    other = processes.players(manager, "other", strategy="random")
    player = processes.script(file, manager, time_scale=SCALE)
    assert (player.wait(), other.wait()) == (0, 0)
    (result,) = processes.events("manager", ResultAccepted)
    assert result.status != "TECHNICAL_LOSS"


def test_a_player_may_think_asynchronously_and_is_told_how_it_ended(processes: Processes) -> None:
    file = write(
        processes,
        "thinker",
        """
import asyncio

class Thinker(Player):
    async def move(self, turn):
        await asyncio.sleep(0)
        return turn.options[0]

    async def on_match_over(self, match):
        await asyncio.sleep(0)
        print("over:", match.my_choice, match.opponent_choice, match.drawn_number, match is self.history[-1])
""",
    )
    player, result = duel(processes, file)
    assert player.said("over: ") == [f"even odd {result.details['drawn_number']} True"]


def test_league_player_takes_a_player_too_and_makes_one_for_each(processes: Processes) -> None:
    body = """
made = 0

class Thrower(Player):
    games = ["rock_paper_scissors"]
    version = "2.1.0"

    def __init__(self):  # without a word to Player
        global made
        made += 1
        self.number = made

    def move(self, turn):
        print("throws:", self.number, len(self.history))
        return turn.options[0]
"""
    write(processes, "thrower", body)
    game = "rock_paper_scissors"
    manager = processes.manager(players=2, game=game)
    processes.referee(manager, game=game)
    players = processes.start("player", manager=manager.endpoint, strategy="thrower:Thrower", count=2)
    assert players.wait() == 0
    assert {line.split()[0] for line in players.said("throws: ", 6)} == {"1", "2"}
    (result,) = processes.events("manager", ResultAccepted)
    assert (result.status, result.winner) == ("DRAW", None)


# --- what authors are shown -------------------------------------------------------------------------------------------


def test_whatever_an_author_gets_wrong_is_shown_with_its_cause_and_its_cost(processes: Processes) -> None:
    file = write(
        processes,
        "learning",
        """
class Learning(Player):
    asked = 0

    def choose_parity(self, call):
        self.asked += 1
        if self.asked == 1:
            return self.lookup(call)
        if self.asked == 3:
            return "Even"
        if self.asked == 4:
            return "EVEN"
        if self.asked > 4:
            return "even"

    def lookup(self, call):
        return {}[call.context.opponent_id]
""",
    )
    player, result = duel(processes, file)
    assert result.status in ("WIN", "DRAW")
    me = processes.members()["Learning"]
    told = player.output
    assert f"Learning ({me}) in R1M1 failed: KeyError: " in told
    assert f'{file}", line 19, in lookup' in told
    assert "hosting" not in told
    assert "sdk.py" not in told
    assert f"Learning ({me}) in R1M1 returned None, which is not text that can be sent; is a return missing?" in told
    assert f"Learning ({me}) in R1M1 returned 'Even', which is not legal; did you mean 'even'?" in told
    assert f"Learning ({me}) in R1M1 returned 'EVEN', which is not legal; did you mean 'even'? again (×2)\n" in told
    assert told.count("The question was a CHOOSE_PARITY_CALL") == 3
    assert told.count("  call.context.opponent_id = ") == 3
    assert told.count("Legal: 'even', 'odd'.") == 3
    assert told.count("it could not choose (E099)") == 2
    assert told.count("It is sent as it is") == 1
    assert "tok_" not in told


def test_who_thinks_too_long_is_told_and_can_still_be_stopped(processes: Processes) -> None:
    file = write(
        processes,
        "sleeper",
        """
import asyncio

class Sleeper(Player):
    async def choose_parity(self, call):
        await asyncio.Event().wait()
""",
    )
    manager = processes.manager(players=2, move_seconds=1)
    processes.referee(manager, time_scale=SCALE)
    processes.players(manager, "good")
    player = processes.script(file, manager, time_scale=SCALE, id="P07")
    assert player.said("Sleeper (P07) in R1M1 has not answered") == [" within its 1 s"]
    player.said("An answer still counts")
    assert player.stop() == 0
    assert "Traceback" not in player.output


def test_async_code_that_never_awaits_is_told_too(processes: Processes) -> None:
    file = write(
        processes,
        "blocker",
        """
import time

class Blocker(Player):
    async def choose_parity(self, call):
        time.sleep(0.3)
        return "even"
""",
    )
    player, _ = duel(processes, file, move_seconds=1)
    assert "has not answered within its 1 s" in player.output


def test_a_player_that_wants_to_leave_stays_and_its_author_learns_it(processes: Processes) -> None:
    file = write(
        processes,
        "leaver",
        """
import sys

class Leaver(Player):
    tries = 0

    async def choose_parity(self, call):
        self.tries += 1
        if self.tries == 1:
            sys.exit("enough")
        if self.tries == 2:
            raise KeyboardInterrupt
        return "even"

    def on_match_over(self, match):
        raise OSError("no space for my notes")
""",
    )
    player, result = duel(processes, file)
    assert result.status in ("WIN", "DRAW")
    assert "in R1M1 failed: SystemExit: enough" in player.output
    assert "in R1M1 failed: KeyboardInterrupt" in player.output
    assert "in R1M1 failed: OSError: no space for my notes" in player.output
    assert "It costs nothing" in player.output


def test_printing_to_a_reader_that_has_gone_costs_nothing(processes: Processes) -> None:
    file = write(
        processes,
        "talker",
        """
class Talker(Player):
    asked = 0

    def choose_parity(self, call):
        print("so many words" * 1000)
        self.asked += 1
        return "even" if self.asked > 1 else "Even"  # so that we talk too
""",
    )
    manager = processes.manager(players=2)
    other = processes.players(manager, "good")
    command = [sys.executable, str(file), "--manager", manager.endpoint, "--port", "0"]
    with subprocess.Popen(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as talker:
        assert talker.stdout is not None
        assert talker.stdout.readline().startswith("ready: ")
        talker.stdout.close()
        processes.referee(manager)
        assert (talker.wait(), other.wait()) == (0, 0)
    (result,) = processes.events("manager", ResultAccepted)
    assert result.status in ("WIN", "DRAW")


# --- starting and ending ----------------------------------------------------------------------------------------------

QUIET = """
class Quiet(Player):
    def move(self, turn):
        return turn.options[0]
"""


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_a_player_ends_cleanly_when_it_is_told_to(processes: Processes, how: signal.Signals) -> None:
    player = processes.script(write(processes, "quiet", QUIET), NOBODY)
    player.signal(how)
    assert player.wait() == 0
    assert "Traceback" not in player.output


def test_a_stopped_player_stops_the_whole_file(processes: Processes) -> None:
    file = write(processes, "quiet", QUIET)
    file.write_text(f"{file.read_text('utf-8')}    serve(Quiet(name='Second'))\n", "utf-8")
    player = processes.script(file, NOBODY)
    player.terminate()
    assert player.wait() == 0
    assert len(player.said("ready: ")) == 1


def test_the_next_player_of_a_file_says_that_it_comes_after_the_first(processes: Processes) -> None:
    file = write(processes, "quiet", QUIET)
    file.write_text(f"{file.read_text('utf-8')}    serve(Quiet(name='Second'), ['--help'])\n", "utf-8")
    player, _ = duel(processes, file)
    assert "serve() has finished Quiet and now starts Quiet. It serves one player at a time" in player.output


def test_a_player_the_manager_refuses_ends_with_a_sentence(processes: Processes) -> None:
    player = processes.script(write(processes, "quiet", QUIET), processes.manager(), name="turned\u202earound")
    assert player.wait() == 1
    assert f"the manager refused {player.endpoint}: E008 " in player.output
    assert "Traceback" not in player.output


@pytest.mark.parametrize(
    ("arguments", "status", "told"),
    [
        (["--help"], 0, ""),
        (["--strategy", "random"], 2, "quiet.py: unrecognized arguments: --strategy random; see quiet.py --help"),
        (["--port", "many"], 2, "quiet.py: --port: 'many' is not a whole number"),
        (["--journal", "quiet.py/journal.db", "--port", "0"], 1, "quiet.py: "),
    ],
)
def test_how_it_is_started_wrong_is_one_sentence(
    processes: Processes, arguments: list[str], status: int, told: str
) -> None:
    file = write(processes, "quiet", QUIET)
    command = [sys.executable, str(file), *arguments]
    ended = subprocess.run(command, cwd=processes.folder, text=True, capture_output=True, timeout=120, check=False)
    assert ended.returncode == status, ended
    assert ended.stderr.startswith(told)
    assert ended.stderr.count("\n") == (1 if told else 0)
    if not told:
        assert "example: python quiet.py --manager" in ended.stdout


def test_a_player_without_the_method_its_game_needs_does_not_start(processes: Processes) -> None:
    file = write(processes, "half", "class Half(Player):\n    def choose_parity(self, call):\n        return 'even'")
    command = [sys.executable, str(file), "--port", "0", "--game", "tic_tac_toe"]
    ended = subprocess.run(command, text=True, capture_output=True, timeout=120, check=False)
    assert (ended.returncode, ended.stdout) == (1, "")
    assert ended.stderr == "half.py: Half cannot play tic_tac_toe: it has no method move(self, turn)\n"


class Threaded(Player):
    def choose_parity(self, call: ChooseParityCall) -> Parity:
        return "odd"


def test_a_player_is_served_in_a_thread_until_its_league_is_over(processes: Processes) -> None:
    manager = processes.manager(players=2)
    others = processes.referee(manager), processes.players(manager, strategy="random")
    mine = Threaded("Mine")
    argv = ["--manager", manager.endpoint, "--port", "0"]
    thread = threading.Thread(target=serve, args=(mine, argv), daemon=True)
    thread.start()
    thread.join(WATCHDOG_S)
    assert not thread.is_alive()
    assert [one.my_choice for one in mine.history] == ["odd"]
    assert [one.wait() for one in others] == [0, 0]
    assert_kept(processes)
