"""`pytest --league-player URL`: one test per check of the kit. Without the option it does nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from league.features.kit.runner import CheckReport, CheckResult


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("league")
    group.addoption(
        "--league-player",
        metavar="URL",
        help="check the player at this address against league.v2",
    )
    group.addoption(
        "--league-listen",
        metavar="PORT",
        type=int,
        help="the port at which that player can register with the kit",
    )


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(session: pytest.Session, config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getoption("league_player", None):
        items.extend(PlayerChecks.from_parent(session, name="league player").collect())


class PlayerChecks(pytest.Collector):
    """All checks of one player. They run together when the first test runs."""

    _report: CheckReport | None = None

    # The kit is imported only when it is needed: without the option the plugin must cost nothing.
    def collect(self) -> Iterator[pytest.Item]:
        from league.features.kit.runner import chosen

        for name in chosen(()):
            yield PlayerCheck.from_parent(self, name=name)

    def result_of(self, name: str) -> CheckResult:
        from league.features.kit.driver.kit import Options
        from league.features.kit.runner import check_player

        if self._report is None:
            url = self.config.getoption("league_player")
            port = self.config.getoption("league_listen")
            self._report = check_player(Options(url, listen=port))
        return next(result for result in self._report.results if result.clause.id == name)


class PlayerCheck(pytest.Item):
    """One clause."""

    parent: PlayerChecks

    def runtest(self) -> None:
        import warnings

        from league.features.kit.checks.outcome import CheckVerdict
        from league.features.kit.reports.evidence import full_text

        result = self.parent.result_of(self.name)
        text = full_text(result.outcome)
        if result.verdict is CheckVerdict.UNTESTABLE:
            pytest.skip(result.outcome.detail)
        if result.verdict is CheckVerdict.WARN:
            warnings.warn(pytest.PytestWarning(f"{self.name}: {text}"), stacklevel=1)
        if result.verdict is CheckVerdict.FAIL:
            clause = result.clause
            text += f"\n{clause.section} {clause.level}: {clause.sentence}"
            pytest.fail(text, pytrace=False)

    def reportinfo(self) -> tuple[str, None, str]:
        return "league.v2", None, self.name
