"""The output of `league spar`: a line for each match when it is over, and a report on the player at the end."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple

import msgspec

from league.events import Event
from league.features.records.explain import Explanation, explanation_lines
from league.features.records.letter_words import clean
from league.features.workshop.sparring import SparringPlan, SparringWatcher, spar
from league.features.workshop.sparring_manager import REFEREE_ID, SparringManager
from league.features.workshop.sparring_matches import FriendlyMatch, Timing, friendly_match, guest_facts, trouble_in
from league.features.workshop.sparring_report import SparringFinding, SparringReport, Summary, report
from league.reading.journals import Journals, RefereeJournal, read_journals
from league.storage.notices import JournalError
from league.terminal import CommandError, console, print_result
from league.terminal import tables as terminal

INTERRUPTED = 130
RESULTS = ("against", "played", "won", "drawn", "lost", "technical losses", "points")
TIMES = ("call", "limit", "answered", "not", "min", "median", "max")

Ending = Literal["played", "stopped", "interrupted"]


class SparringOutcome(NamedTuple):
    """What came of a plan. `kept_at` is where the journal stays, if it does."""

    plan: SparringPlan
    kept_at: str | None
    ending: Ending
    report: SparringReport


async def play(plan: SparringPlan, kept_at: str | None, as_json: bool, stop: asyncio.Event) -> int:
    """Play the plan, print what came of it, and return the exit status. `kept_at` is where the journal stays."""
    # With --json nothing but the document is printed.
    watcher = SparringWatcher() if as_json else MatchPrinter(plan)
    manager = await spar(plan, watcher, stop)
    console.flush()
    outcome = SparringOutcome(plan, kept_at, _ending(manager), _report(plan))
    lines = (terminal.plain(line) for line in _lines(outcome))
    print_result(as_json, _document(outcome), lines)
    summary = outcome.report.summary
    if outcome.ending == "interrupted":
        raise CommandError(f"interrupted after {terminal.counted(summary.played, 'match')}", INTERRUPTED)
    if outcome.ending == "stopped" or summary.technical_losses:
        return 1
    return 0


def _ending(manager: SparringManager) -> Ending:
    if manager.gave_up:
        return "stopped"
    if manager.is_over:
        return "played"
    return "interrupted"


def _report(plan: SparringPlan) -> SparringReport:
    # Everything comes from the journal: the report claims nothing that was not written down.
    try:
        journals = read_journals(plan.journal)
    except JournalError:
        journals = Journals()  # interrupted before the first match
    return report(journals, plan.guest.agent_id, plan.names)


def _document(outcome: SparringOutcome) -> object:
    plan = outcome.plan
    explanation = outcome.report.explanation
    return clean(
        {
            "player": plan.guest.endpoint,
            "player_id": plan.guest.agent_id,
            "game_type": plan.fixtures.game_type,
            "against": [entrant.title for entrant in plan.entrants],
            "planned": plan.fixtures.matches,
            "ended": outcome.ending,
            **msgspec.to_builtins(outcome.report.summary),
            "matches": msgspec.to_builtins(outcome.report.matches),
            "explained": explanation.match_id if explanation else None,
            "explanation": msgspec.to_builtins(explanation),
            "journal": outcome.kept_at,
        }
    )


# --- during the matches -----------------------------------------------------------------------------------------------


class MatchPrinter(SparringWatcher):
    """Prints each match when it is over, and trouble at once: a silent player takes its time to lose."""

    def __init__(self, plan: SparringPlan) -> None:
        self._plan = plan

    def begun(self, findings: str) -> None:
        plan = self._plan
        opponents = ", ".join(entrant.title for entrant in plan.entrants)
        matches = terminal.counted(plan.fixtures.matches, "friendly match")
        _say(f"{matches} of {plan.fixtures.game_type}: {plan.guest.endpoint} against {opponents}")
        if findings:
            _say(findings)

    def happened(self, event: Event) -> None:
        trouble = trouble_in(event, self._plan.guest.agent_id)
        if trouble is not None:
            _say(f"    {trouble}")

    def ended(self, place: int, events: Sequence[Event]) -> None:
        guest_id = self._plan.guest.agent_id
        journals = Journals(referees={REFEREE_ID: RefereeJournal(events)})
        match_id = self._plan.fixtures.match_id(place - 1)
        facts = guest_facts(match_id, journals, guest_id, self._plan.names)
        match = friendly_match(facts, guest_id)
        total = self._plan.fixtures.matches
        width = len(str(total))
        _say(f"{place:>{width}}/{total}  {_match_line(match)}")


def _say(line: str) -> None:
    # A copy of a player complains through the same queue.
    console.say(terminal.plain(line))


def _match_line(match: FriendlyMatch) -> str:
    if match.fault is not None:
        return f"{match.outcome}: {match.fault}"
    line = f"{match.outcome:<5}  you {_written(match.choices)}, {match.opponent} {_written(match.opponent_choices)}"
    if match.number is None:
        return line
    return f"{line}, the number was {match.number}"


def _written(choices: Sequence[str]) -> str:
    return " ".join(choices) or "nothing"


# --- at the end -------------------------------------------------------------------------------------------------------


def _lines(outcome: SparringOutcome) -> Iterator[str]:
    summary = outcome.report.summary
    matches = outcome.report.matches
    explanation = outcome.report.explanation
    # Interrupted before a match was over: there is nothing to say.
    if explanation is None:
        return
    unplayed = outcome.plan.fixtures.matches - summary.played
    if outcome.ending == "stopped" and unplayed:
        yield (
            f"Stopped after two technical losses in a row: {terminal.counted(unplayed, 'match')} not played. "
            "Fix this first, then spar again."
        )
    yield ""
    yield from _results(summary, matches)
    yield from ("", "Response times in seconds:", *_times(summary.response_times))
    if summary.choices:
        choices = ", ".join(f"{choice} {count}" for choice, count in summary.choices.items())
        yield from ("", f"Your choices: {choices}")
    for number, finding in enumerate(summary.findings, start=1):
        yield from ("", *_finding(number, finding, summary.played))
    if summary.hints:
        yield from ("", "Worth knowing:", *(f"  - {hint}" for hint in summary.hints))
    yield from ("", _heading(matches, explanation), *explanation_lines(explanation))
    if outcome.kept_at:
        example = f"league explain {matches[0].match_id} --journal {outcome.kept_at}"
        yield from ("", f"To read about the first match: {example}")


def _results(summary: Summary, matches: Sequence[FriendlyMatch]) -> Iterator[str]:
    """One row for each opponent, and one for all of them."""
    rows: list[list[object]] = []
    for opponent in dict.fromkeys(match.opponent for match in matches):
        against = [match for match in matches if match.opponent == opponent]
        outcomes = Counter(match.outcome for match in against)
        rows.append(
            [
                opponent,
                len(against),
                outcomes["won"] + outcomes["technical win"],
                outcomes["drawn"],
                outcomes["lost"],
                outcomes["technical loss"],
                sum(match.points for match in against),
            ]
        )
    # With one opponent it would be the same row again.
    if len(rows) > 1:
        rows.append(
            [
                "all",
                summary.played,
                summary.won + summary.technical_wins,
                summary.drawn,
                summary.lost,
                summary.technical_losses,
                summary.points,
            ]
        )
    yield from terminal.table(RESULTS, rows)


def _times(timings: Sequence[Timing]) -> list[str]:
    rows = []
    for timing in timings:
        times = (timing.least, timing.median, timing.most)
        row: list[object] = [timing.call, f"{timing.limit_s:g}", timing.answered, timing.unanswered]
        row += ["–" if seconds is None else f"{seconds:.3f}" for seconds in times]
        rows.append(row)
    return [f"  {line}" for line in terminal.table(TIMES, rows)]


def _finding(number: int, finding: SparringFinding, played: int) -> Iterator[str]:
    title = finding.name
    # An error in a player's code has a sentence for a name.
    if " " not in finding.name and finding.name != finding.code:
        title = f"{finding.code} {finding.name}"
    if finding.clause:
        title = f"{title} [{finding.clause}]"
    matches = f"in {len(finding.matches)} of {terminal.counted(played, 'match')}"
    yield f"To change, {number}: {title}, {matches}; it cost {finding.cost}"
    yield f"  {finding.sentence}"
    yield f"  What to change: {finding.advice}"


def _heading(matches: Sequence[FriendlyMatch], explanation: Explanation) -> str:
    place = [match.match_id for match in matches].index(explanation.match_id)
    reasons = {"technical loss": "the first technical loss", "lost": "the last match you lost"}
    reason = reasons.get(matches[place].outcome, "the last one")
    return f"--- Match {place + 1} in detail, {reason} ---"
