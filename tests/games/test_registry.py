"""Which games are found, and what a broken or clashing package does: nothing to the others."""

import inspect
import sys
import tomllib
from collections.abc import Iterator
from functools import partial
from importlib.metadata import distributions
from pathlib import Path

import pytest

from league.cli.main import main
from league.games import even_odd, registry
from league.games.contract import SEATS, safe_name

NIM = Path(__file__).parents[2] / "examples" / "games" / "nim"
BUILT_IN = ("even_odd", "rock_paper_scissors", "tic_tac_toe", "connect_four", "kuhn_poker", "cop_and_thief")


@pytest.fixture(autouse=True)
def _forgotten_afterwards() -> Iterator[None]:
    registry.plug_ins.cache_clear()
    before = set(sys.modules)
    yield
    registry.plug_ins.cache_clear()
    for module in [name for name in sys.modules if name.startswith("league_") and name not in before]:
        del sys.modules[module]


def install(site: Path, package: str, entry_points: str, **modules: str) -> None:
    """What an installer leaves behind: the modules, and a description that importlib.metadata finds."""
    described = site / f"{package.replace('-', '_')}-1.0.dist-info"
    described.mkdir(parents=True)
    (described / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
    (described / "entry_points.txt").write_text(entry_points)
    for name, code in modules.items():
        (site / f"{name}.py").write_text(code)


def announcing(**games: str) -> str:
    return "[league.games]\n" + "".join(f"{name} = {target}\n" for name, target in games.items())


def install_nim(site: Path) -> None:
    project = tomllib.loads((NIM / "pyproject.toml").read_text())["project"]
    games = project["entry-points"]["league.games"]
    install(site, project["name"], announcing(**games), league_nim=(NIM / "league_nim.py").read_text())


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder on the import path, and the only one in which packages are looked for."""
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(registry, "distributions", partial(distributions, path=[str(tmp_path)]))
    return tmp_path


def problem() -> str:
    """The one sentence that is told; the built-in games are there all the same."""
    assert registry.known() == BUILT_IN
    assert all(registry.find(name) for name in BUILT_IN)
    (only,) = registry.problems()
    return only


def test_the_built_in_games_are_known_and_found_by_name() -> None:
    assert registry.known()[: len(BUILT_IN)] == BUILT_IN
    assert registry.find("even_odd") is even_odd.GAME


def test_an_unknown_game_is_not_found() -> None:
    assert registry.find("chess") is None
    assert registry.find("") is None


def test_a_game_of_another_package_is_found_through_its_entry_point(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install_nim(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    assert "nim" in registry.known()
    game = registry.find("nim")
    assert game is not None
    assert Path(inspect.getfile(type(game.rules))).parent == tmp_path


def test_a_game_of_another_package_is_played_like_a_built_in_one(site: Path) -> None:
    install_nim(site)
    game = registry.find("nim")
    assert game is not None
    state, called = game.rules.start(), 0
    while seats := game.rules.to_move(state).seats:
        requests = {seat: game.wire.move_request(state, seat) for seat in seats}
        assert all(request is not None and request["move_type"] == "take" for request in requests.values())
        state = game.rules.play(state, {seat: game.rules.legal_moves(state, seat)[-1] for seat in seats})
        called += 1
    outcome = game.rules.outcome(state)
    assert outcome is not None
    players = ("P01", "P02")
    verdict = game.wire.verdict(game.wire.details(state, players, technical=False), players)
    assert (called, verdict.kind, verdict.winner) == (5, "confirmed", SEATS[0])
    assert outcome.explanation(players) == "P01 took the last stick"


def test_a_package_that_cannot_be_imported_is_named_and_left_out(site: Path) -> None:
    install(site, "league-broken", announcing(chess="league_broken:GAME"), league_broken="import no_such_thing")
    assert problem() == (
        "the game 'chess' of league-broken cannot be used: ModuleNotFoundError: No module named 'no_such_thing'"
    )
    assert registry.find("chess") is None


@pytest.mark.parametrize(
    ("code", "why"),
    [
        ("GAME = 7", "TypeError: league_odd:GAME is not a league.games.contract.Game"),
        ("NOTHING = 7", "AttributeError"),
        ("1/0", "ZeroDivisionError"),
        ("raise SystemExit('bye')", "SystemExit: bye"),
        ("def GAME(: pass", "SyntaxError"),
        ("from league.games.even_odd import GAME", "ValueError: league_odd:GAME calls itself 'even_odd'"),
    ],
)
def test_whatever_a_package_does_wrong_stays_its_own_problem(site: Path, code: str, why: str) -> None:
    install(site, "league-odd", announcing(chess="league_odd:GAME"), league_odd=code)
    assert problem().startswith(f"the game 'chess' of league-odd cannot be used: {why}")


def test_a_broken_package_does_not_hide_a_working_one(site: Path) -> None:
    install(site, "league-broken", announcing(chess="league_broken:GAME"), league_broken="1/0")
    install_nim(site)
    assert registry.known() == (*BUILT_IN, "nim")
    assert len(registry.problems()) == 1


def test_a_built_in_game_cannot_be_replaced(site: Path) -> None:
    install(site, "league-mine", announcing(even_odd="league_mine:GAME"), league_mine="GAME = None")
    assert "'even_odd' of league-mine cannot be used: ValueError: a built-in game" in problem()
    assert registry.find("even_odd") is even_odd.GAME


def test_two_packages_with_the_same_game_are_both_named_and_neither_is_used(site: Path) -> None:
    install_nim(site)
    install(site, "another-nim", announcing(nim="league_nim:GAME"))
    assert problem() == (
        "the game 'nim' of another-nim and league-game-nim cannot be used: ValueError: the name is taken more than once"
    )
    assert registry.find("nim") is None


def test_two_copies_of_a_package_do_not_clash(site: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    later = tmp_path_factory.mktemp("later")
    install_nim(site)
    install_nim(later)
    found = registry.load(distributions(path=[str(site), str(later)]))
    assert (list(found.games), found.problems) == (["nim"], ())


def test_unreadable_entry_points_are_the_problem_of_their_package_alone(site: Path) -> None:
    install(site, "league-garbled", "[league.games]\nthis line has no equals sign\n")
    assert problem().startswith("the entry points of league-garbled cannot be read: ")


def test_a_package_without_a_description_is_a_problem_without_a_name(site: Path) -> None:
    install(site, "nameless", announcing(chess="nameless:GAME"))
    (site / "nameless-1.0.dist-info" / "METADATA").unlink()
    assert problem().startswith("the game 'chess' of a package without a name cannot be used")


def test_packages_without_games_are_passed_over(site: Path) -> None:
    install(site, "unrelated", "[console_scripts]\nthis line has no equals sign\n")
    assert registry.problems() == ()


def test_a_game_that_fails_to_import_is_shown_with_its_error_wherever_people_look(
    site: Path,
    tmp_path_factory: pytest.TempPathFactory,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    install(site, "league-chess", announcing(chess="league_chess:GAME"), league_chess="import no_such_module\n")
    told = "the game 'chess' of league-chess cannot be used: ModuleNotFoundError: No module named 'no_such_module'"
    monkeypatch.chdir(tmp_path_factory.mktemp("folder"))
    assert main(["doctor"]) == 0
    assert [line for line in capsys.readouterr().out.splitlines() if line.startswith("note") and told in line]
    for command in (["demo"], ["manager"], ["simulate"], ["tournament", "--strategy", "random,mirror"]):
        assert main([*command, "--game", "chess"]) == 2
        assert told in capsys.readouterr().err
    assert main(["demo", "--players", "2", "--strategy", "no_such_strategy"]) == 2
    assert told in capsys.readouterr().err, "also if another game is played"


FAMILY = """
from league.games.contract import GameFamily, GameStrategy
from league_nim import RULES, Game, MoveWire, history


def game(name):
    sticks = name.removeprefix("sticks:")
    if sticks != "fifteen":
        raise ValueError(f"there is no heap of {sticks}")
    strategies = {"sticks:first": GameStrategy("takes as few as it may", lambda turn: turn.options[0])}
    return Game(name, RULES, MoveWire(RULES, history), turns=15, strategies=strategies)


FAMILY = GameFamily("sticks", game, lambda: ("sticks:fifteen",))
"""


def install_family(site: Path) -> None:
    install_nim(site)
    install(site, "league-sticks", "[league.games]\nsticks = league_sticks:FAMILY\n", league_sticks=FAMILY)


def test_one_entry_point_offers_a_family_of_games(site: Path) -> None:
    install_family(site)
    game = registry.find("sticks:fifteen")
    assert game is not None
    assert game.name == "sticks:fifteen"
    assert registry.package_of("sticks:fifteen") == "league-sticks"
    assert registry.known() == (*BUILT_IN, "nim")
    assert registry.listed() == (*BUILT_IN, "nim", "sticks:fifteen")


def test_a_family_says_why_it_has_no_such_game(site: Path) -> None:
    install_family(site)
    assert registry.find("sticks:three") is None
    assert registry.why_unknown("sticks:three") == "there is no heap of three"
    assert registry.find("sticks") is None
    assert "sticks:…" in registry.why_unknown("sticks")


def test_a_strategy_of_a_family_plays_its_games_and_no_others(
    site: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    install_family(site)
    monkeypatch.chdir(site)
    both = ["--strategy", "sticks:first,random"]
    assert main(["tournament", "--game", "sticks:fifteen", *both, "--meetings", "1", "--jobs", "1"]) == 0
    assert "1 matches of sticks:fifteen" in capsys.readouterr().out
    assert main(["tournament", "--game", "nim", *both]) == 2
    assert "'sticks:first' does not play nim; it plays sticks:…" in capsys.readouterr().err
    assert main(["tournament", "--game", "sticks:fifteen", "--strategy", "sticks:last,random"]) == 2
    assert "this one has sticks:first" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "safe"),
    [
        ("even_odd", "even_odd"),
        ("spiel:goofspiel(num_cards=5)", "spiel_goofspiel_num_cards_5"),
        ("../../etc/passwd", "etc_passwd"),
        ("spiel:" + "x" * 200, "spiel_" + "x" * 54),
    ],
)
def test_ids_and_folders_have_a_safe_form_of_the_name(name: str, safe: str) -> None:
    assert safe_name(name) == safe
