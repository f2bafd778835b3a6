"""`league spar`: friendly matches against real agents that are registered nowhere."""

from __future__ import annotations

import json
import signal
from typing import Any

import pytest

from league.events import MatchDecided, MoveMade
from league.features.workshop.sparring import REGISTERED
from league.hosting.author.author_checks import BLOCKS
from league.storage.reading import open_for_reading
from tests.support.dialects import CONVENTIONS
from tests.support.peer import Peer
from tests.support.processes import Process, Processes
from tests.support.scripts import BROADCASTS, DECLINE, HANG, MATCH_CALLS, POSTED, Reaction, Script, always, on

GUEST = "P01"
SCALE = 5.0
"""For matches in which silence or corrections are waited for. Our own agents have a second to answer an invitation, and
four tries."""
SAYS_EVEN = on("CHOOSE_PARITY_CALL", Reaction(fields={"parity_choice": "Even"}))


def guest(script: Script = ()) -> Peer:
    return Peer("guest", script, agent_id=GUEST)


def sparred(processes: Processes, url: str, *options: str, time_scale: float = 1.0) -> tuple[int, dict[str, Any]]:
    """The exit status and the document of `league spar --json`."""
    ended = processes.run("spar", url, "--time-scale", str(time_scale), "--json", *options)
    assert ended.stderr == ""
    assert not any(f"tok_{owner}" in ended.stdout for owner in ("P", "REF", "league"))
    document: dict[str, Any] = json.loads(ended.stdout)
    return ended.returncode, document


def clauses(document: dict[str, Any]) -> dict[str, tuple[str, str]]:
    """What was found: the clause, with the code and what it cost."""
    return {one["clause"]["requirement"]: (one["code"], one["cost"]) for one in document["findings"]}


def test_a_good_player_plays_all_its_matches(processes: Processes) -> None:
    with guest() as peer:
        status, document = sparred(processes, peer.endpoint, "--matches", "6", "--against", "always_odd,mirror")
    assert (status, document["ended"], document["played"], document["technical_losses"]) == (0, "played", 6, 0)
    assert document["won"] + document["drawn"] + document["lost"] == 6
    assert document["choices"] == {"even": 6}
    assert document["findings"] == []
    assert [one["opponent"] for one in document["matches"]] == ["Always Odd", "Mirror"] * 3
    assert {one["call"]: one["answered"] for one in document["response_times"]} == {
        "GAME_INVITATION": 6,
        "CHOOSE_PARITY_CALL": 6,
        "GAME_OVER": 6,
    }
    assert any("always chose even" in hint for hint in document["hints"])
    assert document["explanation"]["match_id"] == document["explained"]


def test_a_guest_hears_of_nothing_but_its_matches(processes: Processes) -> None:
    with guest() as peer:
        assert sparred(processes, peer.endpoint, "--matches", "2")[0] == 0
    heard = [one.kind for one in peer.received if one.kind in BROADCASTS]
    assert heard == ["ROUND_ANNOUNCEMENT"] * 2
    sides = [one.message["role_in_match"] for one in peer.requests("GAME_INVITATION")]
    assert sides == ["PLAYER_A", "PLAYER_B"]


def test_each_match_has_its_line_and_the_end_its_explanation(processes: Processes) -> None:
    with guest() as peer:
        base = peer.endpoint.removesuffix("/mcp")  # the path is added
        ended = processes.run("spar", base, "--matches", "2", "--against", "always_even")
    assert (ended.returncode, ended.stderr) == (0, "")
    lines = ended.stdout.splitlines()
    assert lines[0] == f"2 friendly matches of even_odd: {peer.endpoint} against Always Even"
    assert lines[1].startswith("1/2  drawn  you even, Always Even even, the number was ")
    assert "Verdict: DRAW" in lines
    assert "GAME_INVITATION" in ended.stdout


