"""Programs by authors who read one of the five documents and no other (tests/documents), as real processes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import pytest

from league.events import (
    LeagueFinished,
    MatchDecided,
    MatchLost,
    PlayerFaulted,
    ResultAccepted,
)
from tests.support.processes import Process, Processes, assert_kept

PROGRAMS = Path(__file__).parents[1] / "documents"
DEFINED = {
    ("D0", "player"): "d0_player",
    ("D0", "referee"): "d0_referee",
    ("D0", "manager"): "d0_manager",
    ("D1", "player"): "d1_player",
    ("D1", "referee"): "d1_referee",
    ("D1", "manager"): "d1_manager",
    ("D2", "player"): "d2_player",
    ("D2", "referee"): "d2_referee",
    ("D4", "player"): "d4_player",
    ("D4", "referee"): "d4_referee",
    ("D4", "manager"): "d4_manager",
}
NOT_DEFINED = {
    ("D2", "manager"): "it lists a manager's messages and prints no field of an announcement, a table or an end",
    ("D3", "player"): "it prints the envelope, the answer to a registration and two errors; no answer in a match",
    ("D3", "referee"): "it prints one message of a match, the envelope of an invitation; no call and no report",
    ("D3", "manager"): "it prints the answer to a player's registration and an error; nothing else",
}
"""Roles that nobody can write from that document alone, and why. Stand-ins with the fields of another document play
them in test_documents.py."""
PLAYERS = ("d0_player", "d1_player", "d2_player", "d4_player")
REFEREES = ("d0_referee", "d1_referee", "d2_referee", "d4_referee")
REMEDIES = {"E003": "is missing", "E011": "send the one your registration was answered with"}
"""What the author of a refused report reads."""
BY_DEFAULT = "only with --trust class does "
"""What the operator reads beside it."""
WITHOUT_TOKEN = ("d0_referee", "d2_referee")


def begin(processes: Processes, program: str, manager: Process | str = "", name: str = "", **options: Any) -> Process:
    """Start a program; an agent has registered when this returns (Any: options of the command line)."""
    started = processes.script(PROGRAMS / f"{program}.py", manager, name=name or program, **options)
    if not program.endswith("manager"):
        started.said("registered: ACCEPTED")
    return started


def page(league: Process, path: str) -> Any:
    """A page of the manager (Any: JSON)."""
    with urlopen(league.endpoint.removesuffix("/mcp") + path, timeout=10) as answer:
        return json.load(answer)


def homes(league: Process, count: int) -> tuple[str, ...]:
    """Where so many players live, as authors configure their referees."""
    rows: list[Any] = []
    while len(rows) < count:
        rows = [row for row in page(league, "/api/agents")["agents"] if row["role"] == "player"]
    return tuple(f"{row['agent_id']}={row['endpoint']}" for row in rows)


def assert_played(processes: Processes, matches: int) -> None:
    results = processes.events("manager", ResultAccepted)
    assert len(results) == matches
    assert {result.status for result in results} <= {"WIN", "DRAW"}
    assert processes.events("manager", MatchLost) == []
    assert len(processes.events("manager", LeagueFinished)) == 1
    assert processes.bugs == []


def test_every_document_and_role_has_its_program_or_a_reason() -> None:
    roles = {(f"D{number}", role) for number in range(5) for role in ("player", "referee", "manager")}
    assert DEFINED.keys() | NOT_DEFINED.keys() == roles
    assert not DEFINED.keys() & NOT_DEFINED.keys()
    written = {file.stem for file in PROGRAMS.glob("d*.py")}
    assert written == {*DEFINED.values()}


# --- players under our manager and referee ----------------------------------------------------------------------------


@pytest.mark.requirement("DIALECT.one_document")
@pytest.mark.requirement("TRUST.answers_by_address")
def test_players_of_every_document_play_one_league(processes: Processes) -> None:
    """The player of D4 also measures that matches begin after their announcement and tables follow results."""
    settings = processes.folder / "league.toml"
    settings.write_text("announcement_lead_s = 1.0\n", encoding="utf-8")
    league = processes.manager(players=len(PLAYERS) + 1, trust="class", config=settings)
    players = [begin(processes, program, league, lead=0.9) for program in PLAYERS]
    ours = processes.players(league)
    referee = processes.referee(league, max_concurrent_matches=3)
    assert (ours.wait(), referee.wait()) == (0, 0)
    assert [player.wait() for player in players] == [0] * len(players)
    assert league.stop() == 0
    assert processes.events("referee", PlayerFaulted) == []
    count = len(PLAYERS) + 1
    assert_played(processes, count * (count - 1) // 2)
    for player in players:
        assert len(player.said("over: ", count - 1)) == count - 1
        assert [line for line in player.lines if line.startswith(("broken: ", "refused: "))] == []
    assert_kept(processes)


# --- referees under our manager ---------------------------------------------------------------------------------------


@pytest.mark.requirement("DIALECT.one_document")
@pytest.mark.requirement("TRUST.reports_by_address")
@pytest.mark.parametrize("program", REFEREES)
def test_a_referee_and_a_player_of_every_document_play_in_a_league_of_ours(program: str, processes: Processes) -> None:
    league = processes.manager(players=4, trust="class")
    player = begin(processes, program.replace("referee", "player"), league)
    ours = processes.players(league, count=3)
    referee = begin(processes, program, league, player=homes(league, 4))
    assert (ours.wait(), player.wait(), referee.wait(), league.stop()) == (0, 0, 0, 0)
    assert [line for line in referee.lines if line.startswith(("technical loss", "refused"))] == []
    assert_played(processes, 6)
    results = processes.events("manager", ResultAccepted)
    assert {bool(result.origin) for result in results} == {program in WITHOUT_TOKEN}


@pytest.mark.requirement("REFUSED.shown")
@pytest.mark.parametrize(("program", "code"), [("d0_referee", "E003"), ("d2_referee", "E011")])
def test_by_default_everybody_reads_why_a_report_was_refused(program: str, code: str, processes: Processes) -> None:
    league = processes.manager(players=2)
    ours = processes.players(league, count=2)
    referee = begin(processes, program, league, player=homes(league, 2))
    # The author's program prints the answer to its report.
    referee.said("reported: R1M1")
    assert any(code in line for line in referee.lines), referee.output
    state = page(league, "/api/league")
    assert (state["waiting"], f"R1M1: {code}" in state["waiting_reason"]) == ("WAITING_FOR_REPORT", True)
    assert [row["code"] for row in page(league, "/api/matches/R1M1")["refused"]] == [code]
    told = processes.run("explain", "R1M1", "--manager", league.endpoint).stdout
    assert "came and was refused, because" in told
    (line,) = league.said("refused the report of R1M1")
    for words in (REMEDIES[code], BY_DEFAULT):
        assert words in line
        assert words in " ".join(told.split())
    assert (league.stop(), ours.stop()) == (0, 0)
    assert processes.events("manager", ResultAccepted) == []


@pytest.mark.requirement("REFUSED.shown")
@pytest.mark.requirement("MATCH.refused_answers_noted")
def test_by_default_everybody_reads_why_an_answer_was_refused(processes: Processes) -> None:
    """The player of D0 is the only one whose answers count in no league by default."""
    league = processes.manager(players=2)
    player = begin(processes, "d0_player", league)
    ours = processes.players(league)
    referee = processes.referee(league, time_scale=5)
    assert (ours.wait(), player.wait(), referee.wait()) == (0, 0, 0)
    reason = "it shows neither the conversation_id of the call nor a token"
    remedy = "repeat the conversation_id of the call, or show the token you registered with"
    # The author reads the answer to its request, and then GAME_ERROR.
    assert all(words in player.said("refused: E012")[0] for words in (reason, remedy))
    assert all(words in player.said("error: E001")[0] for words in ("an answer came and was refused", reason, remedy))
    terminals = {
        'by the record of REF01, R1M1: an answer from somebody at 127.0.0.1, claiming to be P01 "d0_player",': league,
        "R1M1: an answer from somebody at 127.0.0.1, claiming to be P01,": referee,
    }
    for start, terminal in terminals.items():
        (line,) = terminal.said(start)
        assert all(words in line for words in (reason, remedy, BY_DEFAULT)), line
    told = " ".join(processes.run("explain", "R1M1", "--manager", league.endpoint).stdout.split())
    assert (
        f"An answer from somebody at 127.0.0.1, claiming to be P01 (d0_player), was refused, because {reason}" in told
    )
    assert "The simplest remedy: answer in the result of the same HTTP request" in told
    assert BY_DEFAULT in told
    assert league.stop() == 0


# --- all of them ------------------------------------------------------------------------------------------------------


@pytest.mark.requirement("DIALECT.one_document")
@pytest.mark.requirement("DIALECT.conversant")
def test_with_trust_class_all_programs_make_one_league_without_a_technical_loss(processes: Processes) -> None:
    """Referees of one document cannot speak to players of another. The referee of the operator, which finds the
    enrolment key by itself, plays the matches of such players."""
    count = len(PLAYERS) + 2
    league = processes.manager(players=count, referees=len(REFEREES) + 1, trust="class", rounds=3)
    players = [begin(processes, program, league) for program in PLAYERS]
    ours = processes.players(league, count=2)
    whistle = processes.referee(league, max_concurrent_matches=8)
    referees = [begin(processes, program, league, player=homes(league, count)) for program in REFEREES]
    assert (ours.wait(), whistle.wait()) == (0, 0)
    assert [agent.wait() for agent in (*players, *referees)] == [0] * (len(players) + len(referees))
    assert league.stop() == 0
    assert_played(processes, 3 * count // 2)


# --- our agents under managers ----------------------------------------------------------------------------------------


def registered_homes(league: Process, count: int) -> tuple[str, ...]:
    rows = [line.split() for line in league.said("registered: P", count)]
    return tuple(f"P{number}={endpoint}" for number, endpoint in rows)


@pytest.mark.requirement("DIALECT.one_document")
@pytest.mark.requirement("REFEREE.asks_for_schedule")
@pytest.mark.requirement("TRUST.answers_by_address")
@pytest.mark.parametrize(("document", "trust"), [("d0", "class"), ("d4", "tokens")])
def test_our_referee_and_players_play_under_a_manager_that_tells_referees_nothing(
    document: str, trust: str, processes: Processes
) -> None:
    """D0's player shows neither conversation nor token. Its manager does not know of trust, so our referee is told."""
    league = begin(processes, f"{document}_manager", players=4, lead=1.0)
    player = begin(processes, f"{document}_player", league)
    ours = processes.players(league, count=3)
    referee = processes.referee(league, player=registered_homes(league, 4), trust=trust, time_scale=5)
    assert (ours.wait(), referee.wait(), player.wait(), league.wait()) == (0, 0, 0, 0)
    decided = processes.events("referee", MatchDecided)
    assert len(decided) == 6
    assert {match.status for match in decided} <= {"WIN", "DRAW"}
    (table,) = league.said("table: ")
    assert table.count(", 3)") == 4
    assert [line for line in league.lines if line.startswith("refused: ")] == []
    assert processes.bugs == []


