"""A manager that is started again with its journal, and with other options than before."""

from __future__ import annotations

import pytest

from league.events import LeagueCreated, SettingsChanged
from tests.support.processes import Option, Processes

MADE_WITH: dict[str, Option] = {"players": 3, "rounds": 2, "profile": "strict", "late": "admit", "league_id": "spring"}

OTHER_LEAGUES = {
    "--game tic_tac_toe": "even_odd",
    "--league-id autumn": "spring",
    "--rounds 1": "2",
    "--profile compat": "strict",
    "--double": "False",
}


def made(processes: Processes, **changed: Option) -> None:
    """Make a league in which somebody has registered."""
    manager = processes.manager(**{**MADE_WITH, **changed})
    player = processes.players(manager)
    player.said("registered as P01")
    assert (player.stop(), manager.stop()) == (0, 0)


def test_until_somebody_registers_all_settings_may_change(processes: Processes) -> None:
    assert processes.manager(**MADE_WITH).stop() == 0
    right = processes.manager(players=2, game="tic_tac_toe", profile="compat", move_seconds=7, league_id="spring")
    assert {line for line in right.lines if "counts from now on" in line} == {
        "--game tic_tac_toe counts from now on: it was even_odd",
        "--players 2 counts from now on: it was 3",
        "--profile compat counts from now on: it was strict",
        "--move-seconds 7.0 counts from now on: it was 30.0",
    }
    referee = processes.referee(right)
    players = processes.players(right, count=2)
    assert (players.wait(), referee.wait(), right.stop()) == (0, 0, 0)
    [changed] = processes.events("manager", SettingsChanged)
    assert changed.settings is not None
    assert (changed.settings.players, changed.settings.rounds) == (2, 2)
    assert processes.verified()["ok"]
    later = processes.manager(players=3, league_id="spring")
    assert later.stop() == 0
    assert "--players 3 is ignored: the league keeps its own 2" in later.lines


def test_what_a_resumed_league_keeps_is_said_in_a_sentence_each(processes: Processes) -> None:
    made(processes)
    manager = processes.manager(players=3, move_seconds=7, late="refuse", start="manual", referees=1)
    assert manager.stop() == 0
    assert [line for line in manager.lines if "is ignored" in line] == [
        "--start manual is ignored: the league keeps its own",
        "--late refuse is ignored: the league keeps its own admit",
        "--move-seconds 7.0 is ignored: the league keeps its own 30.0",
    ]


def test_whoever_names_only_the_journal_is_told_nothing(processes: Processes) -> None:
    made(processes)
    manager = processes.start("manager", journal=processes.journal("manager"))
    assert manager.stop() == 0
    assert [line for line in manager.lines if "ignored" in line] == []


def test_what_would_make_it_another_league_is_refused(processes: Processes) -> None:
    made(processes)
    journal = processes.journal("manager")
    before = journal.read_bytes()
    for option, known in OTHER_LEAGUES.items():
        done = processes.run("manager", "--port", "0", "--journal", journal, *option.split())
        assert done.returncode == 2, option
        assert f"which has {known}; leave the option out to resume this league" in done.stderr
    assert journal.read_bytes() == before


def test_a_restart_keeps_the_rule_about_endpoints_and_may_change_it(processes: Processes) -> None:
    journal = processes.journal("manager")
    made(processes, endpoints="lan,10.1.0.0/16,lab:8101")
    assert processes.start("manager", journal=journal).stop() == 0
    narrower = processes.start("manager", journal=journal, endpoints="local")
    assert narrower.stop() == 0
    assert "--endpoints local counts from now on: it was lan,10.1.0.0/16,lab:8101" in narrower.lines
    again = processes.start("manager", journal=journal, endpoints="lan,10.1.0.0/16,lab:8101")
    assert again.stop() == 0
    assert [line for line in again.lines if "counts from now on" in line] == [
        "--endpoints lan,10.1.0.0/16,lab:8101 counts from now on: it was local"
    ]
    [created] = processes.events("manager", LeagueCreated)
    assert created.settings.endpoints == ("lan", "10.1.0.0/16", "lab:8101")
    changes = [event.endpoints for event in processes.events("manager", SettingsChanged)]
    assert changes == [("local",), ("lan", "10.1.0.0/16", "lab:8101")]


@pytest.mark.requirement("TRUST.never_public")
def test_trust_in_addresses_is_announced_kept_and_never_public(processes: Processes) -> None:
    journal = processes.journal("manager")
    for arguments in (("--trust", "class", "--endpoints", "public"), ("--endpoints", "public", "--trust", "class")):
        done = processes.run("manager", "--port", "0", "--journal", journal, *arguments)
        assert (done.returncode, "--trust class believes addresses" in done.stderr) == (2, True)
        assert not journal.exists()
    announced = "--trust class: whoever shares an address with a referee can report for it"
    made(processes, trust="class")
    again = processes.start("manager", journal=journal)
    again.said(announced)
    assert again.stop() == 0
    done = processes.run("manager", "--port", "0", "--journal", journal, "--endpoints", "public")
    assert (done.returncode, "--trust class believes addresses" in done.stderr) == (2, True)
    doubting = processes.start("manager", journal=journal, trust="tokens")
    assert doubting.stop() == 0
    assert "--trust tokens counts from now on: it was class" in doubting.lines
    assert not any(line.startswith(announced) for line in doubting.lines)
    assert [event.trust for event in processes.events("manager", SettingsChanged)] == ["tokens"]