def test_a_player_that_says_even_with_a_capital_is_told_what_to_change(processes: Processes) -> None:
    with guest(SAYS_EVEN) as peer:
        status, document = sparred(processes, peer.endpoint, "--move-seconds", "10", time_scale=SCALE)
        shown = processes.run("spar", peer.endpoint, "--move-seconds", "10", "--time-scale", str(SCALE))
    assert (status, document["ended"], document["planned"], document["played"]) == (1, "stopped", 20, 2)
    assert clauses(document) == {"CHOOSE_PARITY_RESPONSE.parity_choice": ("E004", "the match")}
    assert document["explained"] == document["matches"][0]["match_id"]
    assert document["explanation"]["verdict"]["at_fault"] == [GUEST]
    assert shown.returncode == 1
    assert "Stopped after two technical losses in a row: 18 matches not played." in shown.stdout
    assert "lower case" in shown.stdout
    assert "Verdict: TECHNICAL_LOSS" in shown.stdout


@pytest.mark.parametrize(
    ("script", "code", "requirement"),
    [
        (always(HANG), "E001", "JOIN.in_time"),
        (on("CHOOSE_PARITY_CALL", HANG), "E001", "CHOICE.in_time"),
        (on("GAME_INVITATION", DECLINE), "DECLINED", "MATCH.declined_is_technical_loss"),
    ],
    ids=["silent", "joins and is silent", "declines"],
)
def test_two_technical_losses_in_a_row_are_enough(
    processes: Processes, script: Script, code: str, requirement: str
) -> None:
    with guest(script) as peer:
        status, document = sparred(processes, peer.endpoint, "--move-seconds", "5", time_scale=SCALE)
    assert (status, document["ended"], document["technical_losses"]) == (1, "stopped", 2)
    assert clauses(document) == {requirement: (code, "the match")}


def test_what_was_made_good_is_found_and_what_was_let_pass_is_not(processes: Processes) -> None:
    wrong, sloppy = Reaction(fields={"parity_choice": "Even"}), Reaction(fields={"sender": "players:P01"})
    deaf = Reaction(rpc={"result": None, "error": {"code": -32601, "message": "no such method"}})
    script = (*on("CHOOSE_PARITY_CALL", wrong, Reaction()), *on("GAME_INVITATION", sloppy), *on("GAME_OVER", deaf))
    with guest(script) as peer:
        status, document = sparred(processes, peer.endpoint, "--matches", "3", time_scale=SCALE)
    assert (status, document["technical_losses"]) == (0, 0)
    assert clauses(document) == {"CHOOSE_PARITY_RESPONSE.parity_choice": ("E004", "a retry or a correction")}


def test_a_player_that_answers_with_requests_of_its_own_finds_the_referee(processes: Processes) -> None:
    with guest(on(MATCH_CALLS, POSTED)) as peer:
        status, document = sparred(processes, peer.endpoint, "--matches", "2")
    assert (status, document["played"], document["technical_losses"]) == (0, 2, 0)


@pytest.mark.parametrize("convention", ["TOOLS", "NESTED"])
def test_a_player_with_a_way_of_its_own_is_understood_and_told_so(processes: Processes, convention: str) -> None:
    with Peer("guest", convention=CONVENTIONS[convention], agent_id=GUEST) as peer:
        status, document = sparred(processes, peer.endpoint, "--matches", "2")
    assert (status, document["technical_losses"], document["convention"]) == (0, 0, convention)
    assert any(f"It was called as {convention}" in hint for hint in document["hints"])
    assert document["findings"] == []


def test_our_own_player_spars_before_it_is_registered_and_again(processes: Processes) -> None:
    player = processes.start("player", manager="http://127.0.0.1:9/mcp", strategy="alternate")
    for _ in range(2):
        status, document = sparred(processes, player.endpoint, "--matches", "4")
        assert (status, document["played"], document["findings"]) == (0, 4, [])
        assert document["choices"] == {"even": 2, "odd": 2}
    assert player.stop() == 0


def test_other_games_are_played_too(processes: Processes) -> None:
    with guest() as peer:
        status, document = sparred(processes, peer.endpoint, "--game", "tic_tac_toe", "--matches", "2")
    assert (status, document["played"]) == (0, 2)
    assert {"GAME_MOVE_CALL", "GAME_INVITATION"} <= {one["call"] for one in document["response_times"]}


PLAYERS = """
from league import Player, serve

class Dropper(Player):
    games = ("connect_four",)

    def move(self, turn):
        return turn.options[0]

class Raiser(Player):
    def move(self, turn):
        raise ValueError("boom")

if __name__ == "__main__":
    serve(PLAYING())
"""


