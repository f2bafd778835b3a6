"""A run of the catalogue: every bad input is sent, its answer is compared with the expected one, and the agent's state
with the state before."""

# Theory of operation
#
# The run goes through the phases of a league (cases.py). At the start of each phase the kit brings the league there and
# waits until the agent's state stands still. Then it sends the cases of the phase, one after another, and looks at the
# state after each: that state is the "before" of the next case, so a change is blamed on the case that made it.
#
# The verdict depends on two questions. Did the state change? Then it is a failure, whatever the answer. Was it refused?
# A refusal with another status or error than the catalogue's is a warning only; no answer, a server error (5xx) and an
# answer as if nothing were wrong are failures. Cases that only a member can send are untestable if the kit is none.

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from league.features.kit.bad_input.cases import PLAYER, ROLES, BadInput, LeaguePhase, Standing
from league.features.kit.bad_input.framing import framing
from league.features.kit.bad_input.joining import advance, find_role, join, observed, settled
from league.features.kit.bad_input.wrong_messages import wrong_messages
from league.features.kit.checks.outcome import CheckOutcome, broken, kept, untestable, warning
from league.features.kit.clauses import clauses, for_role, is_below
from league.features.kit.driver.kit import Kit, Notify, Options, open_kit
from league.features.kit.driver.record import Probe, RunRecord
from league.features.kit.driver.server import KitServer
from league.features.kit.runner import CheckReport, CheckResult
from league.machine import Failure

UNCHANGED: Final = "KEEPING.refused_changes_nothing"
STRANGER: Final = "only a member can send it, and the kit is not a member"
STRICT: Final = "strict"
Observe = Callable[[], Awaitable[str]]
"""The state of the agent, as a text that differs if the state does."""


def catalogue(role: str, profile: str = STRICT) -> list[BadInput]:
    """Return every bad input for an agent of this role and profile, in the order in which they are sent."""
    cases = (*framing(role), *wrong_messages(role))
    chosen = (case for case in cases if case.profile in ("", profile))
    return sorted(chosen, key=lambda case: case.phase)


def _below(cases: Iterable[BadInput], only: Iterable[str]) -> list[BadInput]:
    """Return the cases whose id, or clause, is one of these or lies below it; without any, all."""
    names = tuple(only)
    if not names:
        return list(cases)
    return [case for case in cases if any(is_below(case.id, name) or is_below(case.clause, name) for name in names)]


def listed(role: str | None, only: Iterable[str] = (), profile: str = STRICT) -> list[dict[str, str]]:
    """Return a row for people per bad input for an agent of this role, or of any."""
    roles = (role,) if role else ROLES
    cases = {case.id: case for each in roles for case in _below(catalogue(each, profile), only)}
    if only and not cases:
        raise ValueError(f"there is no bad input {', '.join(only)}; --list shows all")
    return [
        {
            "id": case.id,
            "level": clauses()[case.clause].level,
            "section": clauses()[case.clause].section,
            "sentence": f"{case.what}: {case.expected}",
        }
        for case in cases.values()
    ]


async def run(
    options: Options, role: str = "", also: Observe | None = None, notify: Notify = lambda _: None
) -> CheckReport:
    """Send everything; without `role` the kit finds it out. `also` observes more of the state than can be seen from
    outside. ValueError: the agent cannot be sent anything."""
    record = RunRecord(options.target, options.time_scale)
    server = KitServer(record, drops_first=False, derives=True)
    began = time.monotonic()
    async with open_kit(options, server, record, notify) as kit:
        role = role or await find_role(kit)
        results = await _Sender(kit, role, also).send_all()
    return CheckReport(record, tuple(results), time.monotonic() - began, role)


@dataclass(slots=True)
class _Sender:
    """Sends the catalogue, and remembers the agent's state between two bad inputs."""

    kit: Kit
    role: str
    also: Observe | None
    state: str = ""

    async def send_all(self) -> list[CheckResult]:
        standing = await join(self.kit, self.role)
        results: list[CheckResult] = []
        cases = _below(catalogue(self.role, self.kit.options.profile), self.kit.options.only)
        for phase in sorted({case.phase for case in cases}):
            standing = await advance(self.kit, standing, phase)
            self.state = await self._look(settled, standing)
            for case in cases:
                if case.phase is phase:
                    outcome = await self._send(case, standing)
                    clause = for_role(clauses()[case.clause], self.role)
                    results.append(CheckResult(clause, outcome, case.id))
        return results

    async def _look(self, look: Callable[[Kit, Standing], Awaitable[str]], standing: Standing) -> str:
        """Return the agent's state, as `look` sees it."""
        return await look(self.kit, standing) + (await self.also() if self.also else "")

    async def _send(self, case: BadInput, standing: Standing) -> CheckOutcome:
        record = self.kit.record
        if record.is_gone:
            return untestable(f"the agent stopped listening after this was sent: {record.probes[-1].label}")
        if standing.missing and (case.as_member or case.phase > LeaguePhase.OPEN):
            return untestable(f"{STRANGER}: {standing.missing}")
        probe = await self.kit.send_bad(case.what, case.make(standing))
        before = self.state
        self.state = await self._look(observed, standing)
        # Players may accept more than they should (spec section 4.4), and a SHOULD never fails.
        may_be_taken = self.role == PLAYER or clauses()[case.clause].level == "SHOULD"
        outcome = judged(case, probe, before == self.state, may_be_taken)
        return replace(outcome, fault=_answered(probe))


def judged(case: BadInput, probe: Probe, is_unchanged: bool, may_be_taken: bool) -> CheckOutcome:
    """Judge an answer. No answer, a normal answer and a changed state are failures; a refusal that differs from the
    catalogue's is a warning."""
    answer = _answered(probe)
    detail = f"sent {case.what}; answered {answer}"
    if not is_unchanged:
        advice = "Judge a request completely before you change anything, and change nothing when you refuse it."
        return broken(f"{detail}, and the agent's state has changed [{UNCHANGED}]", advice, probe)
    if answer == str(case.expected):
        return kept(detail, [probe])
    detail = f"{detail}; expected {case.expected}"
    if case.expected.status is None or probe.trouble is Failure.BROKEN:
        return warning(detail, "Answer what is not HTTP with a status, or end the connection.", probe)
    if probe.trouble is not None:
        return broken(detail, "Answer every request, and keep listening whatever was sent.", probe)
    status = probe.response.status
    is_refused = probe.parsed.error is not None or status >= 400
    if is_refused and status < 500:
        return warning(
            detail,
            "Refuse it with the status and the error of the catalogue (2.4, 10.1).",
            probe,
        )
    outcome = warning if may_be_taken and status < 500 else broken
    return outcome(
        detail,
        "Refuse a request that breaks a clause, and do nothing that it asks for.",
        probe,
    )


def _answered(probe: Probe) -> str:
    """Describe the answer in the words of `Expected`."""
    if probe.trouble is Failure.BROKEN and not probe.response.raw:
        return "the end of the connection"
    if probe.trouble is not None:
        return probe.response.detail
    error = probe.parsed.error
    status = f"status {probe.response.status}"
    if error is None:
        return status
    number = error.number
    if number is None:
        number = _number_in(probe.parsed.fields)
    if error.code is not None:
        return f"{status}, {error.code} {error.name} ({number})"
    if probe.response.status >= 400:
        return status
    return f"{status}, an error without a code ({number})"


def _number_in(result: Mapping[str, Any]) -> Any:
    """Return the number of an error that came as a result: of a rejected registration, or of a query (Any: JSON)."""
    error = result.get("error")
    return error.get("rpc_code") if isinstance(error, dict) else result.get("rpc_code")
