"""What the command line says to somebody who is not sure what to type."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from league.cli.main import main, modules

SPEC = Path(__file__).parents[3] / "spec" / "league-v2.md"


def test_league_alone_shows_what_there_is(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 0
    out = capsys.readouterr().out
    assert all(re.search(rf"^ +{name} ", out, re.MULTILINE) for name in modules())


@pytest.mark.parametrize(
    ("arguments", "meant"),
    [
        (["standing"], "there is no command 'standing'; did you mean standings? See league --help"),
        (["explian", "R1M1"], "there is no command 'explian'; did you mean explain?"),
        (["xyzzy"], "there is no command 'xyzzy'; see league --help"),
        (["manager", "--plyers", "4"], "unknown arguments: --plyers 4; did you mean --players?"),
        (["player", "--stratgy=random"], "unknown arguments: --stratgy=random; did you mean --strategy?"),
        (["spec", "GAME_OVR"], "no section 'GAME_OVR'; did you mean game_over?"),
        (["spec", "zz"], "no section 'zz'; `league spec` lists them"),
    ],
)
def test_a_slip_is_told_with_what_was_probably_meant(
    arguments: list[str], meant: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) != 0
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert meant in err


def test_a_section_of_the_specification_is_shown_as_it_stands(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["spec", "5.11"]) == 0
    by_number = capsys.readouterr().out
    assert by_number.startswith("### 5.11 CHOOSE_PARITY_RESPONSE\n")
    assert "### 5.12" not in by_number
    assert by_number in SPEC.read_text("utf-8")
    assert main(["spec", "choose_parity_response"]) == 0
    assert capsys.readouterr().out == by_number
    assert main(["spec", "5"]) == 0
    assert by_number in capsys.readouterr().out
    assert main(["spec"]) == 0
    listed = capsys.readouterr().out.splitlines()
    assert "  5.11 CHOOSE_PARITY_RESPONSE" in listed
    assert len(listed) > 80


def test_a_section_about_older_documents_is_shown_like_the_others(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["spec", "13.1"]) == 0
    assert capsys.readouterr().out in (SPEC.parent / "compatibility.md").read_text("utf-8")
    assert main(["spec", "14"]) == 0
    assert "compatib" not in capsys.readouterr().out.lower()
    assert main(["spec"]) == 0
    chapters = [line.split()[0] for line in capsys.readouterr().out.splitlines() if not line.startswith(" ")]
    assert chapters == [str(number) for number in range(1, 15)]