@pytest.mark.requirement("REPORT.table_compared")
def test_the_operator_reads_that_draws_are_miscounted_and_the_word_that_counts_is_found(processes: Processes) -> None:
    league = begin(processes, "d0_manager", players=4, draw_word="DRAW")
    ours = processes.players(league, count=4, strategy="always_even")
    referee = processes.referee(league, player=registered_homes(league, 4), time_scale=5)
    assert (ours.wait(), referee.wait(), league.wait()) == (0, 0, 0)
    winners = [line.split()[1] for line in league.said("got: ", 6)]
    assert winners == ["None", *["DRAW"] * 5]
    lines = [line for line in referee.lines if "the manager's table is wrong" in line]
    assert len(lines) == 1
    assert "draws of P0" in lines[0]


@pytest.mark.requirement("ERROR.shown")
def test_the_author_of_our_player_reads_what_it_refuses(processes: Processes) -> None:
    """One invitation lacks what goes without saying, the other its round, too."""
    league = begin(processes, "d0_manager", players=2)
    player = processes.players(league)
    player.said("registered as P01")
    short = {"message_type": "GAME_INVITATION", "sender": "referee:REF01", "match_id": "R1M1", "opponent_id": "P02"}
    answers = []
    for message in ({**short, "round_id": 1}, short):
        request = {"jsonrpc": "2.0", "id": 1, "method": "handle_game_invitation", "params": message}
        body = json.dumps(request).encode()
        with urlopen(Request(player.endpoint, body, {"Content-Type": "application/json"}), timeout=10) as answer:
            answers.append(json.load(answer))
    assert answers[0]["result"]["accept"] is True
    assert answers[1]["error"]["data"]["error_code"] == "E003"
    (line,) = player.said("refused GAME_INVITATION about R1M1 from referee:REF01 at 127.0.0.1: E003 ")
    assert "round_id" in line


