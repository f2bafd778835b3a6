"""Many matches without servers: what is played, what is remembered, what is counted."""

from __future__ import annotations

import asyncio
import csv
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from random import Random
from typing import Any

import pytest

import league
from league.cli.main import main
from league.features.experiments.playing.series import MatchEnd
from league.features.experiments.tournament import Score, score_of, tournament
from league.features.statistics.methods.points import points_interval
from league.player.strategies import Turn
from league.terminal import CommandError
from tests.support.pages import ROOT, blocks

MINE = """
from league import Player

class First(Player):
    games = ("tic_tac_toe",)

    async def move(self, turn):
        return turn.options[0]

class Faulty(Player):
    def choose_parity(self, call):
        if call.match_id == "M3":
            raise ValueError("my bug")
        return "Even" if call.match_id == "M2" else "even"
"""


class Diarist(league.Player):
    """Keeps all it is told."""

    def __init__(self) -> None:
        super().__init__()
        self.diary: list[Any] = []
        DIARISTS.append(self)

    def choose_parity(self, call: league.ChooseParityCall) -> league.Parity:
        self.diary.append((call.match_id, call.context.opponent_id if call.context else None, len(self.history)))
        return "even"

    def on_match_over(self, match: league.PastMatch) -> None:
        self.diary.append(match)


DIARISTS: list[Diarist] = []


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    file = tmp_path / "mine.py"
    file.write_text(MINE, "utf-8")
    return file


def same(document: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in document.items() if name != "seconds"}


# --- what is played ---------------------------------------------------------------------------------------------------


def test_every_pair_meets_as_often_as_asked_and_every_match_is_counted_for_both() -> None:
    result = tournament(["random", "mirror", "always_even"], meetings=7, seed=1)
    document = result.document
    assert (document["matches"], document["distinct_matches"]) == (21, 21)
    assert [(one["first"], one["second"], one["played"]) for one in document["pairs"]] == [
        ("random", "mirror", 7),
        ("random", "always_even", 7),
        ("mirror", "always_even", 7),
    ]
    assert sum(row["wins"] for row in result.standings) == sum(row["losses"] for row in result.standings)
    assert {row["played"] for row in result.standings} == {14}
    points = [row["points_per_match"] for row in result.standings]
    assert points == sorted(points, reverse=True)


@pytest.mark.slow
def test_the_same_seed_gives_the_same_results_however_many_processes_share_the_work() -> None:
    settings: dict[str, Any] = {"meetings": 1_200, "seed": 11}
    alone = tournament(["random", "frequency"], jobs=1, **settings)
    shared = tournament(["random", "frequency"], jobs=3, **settings)
    assert same(alone.document) == same(shared.document)
    assert [one.result.ends for one in alone.played] == [one.result.ends for one in shared.played]
    assert same(tournament(["random", "frequency"], jobs=1, meetings=1_200, seed=12).document) != same(alone.document)


def test_the_rules_decide_as_in_a_league() -> None:
    """Two that always differ: one of them is right, so nobody draws; two that never differ always draw."""
    assert tournament(["always_even", "always_odd"], meetings=50, seed=3).document["pairs"][0]["draws"] == 0
    assert tournament(["always_even", "always_even"], meetings=50, seed=3).document["pairs"][0]["draws"] == 50


def test_a_strategy_is_called_and_told_as_in_a_league() -> None:
    DIARISTS.clear()
    tournament([Diarist, "always_odd"], meetings=3, seed=5)
    diary = DIARISTS[1].diary
    # The first of the two is the one whose digest comes first.
    rival = diary[0][1]
    roles = {"P02": ("PLAYER_A", "PLAYER_B", "PLAYER_A"), "P01": ("PLAYER_B", "PLAYER_A", "PLAYER_B")}[rival]
    assert diary[0] == ("M1", rival, 0)
    assert diary[2] == ("M2", rival, 1)
    for match, role in zip(diary[1::2], roles, strict=True):
        assert (match.role, match.my_choice, match.opponent_choice) == (role, "even", "odd")
        assert match.outcome == ("WIN" if match.drawn_number % 2 == 0 else "LOSS")