def test_the_game_of_a_player_is_found_out(processes: Processes) -> None:
    file = processes.folder / "dropper.py"
    file.write_text(PLAYERS.replace("PLAYING", "Dropper"), "utf-8")
    player = processes.script(file, manager="http://127.0.0.1:1/mcp")
    status, document = sparred(processes, player.endpoint, "--matches", "2")
    assert (status, document["game_type"], document["technical_losses"]) == (0, "connect_four", 0)


def test_an_error_in_the_code_of_a_player_is_called_one(processes: Processes) -> None:
    file = processes.folder / "raiser.py"
    file.write_text(PLAYERS.replace("PLAYING", "Raiser"), "utf-8")
    player = processes.script(file, manager="http://127.0.0.1:1/mcp", time_scale=SCALE)
    ended = processes.run("spar", player.endpoint, "--matches", "1", "--time-scale", str(SCALE))
    report, _, _ = ended.stdout.partition("--- Match 1 in detail")
    assert "its code raised ValueError at the call for a choice; retry 1 follows" in report
    assert "To change, 1: an error in its code [" in report
    assert "CONNECTION_ERROR" not in report
    assert "CONNECTION_ERROR" not in player.output


def test_a_registered_player_lets_nobody_else_speak_to_it_and_a_copy_spars(processes: Processes) -> None:
    file = processes.folder / "dropper.py"
    file.write_text(PLAYERS.replace("PLAYING", "Dropper"), "utf-8")
    manager = processes.manager(players=2, game="connect_four")
    player = processes.script(file, manager=manager.endpoint)
    player.said("registered as P01")
    ended = processes.run("spar", player.endpoint)
    assert (ended.returncode, ended.stdout) == (2, "")
    assert ended.stderr == f"league spar: {player.endpoint} {REGISTERED}\n"
    status, document = sparred(processes, f"{file}:Dropper", "--matches", "2")
    assert (status, document["played"], document["technical_losses"]) == (0, 2, 0)
    assert (document["player"] != player.endpoint, document["game_type"]) == (True, "connect_four")
    assert player.stop() == 0
    assert "won" not in player.output
    assert "lost" not in player.output
    assert manager.output.count(" registered, at ") == 1


def test_a_copy_is_a_process_of_its_own_so_code_that_blocks_loses(processes: Processes) -> None:
    file = processes.folder / "sleeper.py"
    file.write_text(SLEEPER, "utf-8")
    ended = processes.run("spar", f"{file}:Sleeper", "--matches", "1", "--move-seconds", "2", "--time-scale", "5")
    assert ended.returncode == 1
    assert "1/1  technical loss: E001" in ended.stdout
    assert f"Sleeper.move {BLOCKS}" in ended.stderr
    assert "Sleeper in R1M" in ended.stderr
    assert "registered" not in ended.stdout + ended.stderr


SLEEPER = """
import time
from league import Player

class Sleeper(Player):
    games = ("connect_four",)

    async def move(self, turn):
        self.ponder()
        return turn.options[0]

    def ponder(self):
        time.sleep(3)
"""


@pytest.mark.parametrize(
    ("player", "complaint"),
    [
        ("raiser.py", "name its class, too: raiser.py:Dropper or raiser.py:Raiser"),
        ("raiser.py:Riser", "raiser.py has no class 'Riser'"),
        ("raiser.py:Raiser --game nim", "there is no game 'nim'"),
    ],
)
def test_a_copy_that_cannot_be_made_is_told_at_once(processes: Processes, player: str, complaint: str) -> None:
    file = processes.folder / "raiser.py"
    file.write_text(PLAYERS.replace("PLAYING", "Raiser"), "utf-8")
    ended = processes.run("spar", *player.split())
    assert ended.returncode != 0
    assert complaint in ended.stderr


def test_only_players_spar(processes: Processes) -> None:
    manager = processes.manager(players=2)
    referee = processes.referee(manager)
    referee.said("registered as REF01")
    for agent, who in ((manager, "league_manager"), (referee, "referee REF01")):
        told = f"{agent.endpoint}: this is {who}, not a player\n"
        assert processes.run("spar", agent.endpoint).stderr == f"league spar: {told}"
        assert processes.run("compare", agent.endpoint, "random").stderr == f"league compare: {told}"