@pytest.mark.requirement("REGISTER.default_ids")
def test_under_a_manager_that_reads_ids_from_senders_our_agents_play_by_the_ids_they_name(processes: Processes) -> None:
    league = begin(processes, "d4_manager", players=4, reads_senders=True)
    ours = processes.players(league, count=4, id="P01")
    referee = processes.referee(league, id="REF01", player=registered_homes(league, 4), time_scale=5)
    assert (ours.wait(), referee.wait(), league.wait()) == (0, 0, 0)
    assert len({match.match_id for match in processes.events("referee", MatchDecided)}) == 6
    (table,) = league.said("table: ")
    assert all(f"('P0{number}', 3)" in table for number in (1, 2, 3, 4))


@pytest.mark.requirement("REGISTER.default_ids")
def test_several_players_of_ours_register_in_the_order_of_their_ports(processes: Processes) -> None:
    """Managers that count give P01 to the first, and referees by the documents call P01 at the first port."""
    league = begin(processes, "d0_manager", players=6)
    ours = processes.players(league, count=6)
    endpoints = [line.removeprefix("ready: ") for line in ours.said("ready: ", 6)]
    assert registered_homes(league, 6) == tuple(f"P0{number}={home}" for number, home in enumerate(endpoints, start=1))
    assert ours.stop() == 0


