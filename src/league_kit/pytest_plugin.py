"""`pytest --league-player URL`: one test per check of the kit. Without the option it does nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from league_kit.runner import CheckReport, CheckResult


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("league")
    group.addoption("--league-player", metavar="URL", help="check the player at this address against league.v2")
    group.addoption("--league-listen", metavar="PORT", type=int, help="the port where that player may register")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(session: pytest.Session, config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getoption("league_player", None):
        items.extend(PlayerChecks.from_parent(session, name="league player").collect())


class PlayerChecks(pytest.Collector):
    """All checks of one player. They are made together when the first test is run."""

    _report: CheckReport | None = None

    def collect(self) -> Iterator[pytest.Item]:
        from league_kit.runner import chosen

        for name in chosen(()):
            yield PlayerCheck.from_parent(self, name=name)

    def result_of(self, name: str) -> CheckResult:
        from league_kit.kit import Options
        from league_kit.runner import check_player

        if self._report is None:
            url, port = self.config.getoption("league_player"), self.config.getoption("league_listen")
            self._report = check_player(Options(url, listen=port))
        return next(one for one in self._report.results if one.clause.id == name)


class PlayerCheck(pytest.Item):
    """One clause."""

    parent: PlayerChecks

    def runtest(self) -> None:
        import warnings

        from league_kit.evidence import full_text
        from league_kit.outcome import Verdict

        one = self.parent.result_of(self.name)
        if one.verdict is Verdict.UNTESTABLE:
            pytest.skip(one.outcome.detail)
        if one.verdict is Verdict.WARN:
            warnings.warn(pytest.PytestWarning(f"{self.name}: {full_text(one.outcome)}"), stacklevel=1)
        if one.verdict is Verdict.FAIL:
            text = f"{full_text(one.outcome)}\n{one.clause.section} {one.clause.level}: {one.clause.sentence}"
            pytest.fail(text, pytrace=False)

    def reportinfo(self) -> tuple[str, None, str]:
        return "league.v2", None, self.name