def test_what_a_strategy_remembers_is_what_its_index_says() -> None:
    """Mirror repeats the last choice of its opponent: against one that alternates they always differ but the first."""
    seen: list[tuple[str, str]] = []

    class Watcher:
        def choose(self, turn: Turn) -> str:
            if turn.history:
                last = turn.history[-1]
                seen.append((str(last.my_choice), str(last.opponent_choice)))
            return "odd"

    tournament([Watcher, "mirror"], meetings=10, seed=9)
    # The first five matches are played again, to see whether the strategy is repeatable.
    assert seen[1:9] == [("odd", "odd")] * 8
    assert seen[9:] == seen[:4]


def test_failing_code_is_a_technical_loss_told_once_and_counted(mine: Path) -> None:
    document = tournament([f"{mine}:Faulty", "always_odd"], meetings=5, seed=1).document
    assert document["pairs"][0]["technical_losses"] == 2
    assert {(one["failure"], one["times"]) for one in document["failures"]} == {
        ("ValueError: my bug", 1),
        ("chose 'Even', which is not one of even, odd", 1),
    }


def test_a_number_that_should_be_text_is_told_as_one() -> None:
    choose: Any = lambda _: 4  # noqa: E731 - what an author writes
    result = tournament(["random", choose], game="connect_four", meetings=1, seed=1, jobs=1)
    assert [one["failure"] for one in result.document["failures"]] == ['chose 4: 4 is a number; return "4"']


def test_a_game_scored_by_margin_shows_returns() -> None:
    result = tournament(["random", "equilibrium"], game="kuhn_poker", meetings=4, seed=1, jobs=1)
    assert "return/match" in str(result).splitlines()[0]
    assert f"{result.standings[0]['return_per_match']:.3f} " in str(result)
    assert "<th>return/match</th>" in result._repr_html_()


@pytest.mark.parametrize("jobs", [1, 2])
def test_two_folders_with_a_helper_of_the_same_name_are_two_strategies(tmp_path: Path, jobs: int) -> None:
    specs = []
    for choice in ("even", "odd"):
        folder = tmp_path / choice
        folder.mkdir()
        (folder / "helper.py").write_text(f"CHOICE = {choice!r}\n")
        (folder / "mine.py").write_text(
            "class Mine:\n    def choose(self, turn):\n        import helper\n        return helper.CHOICE\n"
        )
        specs.append(f"{folder / 'mine.py'}:Mine")
    first, second, third = tournament([*specs, "always_even"], meetings=20, seed=1, jobs=jobs).document["pairs"]
    assert (first["draws"], second["draws"], third["draws"]) == (0, 20, 0)


STUCK = """
import asyncio, time

class Stuck:
    def choose(self, turn):
        if turn.match_id == "M2":
            self.stop()
        return "even"

class Loops(Stuck):
    def stop(self):
        while True:
            try:
                pass
            except Exception:
                pass

class Sleeps(Stuck):
    def stop(self):
        time.sleep(3600)

class Awaits:
    async def choose(self, turn):
        if turn.match_id == "M2":
            await asyncio.sleep(3600)
        return "even"

class Spins:
    async def choose(self, turn):
        if turn.match_id == "M2":
            while True:
                pass
        return "even"

class Ponders:
    def choose(self, turn):
        return "even"

    def match_over(self, match, history):
        if match.match_id == "M2":
            while True:
                pass
"""