@pytest.mark.requirement("REFEREE.never_ahead")
def test_our_referee_never_plays_ahead_of_a_manager_that_publishes_its_schedule_early(processes: Processes) -> None:
    """It announces rounds to players only, 23, 46 and 69 seconds after the schedule. Our referee's clock is faster."""
    scale = 20
    league = begin(processes, "d4_manager", players=4, lead=23 / scale, early=True)
    ours = processes.players(league, count=4)
    referee = processes.referee(league, player=registered_homes(league, 4), time_scale=scale)
    assert (ours.wait(), referee.wait(), league.wait()) == (0, 0, 0)
    announced = 0
    for line in league.lines:
        if line.startswith("announced: "):
            announced = int(line.split()[1])
        elif line.startswith("got: R"):
            assert int(line.removeprefix("got: R")[0]) <= announced
    assert {match.status for match in processes.events("referee", MatchDecided)} <= {"WIN", "DRAW"}
    assert processes.bugs == []


@pytest.mark.requirement("REPORT.counted_once")
@pytest.mark.parametrize("seconds", [4, 9, 11])
def test_a_manager_that_takes_long_for_every_report_gets_each_once(seconds: int, processes: Processes) -> None:
    """It looks at one request after the other, and counts at the end of its time. The referee's clock runs faster."""
    scale = 10
    league = begin(processes, "d0_manager", players=4, report_s=seconds / scale)
    ours = processes.players(league, count=4)
    referee = processes.referee(league, player=registered_homes(league, 4), time_scale=scale)
    assert (ours.wait(), referee.wait(), league.wait()) == (0, 0, 0)
    reports = [line.split()[1] for line in league.lines if line.startswith("got: ")]
    assert len(reports) == len(set(reports)) == 6
    assert processes.bugs == []


@pytest.mark.requirement("DIALECT.one_document")
@pytest.mark.parametrize("document", ["d0", "d4"])
def test_a_manager_and_a_referee_of_one_document_have_our_player_play_with_theirs(
    document: str, processes: Processes
) -> None:
    league = begin(processes, f"{document}_manager", players=2)
    theirs = begin(processes, f"{document}_player", league)
    ours = processes.players(league)
    referee = begin(processes, f"{document}_referee", league, player=registered_homes(league, 2), asks=True)
    assert (ours.wait(), theirs.wait(), referee.wait(), league.wait()) == (0, 0, 0, 0)
    assert [line for line in referee.lines if line.startswith("technical loss")] == []
    (table,) = league.said("table: ")
    assert table.count(", 1)") == 2
    assert len(theirs.said("over: ")) == 1
    assert processes.bugs == []


@pytest.mark.requirement("DIALECT.one_document")
def test_numbers_of_d1_are_refusals_that_our_agents_understand(processes: Processes) -> None:
    league = begin(processes, "d1_manager", players=2)
    first = processes.players(league, "Ann")
    league.said("registered: P01")
    namesake = processes.begin("player", "namesake", manager=league.endpoint, name="Ann")
    assert namesake.wait() == 1
    second = processes.players(league, "Ben")
    league.said("registered: P02")
    late = processes.begin("player", "late", manager=league.endpoint, name="Cid")
    assert late.wait() == 1
    referee = processes.referee(league)
    spare = processes.begin("referee", "spare", manager=league.endpoint, name="Spare")
    assert spare.wait() == 1
    for agent, words in ((namesake, "2002 Duplicate name"), (late, "2001 League full"), (spare, "1001 League full")):
        assert any(words in line for line in agent.lines), agent.output
    # One call each: a number that the document knows is an answer, not another convention.
    assert [line.split()[0] for line in league.said("refused: ")[:3]] == ["2002", "2001", "1001"]
    assert league.said("acknowledged: ", 2) == ["ACKNOWLEDGED P01 1", "ACKNOWLEDGED P02 1"]
    # Players alone may ask this manager (D1 7.1). To ask it leads to nothing, and the referee stays what it is.
    league.said("refused: 6001")
    league.said("refused: -32601")
    assert referee.is_running
    (waits, *_) = referee.said(f"{referee.endpoint} waits: ")
    assert "nobody has given this referee a match" in waits
    assert (first.stop(), second.stop(), referee.stop()) == (0, 0, 0)
    # Registered again, it would have been another referee.
    assert len([line for line in league.lines if line.startswith("refused: 1001")]) == 1
    assert processes.bugs == []