def test_who_is_not_there_is_told_at_once(processes: Processes) -> None:
    with guest() as peer:
        gone = peer.endpoint
    ended = processes.run("spar", gone)
    assert (ended.returncode, ended.stdout) == (2, "")
    assert ended.stderr.count("\n") == 1
    assert f"nobody answers at {gone}: connection refused. Start the agent" in ended.stderr


@pytest.mark.parametrize("page", [b"<html>no page here</html>", b'{"detail":"Not Found"}'], ids=["page", "FastAPI"])
def test_a_path_that_serves_nothing_is_told_at_once(processes: Processes, page: bytes) -> None:
    with guest(always(Reaction(status=404, reason="Not Found", body=page))) as peer:
        ended = processes.run("spar", peer.endpoint)
    assert (ended.returncode, ended.stdout) == (1, "")
    assert "HTTP status 404" in ended.stderr


def test_who_has_no_ping_may_still_play(processes: Processes) -> None:
    unknown = Reaction(status=404, reason="Not Found", body=b'{"error":"unknown method ping"}')
    with guest(on("ping", unknown)) as peer:
        status, document = sparred(processes, peer.endpoint, "--matches", "2")
    assert (status, document["played"], document["technical_losses"]) == (0, 2, 0)


def test_a_journal_that_is_kept_explains_every_match_and_is_not_written_twice(processes: Processes) -> None:
    with guest() as peer:
        _, document = sparred(processes, peer.endpoint, "--matches", "2", "--journal", "friendly.db")
        again = processes.run("spar", peer.endpoint, "--journal", "friendly.db")
    for bout in document["matches"]:
        told = processes.run("explain", bout["match_id"], "--journal", "friendly.db")
        assert (told.returncode, told.stderr) == (0, "")
        assert "Nobody was at fault" in told.stdout
    assert again.returncode == 1
    assert "friendly.db exists already" in again.stderr


def test_a_seed_repeats_what_a_random_opponent_chooses(processes: Processes) -> None:
    chosen = []
    with guest() as peer:
        for _ in range(2):
            _, document = sparred(processes, peer.endpoint, "--matches", "10", "--seed", "7")
            chosen.append([one["opponent_choices"] for one in document["matches"]])
    assert chosen[0] == chosen[1]
    assert len({tuple(one) for one in chosen[0]}) == 2


def test_ctrl_c_ends_it_cleanly_with_what_was_played(processes: Processes) -> None:
    with guest(on("GAME_INVITATION", Reaction(), HANG)) as peer:
        arguments = ["spar", peer.endpoint, "--journal", "friendly.db"]
        process = Process("spar", arguments, processes.folder)
        processes.started.append(process)
        process.said(" 1/20")
        peer.saw("GAME_INVITATION", 2)
        process.signal(signal.SIGINT)
        assert process.wait() == 130
    # It comes by another pipe than the report, so that their order cannot be seen here.
    assert process.lines.count("league spar: interrupted after 1 match") == 1
    assert any(line.startswith("--- Match 1 in detail") for line in process.lines)
    with open_for_reading(processes.folder / "friendly.db") as journal:
        assert [type(one) for one in journal.events() if isinstance(one, MatchDecided | MoveMade)] == [
            MoveMade,
            MoveMade,
            MatchDecided,
        ]


@pytest.mark.parametrize(
    "arguments",
    [
        ("ftp://127.0.0.1",),
        ("127.0.0.1:1", "--matches", "0"),
        ("127.0.0.1:1", "--against", "nobody"),
        ("127.0.0.1:1", "--game", "chess"),
        ("127.0.0.1:1", "--json", "--against", "human"),
        ("127.0.0.1:1", "--id", "P99"),
        ("127.0.0.1:1", "--move-seconds", "soon"),
    ],
)
def test_wrong_usage_is_one_sentence(processes: Processes, arguments: tuple[str, ...]) -> None:
    ended = processes.run("spar", *arguments)
    assert (ended.returncode, ended.stdout) == (2, "")
    assert ended.stderr.count("\n") == 1
