"""A release is whole: the package can be published, and every place that names its version names the same."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
import zipfile
from email import message_from_bytes
from email.message import Message
from pathlib import Path

import pytest

from league import __version__
from league.cli.main import main
from scripts.package_readme import without_relative_links
from tests.support.pages import ROOT

CHANGELOG = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
RELEASES = dict(re.findall(r"^## \[(\d+\.\d+\.\d+)\] - (\d{4}-\d{2}-\d{2})$", CHANGELOG, re.MULTILINE))
RELATIVE_LINK = re.compile(r"\]\((?!https?://)[^)]*\)")


SCREEN = 50
"""The lines of a screen. What is not yet released may need more, until it is put together."""


def run_tool(*arguments: str) -> None:
    """Run a module of this environment; what it says is shown if it fails."""
    done = subprocess.run([sys.executable, "-m", *arguments], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture(scope="module")
def distributions(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a wheel and a source distribution of this version."""
    folder = tmp_path_factory.mktemp("dist")
    # Without a frontend that makes an environment for the build, no index is needed.
    run_tool("hatchling", "build", "-d", str(folder))
    return folder


def metadata_of(folder: Path) -> Message:
    [wheel] = folder.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        [name] = [name for name in archive.namelist() if name.endswith(".dist-info/METADATA")]
        return message_from_bytes(archive.read(name))


def test_the_changes_of_a_release_fit_a_screen() -> None:
    parts = re.split(r"^## \[", CHANGELOG, flags=re.MULTILINE)[2:]
    assert len(parts) == len(RELEASES)
    assert {part[:5]: lines for part in parts if (lines := part.count("\n")) > SCREEN} == {}


@pytest.mark.slow
def test_the_wheel_has_both_pages_of_the_specification(distributions: Path) -> None:
    [wheel] = distributions.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    assert {"league/spec/league-v2.md", "league/spec/compatibility.md"} <= names


@pytest.mark.slow
def test_a_package_index_would_accept_both_distributions(distributions: Path) -> None:
    files = sorted(distributions.iterdir())
    assert [file.suffix for file in files] == [".whl", ".gz"]
    run_tool("twine", "check", "--strict", *map(str, files))


@pytest.mark.slow
def test_the_description_of_the_package_links_to_no_file_that_an_index_lacks(distributions: Path) -> None:
    metadata = metadata_of(distributions)
    assert metadata["Description-Content-Type"] == "text/markdown"
    description = str(metadata.get_payload(decode=False))
    assert "make demo" in description
    assert RELATIVE_LINK.findall(description) == []
    assert metadata["Version"] == __version__
    assert metadata["Author"] == "The agent-league developers"


def test_links_become_text_except_those_that_lead_to_the_web_or_stand_in_code() -> None:
    page = (
        "See [the map](docs/map.md), [`spec`](spec) and [the web](https://example.org/).\n\n"
        "![A picture](docs/a.png)\n\nEnd.\n\n```text\n[as it is](here)\n```\n"
    )
    assert without_relative_links(page).startswith(
        "See the map, `spec` and [the web](https://example.org/).\n\nEnd.\n\n```text\n[as it is](here)\n```\n"
    )


def test_every_package_of_the_wheel_is_typed(distributions: Path) -> None:
    [wheel] = distributions.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    packages = {name.partition("/")[0] for name in names if ".dist-info/" not in name}
    assert "league" in packages
    assert [name for name in sorted(packages) if f"{name}/py.typed" not in names] == []


def test_the_version_has_a_dated_section_in_the_changelog() -> None:
    """Whoever changes `__version__` writes the section, and moves to it what is under [Unreleased]."""
    assert __version__ in RELEASES
    assert "0.1.0" in RELEASES
    assert next(iter(RELEASES)) == __version__, "the newest release comes first"


def test_the_citation_names_this_version_and_its_date() -> None:
    lines = (ROOT / "CITATION.cff").read_text(encoding="utf-8").splitlines()
    assert f"version: {__version__}" in lines
    assert f"date-released: {RELEASES[__version__]}" in lines


def test_the_command_line_says_its_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"league {__version__}\n"


def test_all_tests_run_on_every_python_that_is_promised() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    prefix = "Programming Language :: Python :: 3."
    promised = [name.removeprefix(prefix) for name in project["classifiers"] if name.startswith(prefix)]
    workflow = (ROOT / ".github" / "workflows" / "test.yml").read_text(encoding="utf-8")
    assert 'python: ["' + '", "'.join(f"3.{minor}" for minor in promised) + '"]' in workflow
    assert project["requires-python"] == f">=3.{promised[0]}"
    assert f"We support 3.{promised[0]} to 3.{promised[-1]}." in (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
