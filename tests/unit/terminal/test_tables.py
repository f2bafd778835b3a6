"""Tables, bars and the two screens of a league."""

from __future__ import annotations

import io
import re
from typing import Any

import pytest

from league.features.demo.demo_run import measured, shared_processes
from league.features.demo.success import Share, Success
from league.terminal import tables as terminal
from league.terminal.display import width
from league.terminal.tables import LineScreen, LiveScreen, screen_for


def league(**changes: Any) -> dict[str, Any]:
    known: dict[str, Any] = {
        "league_id": "cup",
        "title": "",
        "state": "RUNNING_LEAGUE",
        "waiting": None,
        "waiting_reason": None,
        "awaited": [],
        "round": 2,
        "rounds": 3,
        "matches_completed": 3,
        "matches_total": 6,
    }
    return {**known, **changes}


def row(rank: int, name: str = "Owl") -> dict[str, Any]:
    numbers = {"played": 1, "wins": 1, "draws": 0, "losses": 0, "points": 3}
    return {"rank": rank, "player_id": f"P{rank:02}", "display_name": name, **numbers}


def table(rows: list[dict[str, Any]]) -> dict[str, Any]:
    technical = {row["player_id"]: 0 for row in rows}
    return {"version": 1, "standings": rows, "technical_losses": technical, "notes": [], "ending": None}


# --- tables -----------------------------------------------------------------------------------------------------------


def test_numbers_stand_to_the_right_and_words_to_the_left() -> None:
    assert terminal.table(("n", "name", "points"), [[1, "Owl", 10], [12, "Raven", 9]]) == [
        " n  name   points",
        " 1  Owl        10",
        "12  Raven       9",
    ]


def test_wide_letters_keep_their_columns_in_line() -> None:
    lines = terminal.table(("name", "points"), [["猫頭鷹", 1], ["Owl", 2]])
    assert len({width(line) for line in lines}) == 1


def test_a_table_without_rows_is_its_head() -> None:
    assert terminal.table(("a", "b"), []) == ["a  b"]


def test_what_others_wrote_cannot_upset_the_terminal() -> None:
    (_, line) = terminal.table(("name",), [["\x1b[2J\n\u202eevil"]])
    assert "\x1b" not in line
    assert "\n" not in line
    assert "\u202e" not in line


@pytest.mark.parametrize(("text", "columns", "shown"), [("owls", 4, "owls"), ("owls", 3, "ow…"), ("猫頭鷹", 4, "猫…")])
def test_a_line_that_is_too_long_is_cut(text: str, columns: int, shown: str) -> None:
    assert terminal.fit(text, columns) == shown


@pytest.mark.parametrize(("done", "total", "shown"), [(0, 0, "░░░░"), (0, 4, "░░░░"), (3, 6, "██░░"), (6, 6, "████")])
def test_a_bar_shows_how_far_it_is(done: int, total: int, shown: str) -> None:
    assert terminal.bar(done, total, 4) == shown


def test_numbers_agree_with_their_nouns() -> None:
    shown = [terminal.counted(1, "match"), terminal.counted(2, "match"), terminal.counted(0, "technical loss")]
    assert shown == ["1 match", "2 matches", "0 technical losses"]


# --- screens ----------------------------------------------------------------------------------------------------------


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_terminal_gets_a_live_screen_and_everything_else_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    assert isinstance(screen_for(Terminal()), LiveScreen)
    assert isinstance(screen_for(io.StringIO()), LineScreen)
    monkeypatch.setenv("TERM", "dumb")
    assert isinstance(screen_for(Terminal()), LineScreen)


def test_a_live_screen_draws_over_itself_and_leaves_nothing_behind() -> None:
    tty = Terminal()
    screen = LiveScreen(tty)
    screen.show(league(), table([row(1), row(2)]))
    screen.show(league(matches_completed=4), table([row(1), row(2)]))
    screen.end()
    screen.end()
    text = tty.getvalue()
    # bar, blank, head and two rows: five lines up before the second picture and at the end
    assert text.count("\x1b[5A") == 2
    assert "4 of 6 matches" in text
    assert text.endswith("\x1b[5A\x1b[J")


def test_a_live_screen_stays_within_the_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "30")
    monkeypatch.setenv("LINES", "10")
    tty = Terminal()
    LiveScreen(tty).show(league(), table([row(rank, "A name of many letters indeed") for rank in range(1, 100)]))
    lines = tty.getvalue().removesuffix("\x1b[J").splitlines()
    assert len(lines) < 10
    assert all(width(line.removeprefix("\x1b[2K")) < 30 for line in lines)
    assert "… and 95 more" in lines[-1]


