"""Settings: on the command line, in league.toml, or at their defaults; a wrong one is told in one sentence."""

from __future__ import annotations

import json
import sys
from dataclasses import fields
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal, TypeVar, get_type_hints

import pytest

from league.cli.main import main
from league.features.minds.model_options import ModelOptions
from league.hosting.manager.managers import league_settings, size_notice
from league.hosting.member import referees
from league.hosting.member.members import made_up_name, name_of, numbered, numbered_id, wished_id
from league.hosting.member.referees import LARGEST_FILE, read_agents
from league.hosting.settings import manager_options, options, player_options
from league.hosting.settings.manager_options import ManagerOptions
from league.hosting.settings.options import Option, RoleOptions, options_of
from league.hosting.settings.player_options import PlayerOptions
from league.hosting.settings.referee_options import RefereeOptions
from league.hosting.settings.removed_options import REMOVED
from league.hosting.settings.settings_file import ROLES, all_options
from league.machine import Information, Refusal
from league.protocol import endpoints
from league.protocol.message.consistency import MAX_CONCURRENT_MATCHES, MOST_CONCURRENT_MATCHES
from league.protocol.message.envelope import Profile
from league.storage.transcripts.transcript import Mode
from league.terminal import USAGE, CommandError, Parser
from league.terminal.addresses import LOOPBACK, seen_by_others

AnyRole = TypeVar("AnyRole", bound=RoleOptions)


def read(role: type[AnyRole], *arguments: str) -> AnyRole:
    """What a role is told with these arguments."""
    parser = Parser()
    options.configure(parser, role)
    return options.read(parser.parse_args(arguments), role)


def stored(folder: Path, text: str) -> str:
    path = folder / "league.toml"
    path.write_text(text, encoding="utf-8")
    return str(path)


def refused(role: type[RoleOptions], *arguments: str) -> str:
    """The sentence that these arguments are refused with."""
    with pytest.raises(CommandError) as told:
        read(role, *arguments)
    assert told.value.status == USAGE
    assert "\n" not in str(told.value)
    return str(told.value)


# --- large leagues ----------------------------------------------------------------------------------------------------


@pytest.mark.requirement("SIZE.large_leagues")
def test_tables_that_outgrow_the_documents_are_told() -> None:
    assert size_notice(45, "strict") == ""
    told = size_notice(46, "compat")
    assert "46 players: what is signed about rounds, and tables, will be larger than 10 KB. Document 4" in told
    assert ("14.1" in told, "100 rows" in told, "strict" in told) == (True, False, False)
    assert "tables to 100 rows" in size_notice(101, "compat")
    assert size_notice(101, "strict").endswith(
        "agents in the strict profile refuse the tables (this manager is strict)"
    )


# --- whose a setting is -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("role", ROLES)
def test_an_option_of_another_role_is_refused_on_the_command_line(
    role: type[RoleOptions], capsys: pytest.CaptureFixture[str]
) -> None:
    mine = {one.name for one in options.options_of(role) if not one.only_in_file}
    for one in all_options():
        if one.name not in mine:
            assert main([role.role, one.flag, "1"]) == USAGE
            assert one.flag in capsys.readouterr().err


