"""A run of the catalogue: every bad input is sent, its answer held against the one it must get, and the agent's state
against what it was before."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any, Final

from league_kit.bad_input.cases import PLAYER, ROLES, BadInput, Phase, Standing
from league_kit.bad_input.framing import framing
from league_kit.bad_input.joining import advance, find_role, join, observed, settled
from league_kit.bad_input.speaking import speaking
from league_kit.bad_input.wrong_messages import wrong_messages
from league_kit.clauses import Clause, clauses
from league_kit.kit import Kit, Notify, Options, open_kit
from league_kit.kit_server import KitServer
from league_kit.outcome import CheckOutcome, broken, kept, untestable, warning
from league_kit.record import Probe, RunRecord
from league_kit.runner import CheckReport, CheckResult
from league_kit.wire import Trouble

UNCHANGED: Final = "KEEPING.refused_changes_nothing"
STRANGER: Final = "it is said by a member, and the kit is none"
Observe = Callable[[], Awaitable[str]]
"""The state of the agent, as a text that differs if it does."""


def catalogue(role: str) -> list[BadInput]:
    """Every bad input for an agent of this role, in the order in which they are sent."""
    found = (*framing(role), *wrong_messages(role), *speaking(role))
    return sorted(found, key=lambda one: one.phase)


def _below(known: Iterable[BadInput], only: Iterable[str]) -> list[BadInput]:
    """Those whose id, or clause, is one of these or lies below it; without any, all."""
    wanted = tuple(only)
    return [one for one in known if not wanted or any(_is_below(one, name) for name in wanted)]


def _is_below(one: BadInput, name: str) -> bool:
    return any(text == name or text.startswith((f"{name}.", f"{name}/")) for text in (one.id, one.clause))


def listed(role: str | None, only: Iterable[str] = ()) -> list[dict[str, str]]:
    """What is sent to an agent of this role, or to any: a row each, for people."""
    found = {one.id: one for each in ([role] if role else ROLES) for one in _below(catalogue(each), only)}
    if only and not found:
        raise ValueError(f"there is no bad input {', '.join(only)}; --list shows all")
    clause = clauses()
    return [
        {"id": one.id, "level": clause[one.clause].level, "section": clause[one.clause].section, "sentence": told}
        for one in found.values()
        if (told := f"{one.what}: {one.expected}")
    ]


def check_hostile(options: Options, role: str, notify: Notify) -> CheckReport:
    """`run`, for callers without an event loop."""
    return asyncio.run(run(options, role, notify=notify))


async def run(
    options: Options, role: str = "", also: Observe | None = None, notify: Notify = lambda _: None
) -> CheckReport:
    """Send everything; `role` is found out if it is not given. `also` observes more of the state than can be seen from
    outside. ValueError: it cannot be sent anything."""
    record = RunRecord(options.target, options.time_scale)
    server = KitServer(record, drops_first=False, derives=True)
    began = time.monotonic()
    async with open_kit(options, server, record, notify) as kit:
        role = role or await find_role(kit)
        results = await _send_all(kit, role, also)
    return CheckReport(record, tuple(results), time.monotonic() - began, kit.manager_url, role)


async def _send_all(kit: Kit, role: str, also: Observe | None) -> list[CheckResult]:
    standing = await join(kit, role)
    results: list[CheckResult] = []
    cases = _below(catalogue(role), kit.options.only)
    for phase in sorted({one.phase for one in cases}):
        standing = await advance(kit, standing, phase)
        before = await settled(kit, standing) + (await also() if also else "")
        for case in (one for one in cases if one.phase is phase):
            outcome, before = await _send(kit, case, standing, before, also)
            results.append(CheckResult(_clause(case, role), outcome, case.id))
    return results


async def _send(
    kit: Kit, case: BadInput, standing: Standing, before: str, also: Observe | None
) -> tuple[CheckOutcome, str]:
    """The outcome, and the state after it."""
    if kit.record.is_gone:
        gone = kit.record.probes[-1].label
        return untestable(f"nobody listens any more since this was sent: {gone}"), before
    if standing.missing and (case.as_member or case.phase > Phase.OPEN):
        return untestable(f"{STRANGER}: {standing.missing}"), before
    probe = await kit.send_bad(case.what, case.make(standing))
    after = await observed(kit, standing) + (await also() if also else "")
    outcome = judged(case, probe, before == after, _may_be_taken(case, standing.role))
    return replace(outcome, fault=_answered(probe)), after


def _may_be_taken(case: BadInput, role: str) -> bool:
    """Players may take more than they should (spec section 4.4), and a SHOULD never fails."""
    return role == PLAYER or clauses()[case.clause].level == "SHOULD"


def _clause(case: BadInput, role: str) -> Clause:
    clause = clauses()[case.clause]
    return replace(clause, level=clause.player_level or clause.level) if role == PLAYER else clause


def judged(case: BadInput, probe: Probe, is_unchanged: bool, may_be_taken: bool) -> CheckOutcome:
    """No answer, an answer as if it were right, and another state are failures; another refusal than the catalogue's is
    a warning."""
    found, status = _answered(probe), probe.response.status
    told = f"sent {case.what}; answered {found}"
    if not is_unchanged:
        advice = "Judge a request wholly before you change anything, and change nothing when you refuse it."
        return broken(f"{told}, and the agent's state is another than before [{UNCHANGED}]", advice, probe)
    if found == str(case.expected):
        return kept(told, [probe])
    wanted = f"{told}; expected {case.expected}"
    if case.expected.status is None or probe.trouble is Trouble.BROKEN:
        return warning(wanted, "Answer what is not HTTP with a status, or end the connection.", probe)
    if probe.trouble is not None:
        return broken(wanted, "Answer every request, and keep listening whatever was sent.", probe)
    is_refused = probe.parsed.error is not None or status >= 400
    if is_refused and status < 500:
        return warning(wanted, "Refuse it with the status and the error of the catalogue (2.4, 10.1).", probe)
    taken = warning if may_be_taken and status < 500 else broken
    return taken(wanted, "Refuse what breaks a clause; do nothing of what it asks.", probe)


def _answered(probe: Probe) -> str:
    """The answer in the words in which the expected one is told."""
    if probe.trouble is Trouble.BROKEN and not probe.response.raw:
        return "the end of the connection"
    if probe.trouble is not None:
        return probe.response.detail
    error, status = probe.parsed.error, f"status {probe.response.status}"
    if error is None:
        return status
    number = error.number if error.number is not None else _number_in(probe.parsed.fields)
    if error.code is None:
        return status if probe.response.status >= 400 else f"{status}, an error without a code ({number})"
    return f"{status}, {error.code} {error.name} ({number})"


def _number_in(result: Mapping[str, Any]) -> object:
    """The number of an error that came as a result: of a rejected registration, or of a query (Any: JSON)."""
    inner = result.get("error")
    return (inner if isinstance(inner, dict) else result).get("rpc_code")
