"""Puts the parts of a tournament together: shards that were played on several machines.

All folders must be of one plan. The series of a part may be in several folders, if they are the same there, byte for
byte. Nothing is written before every planned series was found. What is written is what one run would have written.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Final, NamedTuple

from league.features.experiments.outcome import result_files
from league.features.experiments.outcome.series_store import (
    LINES,
    FolderPlan,
    SeriesRecord,
    SeriesStore,
    first_difference,
    open_to_read,
    read_plan,
    write_plan,
    writing,
)
from league.features.experiments.playing.plan import PlanFacts, Shard, Task
from league.features.experiments.tournament import ResultCollector, TournamentResult, result_of
from league.games import registry
from league.terminal import CommandError

MOST_NAMED: Final = 5
"""Missing pairs that are named one by one."""


class TournamentFolder(NamedTuple):
    """One of the folders."""

    folder: Path
    plan: FolderPlan
    store: SeriesStore


def merge(folders: Sequence[str | Path], to: str | Path) -> TournamentResult:
    """Put the series of several folders together in a new one. LeagueError if they do not make one tournament."""
    started = time.monotonic()
    if not folders:
        raise CommandError("name the folders of the parts")
    target = Path(to)
    if read_plan(target) is not None or (target / LINES).exists():
        raise CommandError(f"{target} holds a tournament already: name another folder for the results")
    with ExitStack() as opened:
        parts = [_part(Path(folder), opened) for folder in folders]
        facts = _common_plan(parts)
        store = _together(facts, parts)
        missing = [task for task in facts.tasks() if facts.series(task).key not in store]
        # Before anything is written: half a tournament must not look like a whole one.
        if missing:
            raise CommandError(_named(facts, missing, parts))
        names = {name for part in parts for name in part.plan.not_repeatable}
        not_repeatable = tuple(name for name in facts.names if name in names)
        tally = ResultCollector(facts, store, facts.tasks())
        tally.advance()
        result = result_of(tally, not_repeatable, time.monotonic() - started)
        result_files.prepare(target)
        with writing(target):
            write_plan(target, FolderPlan(facts, facts.digest, None, not_repeatable))
            store.arrange_in(target)
            result_files.write_tables(result, target)
        return result


def _part(folder: Path, opened: ExitStack) -> TournamentFolder:
    plan = read_plan(folder)
    if plan is None:
        raise CommandError(f"{folder} does not hold a part of a tournament: there is no plan.json")
    store = opened.enter_context(open_to_read(folder))
    return TournamentFolder(folder, plan, store)


def _common_plan(parts: list[TournamentFolder]) -> PlanFacts:
    first = parts[0]
    for part in parts[1:]:
        if part.plan.plan_digest != first.plan.plan_digest:
            difference = first_difference(
                _comparable(first.plan.plan),
                _comparable(part.plan.plan),
                str(first.folder),
                str(part.folder),
            )
            raise CommandError(f"{part.folder} is of another plan than {first.folder}: {difference}")
    facts = first.plan.plan
    if registry.find(facts.game) is None:
        raise CommandError(registry.why_unknown(facts.game))
    return facts


def _comparable(plan: PlanFacts) -> dict[str, Any]:
    names = [f"{strategy.name} ({strategy.digest[:8]})" for strategy in plan.strategies]
    return {
        **plan.settings,
        "meetings": plan.meetings,
        "strategies": ", ".join(names),
    }


def _together(facts: PlanFacts, parts: list[TournamentFolder]) -> SeriesStore:
    """Return the planned series of all parts in one store."""
    store = SeriesStore.temporary()
    planned = {facts.series(task).key: task for task in facts.tasks()}
    origins: dict[str, Path] = {}
    for part in parts:
        for key in part.store.keys():  # noqa: SIM118 - a store is no dictionary
            # A folder may hold more, of strategies that took part earlier.
            if key not in planned:
                continue
            line = part.store.line(key)
            if key not in store:
                _require_planned(facts, part, planned[key], part.store.record(key))
                store.add(key, line)
                origins[key] = part.folder
            elif store.line(key) != line:
                pair = " and ".join(_names(facts, planned[key]))
                raise CommandError(
                    f"{origins[key]} and {part.folder} have different results of the same series of {pair}: one of the "
                    "strategies is not repeatable, so name only one of the folders"
                )
    return store


def _require_planned(facts: PlanFacts, part: TournamentFolder, task: Task, record: SeriesRecord) -> None:
    """CommandError if a line does not hold the series that its key says."""
    series = facts.series(task)
    is_planned = (record.seed, record.start) == (series.seed, series.start)
    if not is_planned or not len(record.ends) == len(record.moves) == series.matches:
        pair = " and ".join(_names(facts, task))
        raise CommandError(
            f"{part.folder / LINES} has another number of matches than the plan, in a series of {pair}: "
            "play that series again"
        )


def _names(facts: PlanFacts, task: Task) -> tuple[str, str]:
    first, second = facts.pairs[task.pair]
    return facts.names[first], facts.names[second]


def _named(facts: PlanFacts, missing: list[Task], parts: list[TournamentFolder]) -> str:
    """Say which series are missing: by shards where whole ones are, and by pairs."""
    # One pair has many series.
    different_pairs = {" and ".join(_names(facts, task)) for task in missing}
    pairs = sorted(different_pairs)
    named = "; ".join(pairs[:MOST_NAMED])
    if len(pairs) > MOST_NAMED:
        named += f"; and {len(pairs) - MOST_NAMED} more pairs"
    sentence = f"{len(missing)} of {len(facts.tasks())} series are missing"
    shards = _missing_shards(facts, missing, parts)
    if shards:
        sentence += f", in shard {', '.join(map(str, shards))}"
    return f"{sentence}: {named}. Play them with --resume, and merge again"


def _missing_shards(facts: PlanFacts, missing: list[Task], parts: list[TournamentFolder]) -> list[Shard]:
    """Return the shards that the missing series belong to, if all folders are shards of the same count."""
    counts = set()
    for part in parts:
        _, _, count = (part.plan.shard or "").partition("/")
        counts.add(count)
    # Whole tournaments may be merged, too, and then there are no shards.
    if len(counts) > 1 or not count.isdecimal():
        return []
    shards = []
    for number in range(1, int(count) + 1):
        shard = Shard(number, int(count))
        if not set(missing).isdisjoint(facts.shard(shard)):
            shards.append(shard)
    return shards