def drawn(monkeypatch: pytest.MonkeyPatch, columns: int, lines: int, players: int, **changes: Any) -> list[str]:
    """The lines of a live screen in a terminal of that size."""
    monkeypatch.setenv("COLUMNS", str(columns))
    monkeypatch.setenv("LINES", str(lines))
    tty = Terminal()
    rows = [row(rank, f"A name of many letters {rank}") for rank in range(1, players + 1)]
    LiveScreen(tty).show(league(**changes), table(rows))
    text = re.sub(r"\x1b\[[0-9]*[A-Za-z]", "", tty.getvalue())
    drawn_lines = text.splitlines()
    assert len(drawn_lines) < lines
    assert all(width(line) < columns for line in drawn_lines)
    return drawn_lines


def test_a_small_terminal_shows_the_whole_state_and_the_whole_table(monkeypatch: pytest.MonkeyPatch) -> None:
    reason = "4 of 8 players can't be reached"
    waits = {"waiting": "WAITING_FOR_PLAYERS", "waiting_reason": reason, "awaited": ["Not answering: P03, P04."]}
    lines = drawn(monkeypatch, 80, 24, 8, **waits)
    assert f"WAITING_FOR_PLAYERS ({reason})" in " ".join(lines)
    assert "awaited: Not answering: P03, P04." in lines
    assert any(line.endswith("technical") for line in lines)
    assert not any(line.endswith("…") for line in lines)


def test_a_large_terminal_has_room_for_two_tables_and_everybody_who_is_awaited(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = drawn(monkeypatch, 200, 50, 60, awaited=["R2M1: P01 against P02, with REF01"])
    assert any("P01" in line and "P45" in line for line in lines), "the table goes on beside itself"
    assert any("P60" in line for line in lines)
    assert "awaited: R2M1: P01 against P02, with REF01" in lines
    assert width(lines[0]) > 190, "the bar has the width of the terminal"
    matches = [f"R2M{number}: P{number:02} against P{number + 10}, with REF01" for number in range(1, 11)]
    few = drawn(monkeypatch, 200, 50, 20, awaited=matches)
    assert any("P10" in line and line.endswith(matches[9]) for line in few), "matches in play stand beside the table"


def test_elsewhere_every_finished_round_is_one_line() -> None:
    stream = io.StringIO()
    screen = LineScreen(stream)
    screen.show(league(rounds=0, round=0), table([]))
    for number in (1, 1, 2, 3):
        screen.show(league(round=number), table([]))
    screen.show(league(round=3, state="LEAGUE_COMPLETED", matches_completed=6), table([]))
    screen.end()
    lines = stream.getvalue().splitlines()
    assert len(lines) == 4
    assert lines[-1] == "round 3 of 3, 6 of 6 matches, completed"


def test_a_title_stands_in_place_of_the_id(monkeypatch: pytest.MonkeyPatch) -> None:
    assert terminal.title(league()) == "cup"
    assert terminal.title(league(title="Autumn \x1b[2JCup")) == terminal.plain("Autumn \x1b[2JCup")
    assert "Autumn Cup" in drawn(monkeypatch, 80, 24, 4, title="Autumn Cup")


def test_a_league_that_waits_says_for_what() -> None:
    assert terminal.progress(league(waiting="WAITING_FOR_REFEREE")).endswith("WAITING_FOR_REFEREE")
    assert terminal.progress(league(rounds=0)) == "waiting for registrations"
    gone = league(waiting="WAITING_FOR_PLAYERS", waiting_reason="4 of 8 players can't be reached")
    assert terminal.progress(gone).endswith("WAITING_FOR_PLAYERS (4 of 8 players can't be reached)")


# --- the demo's numbers -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("referees", "players", "cores", "shared"),
    [(2, 4, 2, (2, 4)), (1, 2, 1, (1, 2)), (3, 4, 2, (3, 4)), (10, 99, 128, (10, 99))],
)
def test_few_agents_have_a_process_each(referees: int, players: int, cores: int, shared: tuple[int, int]) -> None:
    assert shared_processes(referees, players, cores) == shared


@pytest.mark.parametrize(("referees", "players"), [(2, 6), (10, 99), (1, 50), (50, 2), (200, 200)])
@pytest.mark.parametrize("cores", [1, 2, 8, 64])
def test_many_agents_share_a_few_processes(referees: int, players: int, cores: int) -> None:
    for_referees, for_players = shared_processes(referees, players, cores)
    assert 1 <= for_referees <= referees
    assert 1 <= for_players <= players
    assert 1 + for_referees + for_players <= max(8, cores)


def test_the_success_metrics_are_told_with_their_goals() -> None:
    of_all = Share(3, 4)
    nothing = Share(0, 0)
    success = Success(of_all, nothing, nothing, of_all, of_all, of_all, 0.0125, 0.002, 6, 0.75)
    told = {what: how for what, how, _ in measured(success)}
    assert told["messages that were valid"] == "75 %  (3 of 4)"
    assert told["retries that succeeded"] == "none was needed"
    assert told["mean round trip"] == "12.5 ms"
    assert told["mean query time"] == "2.0 ms  (6 LEAGUE_QUERY)"
    assert told["mean standings latency"] == "750.0 ms"
    assert len(told) == 11