@pytest.mark.parametrize(
    ("role", "words", "instead"),
    [
        (ManagerOptions, ["--allow-host", "league.example"], "--managers URL"),
        (ManagerOptions, ["--no-shared"], '--shared ""'),
        (RefereeOptions, ["--agents-config", "a.json"], "--player says where"),
        (RefereeOptions, ["--enrolment-key=sesame"], "LEAGUE_ENROLMENT_KEY"),
        (PlayerOptions, ["--corrections", "3"], "corrections=N"),
        (PlayerOptions, ["--temperature", "0.5"], "set temperature in league.toml (--config FILE)"),
        (
            PlayerOptions,
            ["--quiet"],
            "set quiet in league.toml (--config FILE), or the environment variable LEAGUE_QUIET",
        ),
        (PlayerOptions, ["--tls-ca", "ca.pem"], "SSL_CERT_FILE"),
    ],
)
def test_a_removed_option_says_what_to_use_instead(
    role: type[RoleOptions], words: list[str], instead: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([role.role, *words]) == USAGE
    out, err = capsys.readouterr()
    flag = words[0].partition("=")[0]
    assert (out, err.count("\n")) == ("", 1)
    assert err.startswith(f"league {role.role}: {flag} is gone: ")
    assert instead in err


def test_a_removed_key_says_what_to_use_instead(tmp_path: Path) -> None:
    file = stored(tmp_path, "[player]\ncorrections = 3\n")
    for role in ROLES:
        assert refused(role, "--config", file).startswith(
            f"corrections in {file}, [player] is gone: a player asks once"
        )
    assert not REMOVED.keys() & {one.name for one in all_options()}


def test_roles_share_a_file_but_a_wrong_value_is_refused_by_all_of_them(tmp_path: Path) -> None:
    file = stored(tmp_path, "retry_delays_s = [1.0, 2.0, 4.0]\nstrategy = 'random'\nmax_concurrent_matches = 3\n")
    assert read(ManagerOptions, "--config", file).retry_delays_s == (1.0, 2.0, 4.0)
    assert read(RefereeOptions, "--config", file).max_concurrent_matches == 3
    assert read(PlayerOptions, "--config", file).strategy == "random"
    wrong = stored(tmp_path, "retry_delays_s = 'often'\n")
    for role in ROLES:
        assert "retry_delays_s" in refused(role, "--config", wrong)


# --- where a value comes from -----------------------------------------------------------------------------------------


def test_what_nobody_says_has_its_default() -> None:
    told = read(ManagerOptions)
    assert (told.host, told.port, told.players) == ("127.0.0.1", None, 4)
    assert told.tiebreakers == ("points", "wins", "draws", "head_to_head")


def test_the_file_is_read_and_the_command_line_wins(tmp_path: Path) -> None:
    file = stored(tmp_path, "players = 6\nreferees = 3\nmove_seconds = 5\ndouble = true\nretry_delays_s = [1, 0.5]\n")
    told = read(ManagerOptions, "--config", file, "--referees", "2")
    assert (told.players, told.referees, told.move_seconds) == (6, 2, 5.0)
    assert told.double is True
    assert told.retry_delays_s == (1.0, 0.5)


def test_one_file_serves_all_commands(tmp_path: Path) -> None:
    file = stored(tmp_path, 'players = 6\nstrategy = "mirror"\nmax_concurrent_matches = 4\nprofile = "strict"\n')
    assert read(PlayerOptions, "--config", file).strategy == "mirror"
    assert read(RefereeOptions, "--config", file).max_concurrent_matches == 4
    assert read(ManagerOptions, "--config", file).profile == "strict"


def test_a_port_in_the_file_is_as_good_as_one_on_the_command_line(tmp_path: Path) -> None:
    assert read(ManagerOptions, "--config", stored(tmp_path, "port = 9000\n")).port == 9000


@pytest.mark.parametrize("said", ["http://127.0.0.1:9000", "http://127.0.0.1:9000/", "http://127.0.0.1:9000/mcp"])
def test_the_path_of_a_managers_address_may_be_left_out(said: str, tmp_path: Path) -> None:
    assert read(PlayerOptions, "--manager", said).manager == "http://127.0.0.1:9000/mcp"
    file = stored(tmp_path, f'manager = "{said}"\n')
    assert read(PlayerOptions, "--config", file).manager == "http://127.0.0.1:9000/mcp"


def test_the_scheme_of_a_managers_address_may_be_left_out() -> None:
    assert read(PlayerOptions, "--manager", "192.0.2.7:9000").manager == "http://192.0.2.7:9000/mcp"


def test_the_environment_says_where_the_manager_is_unless_the_command_line_does(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    file = stored(tmp_path, 'manager = "http://127.0.0.1:9001"\n')
    monkeypatch.setenv("LEAGUE_MANAGER", "http://127.0.0.1:9000")
    assert read(PlayerOptions).manager == read(RefereeOptions, "--config", file).manager == "http://127.0.0.1:9000/mcp"
    assert read(PlayerOptions, "--manager", "http://127.0.0.1:9002").manager == "http://127.0.0.1:9002/mcp"
    monkeypatch.setenv("LEAGUE_MANAGER", "nonsense://")
    assert refused(PlayerOptions).startswith("LEAGUE_MANAGER: 'nonsense://' is not an address")


@pytest.mark.parametrize("role", [RefereeOptions, PlayerOptions])
def test_a_member_listens_where_its_manager_sees_it_unless_it_is_told_otherwise(
    role: type[RefereeOptions | PlayerOptions],
) -> None:
    mine = seen_by_others() or LOOPBACK
    for manager in ("http://127.0.0.1:8000", "localhost:8000", "http://[::1]:8000", "http://nobody.invalid:8000"):
        assert read(role, "--manager", manager).host == LOOPBACK
    assert read(role, "--manager", f"http://{mine}:8000").host == mine
    assert read(role, "--manager", f"http://{mine}:8000", "--host", "0.0.0.0").host == "0.0.0.0"
    assert read(role).host == read(ManagerOptions).host == LOOPBACK


def test_a_file_may_have_a_table_for_each_role(tmp_path: Path) -> None:
    file = stored(
        tmp_path,
        'game = "tic_tac_toe"\n[manager]\nport = 9000\nplayers = 6\n[referee]\nport = 9001\n'
        '[player]\nport = 9101\ngame = "even_odd"\nmanager = "127.0.0.1:9000"\n',
    )
    manager, referee = read(ManagerOptions, "--config", file), read(RefereeOptions, "--config", file)
    player = read(PlayerOptions, "--config", file, "--port", "9102")
    assert (manager.port, manager.players, manager.game) == (9000, 6, "tic_tac_toe")
    assert (referee.port, referee.game, referee.manager) == (9001, "tic_tac_toe", "http://127.0.0.1:8000/mcp")
    assert (player.port, player.game, player.manager) == (9102, "even_odd", "http://127.0.0.1:9000/mcp")


@pytest.mark.parametrize("said", ["ftp://127.0.0.1", "127.0.0.1:x", "http://", "http://host:port", "http://h:70000"])
def test_what_is_no_address_of_a_manager_is_refused(said: str, tmp_path: Path) -> None:
    told = "is not an address such as http://127.0.0.1:8000/mcp, or several with commas"
    assert refused(PlayerOptions, "--manager", said) == f"--manager: {said!r} {told}"
    file = stored(tmp_path, f'manager = "{said}"\n')
    assert refused(PlayerOptions, "--config", file) == f"manager in {file}: {said!r} {told}"


def test_shared_files_are_kept_unless_somebody_says_otherwise(tmp_path: Path) -> None:
    file = stored(tmp_path, 'shared = "there"\n')
    assert read(ManagerOptions).shared is None
    assert read(ManagerOptions, "--config", file).shared == "there"
    assert read(ManagerOptions, "--shared", "", "--config", file).shared == ""
    assert read(ManagerOptions, "--config", stored(tmp_path, 'shared = ""\n')).shared == ""
    assert read(ManagerOptions, "--shared", "here").shared == "here"
    assert (read(RefereeOptions).shared, read(PlayerOptions).shared) == ("", "")


# --- where players live -----------------------------------------------------------------------------------------------


def test_a_referee_is_told_where_players_live_one_by_one_or_in_the_file(tmp_path: Path) -> None:
    home = ("P01", "http://10.0.0.5:9000/mcp")
    assert read(RefereeOptions).player_addresses == ()
    told = read(RefereeOptions, "--player", "P01=http://10.0.0.5:9000", "--player", "P02=http://h:1/agent")
    assert told.player_addresses == (home, ("P02", "http://h:1/agent"))
    file = stored(tmp_path, 'player_addresses = ["P01=http://10.0.0.5:9000"]\n')
    assert read(RefereeOptions, "--config", file).player_addresses == (home,)


@pytest.mark.parametrize("said", ["P01", "P01=", "=http://h:1", "P01=ftp://h", "http://h:1"])
def test_what_is_no_player_with_an_address_is_refused(said: str) -> None:
    assert "is not a player and its address such as P01=http" in refused(RefereeOptions, "--player", said)


def test_a_player_that_lives_in_two_places_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    homes = ("--player", "P01=http://h:1", "--player", "P01=http://h:2")
    assert main(["referee", "--manager", "http://127.0.0.1:1", *homes]) == USAGE
    assert "P01 has two addresses, http://h:1/mcp and http://h:2/mcp" in capsys.readouterr().err


@pytest.mark.requirement("MATCH.addresses_configured")
def test_the_file_that_managers_of_ours_write_tells_where_players_live(tmp_path: Path) -> None:
    listed = {"players": [{"agent_id": "P01", "endpoint": "http://h:1/mcp"}]}
    file = tmp_path / "agents_config.json"
    file.write_text(json.dumps(listed), encoding="utf-8")
    assert read_agents(file) == Information(listed)
    file.write_text(json.dumps(listed["players"]), encoding="utf-8")
    assert read_agents(file) == Information({"agents": listed["players"]})


def test_why_a_file_of_agents_says_nothing_is_told(tmp_path: Path) -> None:
    file = tmp_path / "agents_config.json"
    assert read_agents(file) == Refusal("", f"there is no {file}")
    assert read_agents(tmp_path) == Refusal("", f"{tmp_path} cannot be read: Is a directory")
    file.write_text("P01: here", encoding="utf-8")
    assert read_agents(file) == Refusal("", f'{file} cannot be read: not JSON: "P01: here"')
    file.write_bytes(b" " * (LARGEST_FILE + 1))
    assert "is larger than" in str(read_agents(file))


# --- where agents may be ----------------------------------------------------------------------------------------------


def test_places_follow_how_far_away_agents_may_be(tmp_path: Path) -> None:
    places = ("10.1.0.0/16", "agent.example:8101", "[fd00::7]:8101", "fd00::7", "10.1.2.3")
    rule = ",".join(("lan", *places))
    allowed = ("lan", *(str(endpoints.read_allowance(place)) for place in places))
    assert read(ManagerOptions, "--endpoints", rule).endpoints == allowed
    assert read(ManagerOptions, "--config", stored(tmp_path, f"endpoints = {json.dumps(rule)}\n")).endpoints == allowed
    assert read(ManagerOptions).endpoints == ("local",)


@pytest.mark.parametrize(
    "place", ["", "10.1.0.0/33", "10.1.2.3/16", "http://agent/", "agent:0", "a b", "[fd00::7", "0x7f.1"]
)
def test_what_is_no_place_cannot_be_allowed(place: str) -> None:
    said = f"lan,{place}"
    told = "is not local, lan or public, then networks (10.1.0.0/16), HOST or HOST:PORT after commas"
    assert refused(ManagerOptions, "--endpoints", said) == f"--endpoints: {said!r} {told}"
    assert refused(ManagerOptions, "--endpoints", "10.1.0.0/16").endswith(told)


# --- the table and the types ------------------------------------------------------------------------------------------


TYPES: dict[options.Kind, Any] = {
    options.WHOLE: int,
    options.NUMBER: float,
    options.SECONDS: float,
    options.TEXT: str,
    options.MANAGERS: str,
    options.ADDRESSES: tuple[str, ...],
    options.FLAG: bool,
    options.NUMBERS: tuple[float, ...],
    options.NAMES: tuple[str, ...],
    options.HOMES: tuple[tuple[str, str], ...],
    options.REACH: tuple[str, ...],
}


def typed_as(one: Option) -> object:
    """The type that a setting has by its row of the table."""
    kind = Literal[one.choices] if one.choices else TYPES[one.kind]
    return kind | None if one.default is None else kind


@pytest.mark.parametrize("role", ROLES)
def test_what_a_role_is_told_is_typed_as_the_table_says(role: type[RoleOptions]) -> None:
    modules = (manager_options, player_options, endpoints)
    names = {name: value for module in modules for name, value in vars(module).items()}
    hints = get_type_hints(role, {**names, "Profile": Profile, "Mode": Mode})
    told = {one.name: hints[one.name] for one in fields(role) if one.name not in ("given", "more")}
    if role is PlayerOptions:
        model_hints = get_type_hints(ModelOptions)
        told |= {one.name: model_hints[one.name] for one in fields(ModelOptions)}
    assert told == {one.name: typed_as(one) for one in options.options_of(role)}


# --- what is refused --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("plyers = 4", "there is no setting 'plyers'; did you mean players?"),
        ("zzz = 4", "FILE: there is no setting 'zzz'; there are "),
        ("[player]\nplayers = 4", "FILE, [player]: there is no setting 'players'; "),
        ("[manager]\nplayers = 1", "players in FILE, [manager]: must be at least 2, not 1"),
        ("referee = 3", "there is no setting 'referee'; did you mean referees?"),
        ('players = "4"', "players in FILE: '4' is not a whole number"),
        ("players = 4.5", "players in FILE: 4.5 is not a whole number"),
        ("players = true", "players in FILE: true is not a whole number"),
        ("players = 1", "players in FILE: must be at least 2, not 1"),
        ("port = 70000", "port in FILE: must be at most 65535, not 70000"),
        ("league_id = 7", "league_id in FILE: 7 is not text in quotes"),
        ('double = "yes"', "double in FILE: 'yes' is not true or false"),
        ('move_seconds = "soon"', "move_seconds in FILE: 'soon' is not a number"),
        ("move_seconds = inf", "move_seconds in FILE: inf is not allowed here"),
        ('profile = "lax"', "profile in FILE: 'lax' is not one of compat, strict"),
        ("retry_delays_s = 2", "retry_delays_s in FILE: 2 is not a list of numbers"),
        ('retry_delays_s = ["2"]', "retry_delays_s in FILE: ['2'] is not a list of numbers"),
        ("retry_delays_s = [-1]", "retry_delays_s in FILE: must be at least 0, not -1"),
        ("retry_delays_s = []", "retry_delays_s in FILE: [] is not a list of numbers"),
        ("tiebreakers = [1]", "tiebreakers in FILE: [1] is not a list of names"),
        ("[players]\nfour = 4", "players in FILE: {'four': 4} is not a whole number"),
        ("players = ", "FILE is not TOML"),
    ],
)
def test_a_wrong_file_is_told_with_its_key_in_one_sentence(text: str, told: str, tmp_path: Path) -> None:
    file = stored(tmp_path, text)
    assert told in refused(ManagerOptions, "--config", file).replace(file, "FILE")


