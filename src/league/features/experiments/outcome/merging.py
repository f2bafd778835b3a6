"""Puts the parts of a tournament together: shards that were played on several machines.

All folders must be of one plan. The series of a part may be in several folders, if they are the same there, byte for
byte. Nothing is written before every planned series was found. What is written is what one run would have written.

Parts may come from other people, so every match is played once more: its moves must lead to the end, and to the points,
that its line states.
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
from league.features.experiments.playing.plan import PlanFacts, Shard, Task, game_named, openings_for
from league.features.experiments.playing.repeatability import moves_in
from league.features.experiments.playing.series import WHOLE, MatchEnd, SeriesPlan
from league.features.experiments.tournament import ResultCollector, TournamentResult, result_of
from league.games import registry
from league.games.contract import PLAYER_B, Outcome, opponent
from league.terminal import CommandError

MOST_NAMED: Final = 5
"""Missing pairs that are named one by one."""
UNPLAYABLE: Final = (StopIteration, ValueError, LookupError, TypeError)
"""What a game raises for moves that somebody else wrote."""


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
    judge = _Judge(facts)
    planned = {facts.series(task).key: task for task in facts.tasks()}
    origins: dict[str, Path] = {}
    for part in parts:
        for key in part.store.keys():  # noqa: SIM118 - a store is no dictionary
            # A folder may hold more, of strategies that took part earlier.
            if key not in planned:
                continue
            line = part.store.line(key)
            if key not in store:
                judge.check(part, planned[key], part.store.record(key))
                store.add(key, line)
                origins[key] = part.folder
            elif store.line(key) != line:
                pair = " and ".join(_names(facts, planned[key]))
                raise CommandError(
                    f"{origins[key]} and {part.folder} have different results of the same series of {pair}: one of the "
                    "strategies is not repeatable, so name only one of the folders"
                )
    return store


class _Judge:
    """Plays recorded matches once more."""

    def __init__(self, facts: PlanFacts) -> None:
        self._facts = facts
        self._game = game_named(facts.game)
        self._openings = openings_for(facts.game, facts.openings, facts.seed)

    def check(self, part: TournamentFolder, task: Task, record: SeriesRecord) -> None:
        """CommandError if a series states another end than its moves have."""
        series = self._facts.series(task)
        plan = SeriesPlan(self._game, record.seed, series.start, series.matches, self._openings)
        wrong = "another number of matches than the plan"
        is_whole = (record.seed, record.start) == (series.seed, series.start)
        if is_whole and len(record.ends) == len(record.moves) == series.matches:
            places = (place for place in range(series.matches) if not self._is_right(plan, record, place))
            wrong = next((f"an end of match {plan.start + place} that its moves do not have" for place in places), "")
        if wrong:
            pair = " and ".join(_names(self._facts, task))
            raise CommandError(f"{part.folder / LINES} has {wrong}, in a series of {pair}: play that series again")

    def _is_right(self, plan: SeriesPlan, record: SeriesRecord, place: int) -> bool:
        number = plan.start + place
        chance = record.chance[place] if place < len(record.chance) else ""
        try:
            outcome = self._outcome(plan, number, moves_in(record.moves[place]), chance.split())
        except UNPLAYABLE:
            outcome = None
        is_played = record.ends[place] in {str(int(end)) for end in WHOLE}
        if outcome is None or not is_played:
            # Who failed broke the match off.
            return outcome is None and not is_played
        first = plan.first_seat(number)
        ends = {None: MatchEnd.DRAW, first: MatchEnd.FIRST_WON, opponent(first): MatchEnd.SECOND_WON}
        if not self._game.scoring.by_margin:
            return record.ends[place] == str(int(ends[outcome.winner]))
        score = self._game.scoring.points(outcome.winner, False, outcome.returns)
        ours = score[::-1] if first == PLAYER_B else score
        return record.ends[place] == str(int(ends[outcome.winner])) and tuple(record.scores[place]) == tuple(ours)

    def _outcome(self, plan: SeriesPlan, number: int, moves: list[str], chance: list[str]) -> Outcome | None:
        """Return how a match ends by its moves and by what chance drew; None if they do not lead to its end."""
        rules = self._game.rules
        state: Any = self._game.opened(self._openings[plan.opening(number)])
        chosen = iter(moves)
        drawn = iter(chance)
        while (mover := rules.to_move(state)).kind != "nobody":
            if mover.kind == "chance":
                state = rules.draw(state, int(next(drawn)))
                continue
            turn = {seat: next(chosen) for seat in mover.seats}
            if any(move not in rules.legal_moves(state, seat) for seat, move in turn.items()):
                return None
            state = rules.play(state, turn)
        if next(chosen, None) is not None or next(drawn, None) is not None:
            return None
        outcome: Outcome | None = rules.outcome(state)
        return outcome


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