@pytest.mark.slow
@pytest.mark.parametrize("name", ["Loops", "Sleeps", "Awaits", "Spins"])
@pytest.mark.parametrize("jobs", [1, 2])
def test_a_choice_that_never_comes_is_a_technical_loss(
    tmp_path: Path, name: str, jobs: int, capfd: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "stuck.py"
    file.write_text(STUCK, "utf-8")
    spec = f"{file}:{name}"
    handler = signal.getsignal(signal.SIGALRM)
    started = time.monotonic()
    # A third strategy, so that there is work for two processes.
    names = [spec, "always_odd"] + ["always_odd"] * (jobs - 1)
    document = tournament(names, meetings=4, seed=1, move_seconds=0.4, jobs=jobs).document
    assert time.monotonic() - started < 60
    assert document["failures"] == [{"strategy": spec, "failure": "no choice within 0.4 s", "times": jobs}]
    assert document["pairs"][0]["technical_losses"] == 1
    assert document["pairs"][0]["played"] == 4
    assert capfd.readouterr().err.count(f"{spec} in M2: no choice within 0.4 s") == jobs
    assert signal.getsignal(signal.SIGALRM) == handler


def test_a_hook_that_never_ends_costs_time_and_is_told(tmp_path: Path) -> None:
    file = tmp_path / "stuck.py"
    file.write_text(STUCK, "utf-8")
    document = tournament([f"{file}:Ponders", "always_even"], meetings=4, seed=1, move_seconds=0.2).document
    (failure,) = document["failures"]
    assert failure["failure"] == "no end of on_match_over within 0.2 s"
    assert document["pairs"][0]["draws"] == 4


def test_in_a_thread_the_time_is_limited_by_a_process(tmp_path: Path) -> None:
    """A notebook has a running loop, so the tournament runs in a thread, where nothing can be interrupted."""
    file = tmp_path / "stuck.py"
    file.write_text(STUCK, "utf-8")

    async def cell() -> Any:
        return tournament([f"{file}:Loops", "always_odd"], meetings=3, seed=1, move_seconds=0.4, jobs=1)

    assert asyncio.run(cell()).document["pairs"][0]["technical_losses"] == 1


# --- what counts once -------------------------------------------------------------------------------------------------


def test_matches_that_repeat_each_other_move_for_move_are_one_observation(mine: Path) -> None:
    strategies = [f"{mine}:First", "always_odd"]
    document = tournament(strategies, game="tic_tac_toe", meetings=40, seed=1).document
    assert (document["matches"], document["distinct_matches"]) == (40, 2)
    assert (document["pairs"][0]["played"], document["pairs"][0]["distinct_matches"]) == (40, 2)
    assert [(row["played"], row["distinct_matches"]) for row in document["standings"]] == [(40, 2), (40, 2)]
    for row in document["standings"]:
        assert row["wins"] + row["draws"] + row["losses"] == 40
        low, high = row["interval"]
        assert low <= row["points_per_match"] <= high
        # Two matches that differ say little, however often they are played.
        pooled_low, pooled_high = points_interval(row["wins"], row["draws"], row["losses"])
        assert high - low > pooled_high - pooled_low
    assert any(note.startswith("Only 2 of 40 matches differ") for note in document["notes"])
    opened = tournament(strategies, game="tic_tac_toe", meetings=60, openings=6, seed=1).document
    assert opened["distinct_matches"] == 12
    by_chance = tournament(["random", "always_odd"], game="tic_tac_toe", meetings=40, seed=1).document
    assert by_chance["distinct_matches"] == 40


def test_in_a_game_of_chance_every_match_is_an_observation_of_its_own(mine: Path) -> None:
    document = tournament(["always_even", "always_odd"], meetings=40, seed=1).document
    assert document["distinct_matches"] == 40
    faulty = tournament([f"{mine}:Faulty", "always_odd"], meetings=40, seed=1).document
    assert faulty["distinct_matches"] == 40


def test_a_game_in_which_nobody_takes_turns_has_no_openings() -> None:
    with pytest.raises(CommandError, match="even_odd has no openings"):
        tournament(["random", "mirror"], openings=2)
    with pytest.raises(CommandError, match="tic_tac_toe has only 72 openings"):
        tournament(["random", "mirror"], game="tic_tac_toe", openings=100)


# --- how sure ---------------------------------------------------------------------------------------------------------


def test_scores_add_up_from_how_matches_ended() -> None:
    counts = [2, 3, 1, 1, 2, 4]
    assert score_of(counts, 0) == Score(wins=5, draws=2, losses=6, technical_losses=5)
    assert score_of(counts, 1) == Score(wins=2, draws=2, losses=9, technical_losses=6)
    assert len(counts) == len(MatchEnd)


@pytest.mark.parametrize("played", [10, 30, 300])
@pytest.mark.parametrize("chances", [(0.25, 0.5, 0.25), (0.5, 0.0, 0.5), (0.9, 0.05, 0.05), (0.0, 1.0, 0.0)])
def test_the_interval_holds_the_truth_about_as_often_as_it_says(played: int, chances: tuple[float, ...]) -> None:
    dice, held, runs = Random(f"{played}/{chances}"), 0, 2_000
    truth = 3 * chances[0] + chances[1]
    for _ in range(runs):
        ends = dice.choices((0, 1, 2), chances, k=played)
        low, high = points_interval(ends.count(0), ends.count(1), ends.count(2))
        held += low <= truth <= high
    assert held / runs >= 0.93
    assert 0 <= low <= high <= 3


# --- in a script ------------------------------------------------------------------------------------------------------


def run_script(folder: Path, source: str) -> subprocess.CompletedProcess[str]:
    (folder / "script.py").write_text(source, "utf-8")
    command = [sys.executable, "script.py"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120, check=False)


@pytest.mark.slow
def test_the_script_of_the_how_to_prints_a_row_for_each_strategy(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "how-to" / "compare-strategies.md").read_text("utf-8")
    (script,) = [
        block.text for block in blocks(page) if "league.tournament(" in block.text and "def main" in block.text
    ]
    done = run_script(tmp_path, script.replace("seed=7", "seed=7, jobs=2"))
    assert (done.returncode, done.stderr) == (0, "")
    assert [line.split()[0] for line in sorted(done.stdout.splitlines())] == ["frequency", "mirror", "random"]


@pytest.mark.slow
def test_a_script_without_a_guard_is_told_what_to_write(tmp_path: Path) -> None:
    """Once, at the end of the traceback that a script ends with."""
    done = run_script(tmp_path, "import league\nleague.tournament(['random', 'mirror', 'frequency'], jobs=2)\n")
    assert done.returncode == 1
    lines = done.stderr.splitlines()
    assert 'write `if __name__ == "__main__":` above the call of league.tournament' in lines[-1]
    assert done.stderr.count("Traceback") == 1


@pytest.mark.slow
def test_a_strategy_that_ends_its_process_is_told_in_a_sentence(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text("import os\nclass Mine:\n    def choose(self, turn):\n        os._exit(3)\n", "utf-8")
    with pytest.raises(CommandError, match="a process that played matches ended early"):
        tournament([f"{file}:Mine", "random", "random"], jobs=2)


WORKERS = """
import os, sys
import league

class Odd(league.Player):
    def choose_parity(self, call):
        print(os.getpid(), file=sys.stderr)
        return "odd"

class Even(Odd):
    def choose_parity(self, call):
        return "even"

if __name__ == "__main__":
    league.tournament([Odd, Odd, Even, "random"], meetings=2, seed=1, jobs=JOBS)
    print(os.getpid())
"""


@pytest.mark.slow
@pytest.mark.parametrize(("jobs", "here"), [("2", False), ("None", True), ("1", True)])
def test_classes_of_a_script_are_played_by_as_many_processes_as_it_orders(
    tmp_path: Path, jobs: str, here: bool
) -> None:
    done = run_script(tmp_path, WORKERS.replace("JOBS", jobs))
    assert done.returncode == 0, done.stderr
    assert (done.stdout.strip() in done.stderr.split()) is here


@pytest.mark.slow
def test_classes_give_the_same_results_in_other_processes() -> None:
    settings: dict[str, Any] = {"meetings": 1_100, "seed": 5}
    alone = tournament([Diarist, "random"], **settings)
    shared = tournament([Diarist, "random"], jobs=2, **settings)
    assert same(alone.document) == same(shared.document)


def test_classes_that_no_other_process_can_import_are_named(capsys: pytest.CaptureFixture[str]) -> None:
    class Local(Diarist):
        pass

    tournament([Local, "random", "mirror"], meetings=2, seed=1, jobs=2)
    err = capsys.readouterr().err
    assert err.startswith("jobs=2 has no effect, because of Local: other processes can import only")
    assert err.count("\n") == 1
    tournament([Local, "random", "mirror"], meetings=2, seed=1)
    assert capsys.readouterr().err == ""


class Unwritten(league.Player):
    """Has no method that chooses."""


class Misspelt(league.Player):
    def choose_party(self, call: object) -> str:
        return "even"


def test_a_misspelt_method_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(league.LeagueError, match="Misspelt cannot play even_odd"):
        league.tournament([Misspelt, "random"])
    assert "Misspelt.choose_party is never called; did you mean choose_parity?" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("strategies", "sentence"),
    [
        ("random", "a tournament needs at least two strategies, and random is only one"),
        (Diarist, "a tournament needs at least two strategies, and Diarist is only one"),
        ([], "a tournament needs at least two strategies"),
        (
            [Unwritten, "random"],
            "Unwritten cannot play even_odd: it has no method choose_parity(self, call) or move(self, turn)",
        ),
        ([3, "random"], "3 is not a strategy: give its name, an object, a class, or a function choose(turn)"),
    ],
)
def test_a_script_that_orders_nonsense_gets_a_league_error(strategies: Any, sentence: str) -> None:
    with pytest.raises(league.LeagueError) as caught:
        league.tournament(strategies)
    assert str(caught.value) == sentence


# --- from a notebook, from the command line ---------------------------------------------------------------------------


def test_it_works_inside_a_running_loop_with_async_strategies(mine: Path) -> None:
    async def cell() -> Any:
        return league.tournament([f"{mine}:First", "random"], game="tic_tac_toe", meetings=4, seed=1, jobs=1)

    assert asyncio.run(cell()).document["matches"] == 4


def test_the_command_prints_a_table_or_one_document_and_writes_files(
    mine: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "results"
    arguments = ["tournament", "--strategy", f"{mine}:Faulty,random", "--meetings", "6", "--seed", "4", "--jobs", "1"]
    assert main([*arguments, "--to", str(folder)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split()[:3] == ["strategy", "played", "won"]
    assert any("failed 1 times: ValueError: my bug" in line for line in lines)
    assert main([*arguments, "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    kept = json.loads((folder / "tournament.json").read_text("utf-8"))
    assert same(kept) == {**same(document), "repeat": kept["repeat"]}
    assert len(kept["repeat"]["strategies"][f"{mine}:Faulty"]) == 64
    matches = list(csv.DictReader((folder / "matches.csv").read_text("utf-8").splitlines()))
    assert [one["ended"] for one in matches][1:3] == ["FIRST_FAILED", "FIRST_FAILED"]
    import pyarrow.parquet

    table = pyarrow.parquet.read_table(folder / "standings.parquet").to_pylist()
    assert [row["strategy"] for row in table] == [row["strategy"] for row in document["standings"]]


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--strategy", "random"], "at least two strategies"),
        (["--strategy", "rnadom,mirror"], "there is no strategy 'rnadom'; did you mean random?"),
        (["--strategy", "nowhere.py:Mine,mirror"], "there is no file nowhere.py"),
        (["--strategy", "random,mirror", "--meetings", "0"], "at least 1"),
        (["--strategy", "random,mirror", "--move-seconds", "0"], "must be more than 0 seconds"),
        (["--strategy", "random,mirror", "--game", "chess"], "there is no game 'chess'"),
    ],
)
def test_what_cannot_be_played_is_told_in_a_sentence(
    arguments: list[str], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["tournament", *arguments]) in (1, 2)
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert told in err


def test_a_tournament_that_is_killed_leaves_no_process_behind(tmp_path: Path) -> None:
    (tmp_path / "slow.py").write_text(
        "import os, pathlib, time\n"
        "class Slow:\n"
        "    def choose(self, turn):\n"
        "        pathlib.Path(f'worker-{os.getpid()}').touch()\n"
        "        time.sleep(0.01)\n"
        "        return turn.options[0]\n",
        "utf-8",
    )
    command = [sys.executable, "-m", "league", "tournament", "--strategy", "./slow.py:Slow,random"]
    process = subprocess.Popen([*command, "--meetings", "100000", "--jobs", "2"], cwd=tmp_path)
    try:
        workers = _until(lambda: [int(one.name.partition("-")[2]) for one in tmp_path.glob("worker-*")])
        assert process.pid not in workers
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()
    _until(lambda: not any(_is_running(one) for one in workers))


def _until(condition: Any, seconds: float = 60.0) -> Any:
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        if found := condition():
            return found
        time.sleep(0.05)
    raise AssertionError("it did not come about")


def _is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    state = Path(f"/proc/{pid}/stat")
    return not state.exists() or state.read_text().rpartition(")")[2].split()[0] != "Z"


def test_built_in_strategies_say_so_when_they_do_not_fit_a_game(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["--strategy", "frequency,random,always_odd", "--meetings", "2", "--jobs", "1"]
    assert main(["tournament", *arguments, "--game", "tic_tac_toe"]) == 0
    out = capsys.readouterr().out
    assert "frequency is made for even_odd: in tic_tac_toe it chooses at random." in out
    assert "always_odd is made for even_odd: in tic_tac_toe it always takes the last option." in out
    assert main(["tournament", *arguments]) == 0
    assert "is made for" not in capsys.readouterr().out
