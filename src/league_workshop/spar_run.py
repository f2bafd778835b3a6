"""What `league spar` prints: each match when it is over, and in the end all that they showed of the player."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence

import msgspec

from league.events import Event
from league.reports.journals import Journals, read_journals
from league.storage.notices import JournalError
from league.terminal import CommandError, print_lines, print_result
from league.terminal import tables as terminal
from league_records.explain import explanation_lines
from league_records.letters import clean
from league_workshop.sparring import SparringPlan, SparringWatcher, spar
from league_workshop.sparring_matches import FriendlyMatch, Timing, friendly_match, trouble_in
from league_workshop.sparring_report import SparringFinding, SparringReport, Summary, report

INTERRUPTED = 130


async def play(plan: SparringPlan, kept_at: str | None, as_json: bool, stop: asyncio.Event) -> int:
    """Play what was planned and print what came of it; the exit status. `kept_at` is where the journal stays."""
    manager = await spar(plan, SparringWatcher() if as_json else MatchPrinter(plan), stop)
    ended = "stopped" if manager.gave_up else "played" if manager.is_over else "interrupted"
    found = _report(plan)
    lines = (terminal.plain(line) for line in _lines(plan, kept_at, ended, found))
    print_result(as_json, _document(plan, kept_at, ended, found), lines)
    if ended == "interrupted":
        raise CommandError(f"interrupted after {terminal.counted(found.summary.played, 'match')}", INTERRUPTED)
    return 0 if ended == "played" and not found.summary.technical_losses else 1


def _report(plan: SparringPlan) -> SparringReport:
    """All from the journal: what was not written down is not claimed."""
    try:
        journals = read_journals(plan.journal)
    except JournalError:
        journals = Journals()  # interrupted before the first match
    return report(journals, plan.guest.agent_id, plan.names)


def _document(plan: SparringPlan, kept_at: str | None, ended: str, found: SparringReport) -> object:
    return clean(
        {
            "player": plan.guest.endpoint,
            "player_id": plan.guest.agent_id,
            "game_type": plan.fixtures.game_type,
            "against": [one.title for one in plan.entrants],
            "planned": plan.fixtures.matches,
            "ended": ended,
            **msgspec.to_builtins(found.summary),
            "matches": msgspec.to_builtins(found.matches),
            "explained": found.explanation.match_id if found.explanation else None,
            "explanation": msgspec.to_builtins(found.explanation),
            "journal": kept_at,
        }
    )


# --- while it is played -----------------------------------------------------------------------------------------------


class MatchPrinter(SparringWatcher):
    """Shows each match when it is over, and at once what goes wrong in it: a silent player takes its time to lose."""

    def __init__(self, plan: SparringPlan) -> None:
        self._plan = plan

    def begun(self) -> None:
        plan = self._plan
        titles = ", ".join(one.title for one in plan.entrants)
        counted = terminal.counted(plan.fixtures.matches, "friendly match")
        print_lines([terminal.plain(f"{counted} of {plan.fixtures.game_type}: {plan.guest.endpoint} against {titles}")])

    def happened(self, event: Event) -> None:
        trouble = trouble_in(event, self._plan.guest.agent_id)
        if trouble is not None:
            print_lines([terminal.plain(f"    {trouble}")])

    def ended(self, place: int, events: Sequence[Event]) -> None:
        bout = friendly_match(events, self._plan.guest.agent_id, self._plan.names)
        width = len(str(self._plan.fixtures.matches))
        print_lines([terminal.plain(f"{place:>{width}}/{self._plan.fixtures.matches}  {_line(bout)}")])


def _line(bout: FriendlyMatch) -> str:
    if bout.fault is not None:
        return f"{bout.outcome}: {bout.fault}"
    said = f"you {_chosen(bout.choices)}, {bout.opponent} {_chosen(bout.opponent_choices)}"
    number = f", the number was {bout.number}" if bout.number is not None else ""
    return f"{bout.outcome:<5}  {said}{number}"


def _chosen(choices: Sequence[str]) -> str:
    return " ".join(choices) or "nothing"


# --- in the end -------------------------------------------------------------------------------------------------------


def _lines(plan: SparringPlan, kept_at: str | None, ended: str, report: SparringReport) -> Iterator[str]:
    summary, bouts, explanation = report.summary, report.matches, report.explanation
    if explanation is None:
        return
    if ended == "stopped" and summary.played < plan.fixtures.matches:
        left = terminal.counted(plan.fixtures.matches - summary.played, "match")
        yield f"Stopped after two technical losses in a row: {left} not played. Mend this first, then spar again."
    yield ""
    yield from _results(summary, bouts)
    yield from ("", "Response times in seconds:", *_times(summary.response_times))
    if summary.choices:
        choices = ", ".join(f"{choice} {count}" for choice, count in summary.choices.items())
        yield from ("", f"Your choices: {choices}")
    for number, finding in enumerate(summary.findings, start=1):
        yield from ("", *_finding(number, finding, summary.played))
    if summary.hints:
        yield from ("", "Worth knowing:", *(f"  - {one}" for one in summary.hints))
    yield from ("", f"--- {_why(bouts, explanation.match_id)} ---", *explanation_lines(explanation))
    if kept_at:
        example = f"league explain {bouts[0].match_id} --journal {kept_at}"
        yield from ("", f"The first match: {example}; those that follow count on from it.")


def _results(summary: Summary, bouts: Sequence[FriendlyMatch]) -> Iterator[str]:
    """One row for each opponent, and all together."""
    head = ("against", "played", "won", "drawn", "lost", "technical losses", "points")
    rows: list[list[object]] = []
    for opponent in dict.fromkeys(one.opponent for one in bouts):
        mine = [one for one in bouts if one.opponent == opponent]
        counts = [sum(one.outcome in kinds for one in mine) for kinds in _KINDS]
        rows.append([opponent, len(mine), *counts, sum(one.points for one in mine)])
    if len(rows) > 1:
        won = summary.won + summary.technical_wins
        counts = [won, summary.drawn, summary.lost, summary.technical_losses]
        rows.append(["all", summary.played, *counts, summary.points])
    yield from terminal.table(head, rows)


_KINDS = (("won", "technical win"), ("drawn",), ("lost",), ("technical loss",))


def _times(timings: Sequence[Timing]) -> list[str]:
    head = ("call", "limit", "answered", "not", "min", "median", "max")
    return [f"  {line}" for line in terminal.table(head, [_timing(one) for one in timings])]


def _timing(one: Timing) -> list[object]:
    spread = ("–" if value is None else f"{value:.3f}" for value in (one.least, one.median, one.most))
    return [one.call, f"{one.limit_s:g}", one.answered, one.unanswered, *spread]


def _finding(number: int, one: SparringFinding, played: int) -> Iterator[str]:
    place = f" [{one.clause}]" if one.clause else ""
    title = f"{one.code} {one.name}" if one.name != one.code else one.code
    often = f"in {len(one.matches)} of {terminal.counted(played, 'match')}"
    yield f"To change, {number}: {title}{place}, {often}; it cost {one.cost}"
    yield f"  {one.sentence}"
    yield f"  What to change: {one.advice}"


def _why(bouts: Sequence[FriendlyMatch], match_id: str) -> str:
    bout = next(one for one in bouts if one.match_id == match_id)
    place = [one.match_id for one in bouts].index(match_id) + 1
    which = {"technical loss": "the first technical loss", "lost": "the last match you lost"}
    return f"Match {place} in detail, {which.get(bout.outcome, 'the last one')}"
