"""`league compare` for agents that run: real matches over HTTP, and no answer that an agent's end could have given."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import league
from league.features.experiments.compare import compare
from tests.support.pages import ROOT, Reader, blocks
from tests.support.peer import Peer
from tests.support.processes import Process, Processes
from tests.support.scripts import DECLINE, Reaction, Script, on

NOWHERE = "http://127.0.0.1:9/mcp"
FILE = """
from league import Player

class First(Player):
    games = ("tic_tac_toe",)

    def move(self, turn):
        return turn.options[0]

class Last(Player):
    games = ("tic_tac_toe",)

    def move(self, turn):
        return turn.options[-1]
"""


def agent(processes: Processes, strategy: str, game: str = "tic_tac_toe") -> Process:
    """A player whose league never begins: nobody is at its manager's address."""
    return processes.start("player", manager=NOWHERE, strategy=strategy, game=game)


def guest(script: Script = ()) -> Peer:
    return Peer("guest", script, agent_id="P01")


def test_agents_that_run_are_compared_as_the_page_says(processes: Processes) -> None:
    page = (ROOT / "docs" / "how-to" / "compare-strategies.md").read_text("utf-8")
    new, old, question = blocks(page.partition("### Agents that run")[2])[:3]
    reader = Reader(processes)
    reader.follow([new, old])
    [(line, _)] = question.runs
    ended = reader.run(f"{line} --json")
    assert (ended.returncode, ended.stderr) == (0, "")
    document = json.loads(ended.stdout)
    reader.leave()
    assert document["decision"] == "better"
    assert document["matches"] >= 32
    assert document["interval"][0] > 0
    assert document["failures"] == []


def test_matches_over_http_have_the_seats_and_openings_of_those_without_servers(processes: Processes) -> None:
    file = Path(processes.folder, "mine.py")
    file.write_text(FILE)
    url = agent(processes, f"{file}:First").endpoint
    settings = {"game": "tic_tac_toe", "seed": 1, "openings": 4, "elo1": 5.0}
    without_servers = compare(f"{file}:First", f"{file}:Last", jobs=1, **settings)  # type: ignore[arg-type]
    as_new = compare(url, f"{file}:Last", **settings)  # type: ignore[arg-type]
    as_old = compare(f"{file}:First", agent(processes, f"{file}:Last").endpoint, **settings)  # type: ignore[arg-type]
    for over_http in (as_new, as_old):
        for name in ("decision", "matches", "distinct_matches", "scores", "elo", "openings", "failures"):
            assert over_http.document[name] == without_servers.document[name]


def test_an_agent_that_is_killed_ends_the_comparison_without_an_answer(processes: Processes) -> None:
    new = agent(processes, "random")
    old = agent(processes, "random")

    def kill_early(played: int, _: int) -> None:
        if played >= 4 and old.is_running:
            old.kill()

    with pytest.raises(league.LeagueError, match="does not answer any more") as error:
        league.compare(new.endpoint, old.endpoint, game="tic_tac_toe", elo1=5, progress=kill_early)
    assert str(error.value).startswith(old.endpoint)
    assert "the comparison ends without an answer, after 4 matches" in str(error.value)


def test_nobody_at_the_address_is_one_sentence_and_status_1(processes: Processes) -> None:
    ended = processes.run("compare", "random", "http://127.0.0.1:9")
    assert (ended.returncode, ended.stdout) == (1, "")
    assert ended.stderr.startswith("league compare: nobody answers at http://127.0.0.1:9/mcp: connection refused")
    assert ended.stderr.count("\n") == 1


def test_a_technical_loss_counts_and_is_named() -> None:
    with guest(on("GAME_INVITATION", DECLINE, Reaction())) as peer:
        answer = compare(peer.endpoint, "random", elo1=5, max_matches=32, seed=1)
    assert (answer.decision, answer.matches) == ("undecided", 32)
    (failure,) = answer.document["failures"]
    assert failure == {"strategy": peer.endpoint, "failure": "declined the invitation", "times": 1}


def test_an_agent_that_always_fails_ends_the_comparison_without_an_answer() -> None:
    says_even = on("CHOOSE_PARITY_CALL", Reaction(fields={"parity_choice": "Even"}))
    with guest(says_even) as peer, pytest.raises(league.LeagueError) as error:
        compare("random", peer.endpoint, seed=1, move_seconds=0.2)
    assert str(error.value).startswith(f"{peer.endpoint} lost twice in a row by its own fault (E004")
    assert "without an answer, after 1 match;" in str(error.value)


def test_an_agent_cannot_play_against_itself() -> None:
    with pytest.raises(league.LeagueError, match="cannot play against itself"):
        league.compare("http://127.0.0.1:9", "http://127.0.0.1:9/mcp")


def test_a_tournament_names_the_commands_for_agents_that_run() -> None:
    with pytest.raises(league.LeagueError, match="is a running agent"):
        league.tournament(["random", "http://127.0.0.1:9"])