def test_a_tiebreaker_that_does_not_exist_is_told_before_anything_starts(tmp_path: Path) -> None:
    told = read(ManagerOptions, "--config", stored(tmp_path, 'tiebreakers = ["points", "luck"]'))
    with pytest.raises(
        CommandError, match="tiebreakers: 'luck' is not one of draws, head_to_head, points, wins"
    ) as refusal:
        league_settings(told, datetime(2026, 5, 1, tzinfo=UTC))
    assert refusal.value.status == USAGE


def test_a_title_becomes_a_setting_of_the_league() -> None:
    now = datetime(2026, 5, 1, tzinfo=UTC)
    assert league_settings(read(ManagerOptions, "--title", "Autumn Cup"), now).title == "Autumn Cup"
    assert league_settings(read(ManagerOptions), now).title == ""


def test_a_file_that_is_not_there_is_told(tmp_path: Path) -> None:
    assert "cannot read" in refused(ManagerOptions, "--config", str(tmp_path / "league.toml"))
    assert "cannot read" in refused(ManagerOptions, "--config", str(tmp_path))


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--players", "four"], "--players: 'four' is not a whole number"),
        (["--players", "1"], "--players: must be at least 2, not 1"),
        (["--port", "-1"], "--port: must be at least 0, not -1"),
        (["--move-seconds", "nan"], "--move-seconds: nan is not allowed here"),
        (["--move-seconds", "0"], "--move-seconds: must be at least 0.1, not 0"),
    ],
)
def test_a_wrong_option_is_told_in_one_sentence(arguments: list[str], told: str) -> None:
    assert refused(ManagerOptions, *arguments) == told


@pytest.mark.parametrize(
    "arguments",
    [
        ["manager", "--profile", "lax"],
        ["manager", "--players", "x"],
        ["manager", "--game", "chess"],
        ["manager", "--enrolment", "perhaps"],
        ["player", "--strategy", "clever"],
        ["demo", "--players", "1"],
        ["demo", "--players", "four"],
        ["demo", "--game", "chess"],
        ["demo", "--port", "70000"],
        ["replay", "journal.db", "--until", "0"],
        ["standings", "--manager", "http://127.0.0.1:8000", "--journal", "journal.db"],
        ["standings", "--manager", "ftp://127.0.0.1"],
        ["standings", "--manager", "http://127.0.0.1:port"],
        ["match"],
        ["manager", "--start", "soon"],
        ["manager", "--start", "25:00"],
        ["manager", "--start", "2026-02-30T18:30"],
        ["withdraw"],
        ["pause", "P01"],
    ],
)
def test_wrong_usage_ends_with_status_2_before_anything_starts(
    arguments: list[str], capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(arguments) == USAGE
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert err.startswith(f"league {arguments[0]}: ")
    assert list(tmp_path.iterdir()) == []


def test_a_strategy_that_fails_to_load_is_shown_to_its_author(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "my_player_of_tests.py").write_text("class Mine:\n    def __init__(self): 1 / 0\nclass Empty: ...\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.path", list(sys.path))  # the command puts the folder into it
    assert main(["player", "--strategy", "my_player_of_tests:Mine"]) == 1
    err = capsys.readouterr().err
    assert "ZeroDivisionError" in err
    assert "my_player_of_tests.py" in err
    assert main(["player", "--strategy", "my_player_of_tests:Empty"]) == 1
    assert "has no method choose" in capsys.readouterr().err


# --- several in one process -------------------------------------------------------------------------------------------


def test_several_members_have_files_ids_and_names_of_their_own() -> None:
    assert [numbered("a/journal.db", number, 3) for number in range(3)] == [
        "a/journal.db",
        "a/journal-2.db",
        "a/journal-3.db",
    ]
    assert numbered("", 2, 3) == ""
    assert [numbered_id("P09", number) for number in range(2)] == ["P09", "P10"]
    assert [numbered_id("P99", number) for number in range(2)] == ["P99", "P100"]
    assert numbered_id("", 3) == ""
    here = "http://127.0.0.1:8102/mcp"
    assert [name_of(PlayerOptions(count=2), "Owl", "Mirror", n, here) for n in range(2)] == ["Owl 1", "Owl 2"]
    assert name_of(PlayerOptions(), "Owl", "Mirror", 0, here) == "Owl"
    assert name_of(PlayerOptions(count=2, id="P09"), "", "Mirror", 1, here) == "Mirror-P10"
    assert made_up_name("Mirror", "http://127.0.0.1:8102/mcp") == "Mirror-8102"
    assert made_up_name("Mirror", "http://127.0.0.1:8102/mcp", "P02") == "Mirror-P02"
    assert made_up_name("Always even", "http://192.0.2.7:8102/mcp") == "Always-even-192.0.2.7-8102"
    assert made_up_name("Mirror", "http://[2001:db8::1]:8102/mcp") == "Mirror-2001-db8--1-8102"


@pytest.mark.requirement("REGISTER.default_ids")
def test_on_this_machine_a_port_of_the_documents_is_an_id() -> None:
    player = PlayerOptions()
    referee = RefereeOptions()
    cases = {
        "http://127.0.0.1:8101/mcp": ("P01", ""),
        "http://127.0.0.1:8112/mcp": ("P12", ""),
        "http://localhost:8001/mcp": ("", "REF01"),
        "http://127.0.0.1:8000/mcp": ("", ""),
        "http://127.0.0.1:39101/mcp": ("", ""),
        "http://192.0.2.7:8101/mcp": ("", ""),
    }
    for endpoint, (player_id, referee_id) in cases.items():
        assert wished_id(player, "P", 0, endpoint) == player_id
        assert wished_id(referee, "REF", 0, endpoint) == referee_id
    assert wished_id(PlayerOptions(id="P07"), "P", 1, "http://127.0.0.1:8101/mcp") == "P08"
    desk = referees.build(referee, 0, "http://127.0.0.1:8001/mcp", {})
    assert desk.sender == "referee:REF01"


def test_a_referee_offers_what_the_documents_allow_and_may_offer_what_the_protocol_allows() -> None:
    [row] = [row for row in options_of(RefereeOptions) if row.name == "max_concurrent_matches"]
    assert row.default == MAX_CONCURRENT_MATCHES
    assert row.most == MOST_CONCURRENT_MATCHES


@pytest.mark.parametrize("flag", ["--league-id", "--game"])
def test_no_id_contains_the_separator_of_signed_texts(flag: str) -> None:
    with pytest.raises(CommandError, match=r"ids and names of games contain no \|"):
        league_settings(read(ManagerOptions, flag, "a|b"), datetime(2026, 5, 1, tzinfo=UTC))
