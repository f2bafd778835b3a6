"""Promises 5 and 6: every table sent is the fold of a prefix of the results, never an older one, and its sums agree."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from league import events as e
from league_lab.promises.evidence import SAME_MOMENT_S, Evidence, Object, RecordedCall
from league_lab.promises.findings import Breach, call_at, event_at, no_manager_journal, no_traffic
from league_lab.promises.history import (
    TableHistory,
    inner,
    objects,
    outcome_of,
    places,
    schedule_of,
    settings_of,
    text,
    whole,
)
from league_lab.promises.rules import Row, ranked

COLUMNS = Row._fields[1:]
TIEBREAKERS = ("points", "wins", "draws", "head_to_head")


def rows_in(content: Object, name: str) -> list[Row]:
    """The rows of a table, in the order sent; a column that is no number is read as -1, which no table holds."""
    found = []
    for row in objects(content, name):
        values = [whole(row, column) for column in COLUMNS]
        found.append(Row(text(row, "player_id") or "", *(-1 if value is None else value for value in values)))
    return found


@dataclass(frozen=True, slots=True)
class _SentTable:
    """A table that the manager sent, computed not later than `at`."""

    call: RecordedCall
    at: float
    rows: Sequence[Row]
    ranks: Sequence[int | None]
    version: int | None = None


def _sent_table(call: RecordedCall, content: Object, name: str, at: float) -> _SentTable:
    ranks = [whole(row, "rank") for row in objects(content, name)]
    return _SentTable(call, at, rows_in(content, name), ranks, whole(content, "version"))


def _updates(evidence: Evidence) -> list[_SentTable]:
    return [
        _sent_table(call, call.message, "standings", call.sent_at)
        for call in evidence.from_manager("LEAGUE_STANDINGS_UPDATE")
    ]


def _finals(evidence: Evidence) -> list[_SentTable]:
    return [
        _sent_table(call, call.message, "final_standings", call.sent_at)
        for call in evidence.from_manager("LEAGUE_COMPLETED")
    ]


def _answers(evidence: Evidence) -> list[_SentTable]:
    """Every table in an answer to GET_STANDINGS, under `data` and beside it."""
    found = []
    for call in evidence.to_manager("LEAGUE_QUERY"):
        answer = call.accepted
        if answer is None or call.answered_at is None or text(answer, "query_type") != "GET_STANDINGS":
            continue
        parts = [one for one in (inner(answer, "data"), answer) if "standings" in one]
        found += [_sent_table(call, one, "standings", call.answered_at) for one in parts]
    return found


# --- promise 5 --------------------------------------------------------------------------------------------------------


def wrong_tables(evidence: Evidence) -> Iterator[Breach]:
    tables = TableHistory(evidence.manager)
    check = _TableCheck(evidence, tables)
    yield from check.in_order(_updates(evidence), overlapping=False)
    yield from check.in_order(_answers(evidence), overlapping=True)
    yield from check.in_order(_finals(evidence), overlapping=False)
    yield from check.champions(_finals(evidence))
    yield from _versions(evidence)


def tables_unobservable(evidence: Evidence) -> str | None:
    return no_manager_journal(evidence) or no_traffic(evidence)


class _TableCheck:
    """Compares sent tables with those the journal allows."""

    def __init__(self, evidence: Evidence, tables: TableHistory) -> None:
        self._evidence, self._tables = evidence, tables
        settings = settings_of(evidence.manager)
        self._tiebreakers = settings.tiebreakers if settings else TIEBREAKERS
        self._orders: dict[int, list[str]] = {}

    def in_order(self, tables: Sequence[_SentTable], overlapping: bool) -> Iterator[Breach]:
        """Each a prefix, and for a receiver never an earlier one. Of calls that overlap (queries), either may have
        been computed first."""
        seen: dict[str, list[tuple[float, int]]] = {}
        for table in tables:
            possible = self._possible(table)
            if not possible:
                yield Breach("the table is not the fold of any prefix of the results", call_at(table.call))
                continue
            call = table.call
            before = seen.setdefault(call.sender_node if call.kind == "LEAGUE_QUERY" else call.receiver_node, [])
            known = [one for one in before if one[0] <= table.call.sent_at] if overlapping else before[-1:]
            floor = max((prefix for _, prefix in known), default=0)
            prefix = next((one for one in possible if one >= floor), None)
            if prefix is None:
                yield Breach("the table is older than one this receiver was told before", call_at(table.call))
                continue
            before.append((table.at, prefix))
            yield from self._ranks(table, prefix)

    def _possible(self, table: _SentTable) -> list[int]:
        since = self._tables.since
        return [one for one in self._tables.prefixes(table.rows) if since[one] <= table.at + SAME_MOMENT_S]

    def _ranks(self, table: _SentTable, prefix: int) -> Iterator[Breach]:
        order = [row.player_id for row in table.rows]
        if list(table.ranks) != list(range(1, len(order) + 1)):
            yield Breach(f"the ranks are {list(table.ranks)}", call_at(table.call))
        elif order != self._order(table.rows, prefix):
            yield Breach(f"the order is not {' '.join(self._order(table.rows, prefix))}", call_at(table.call))

    def _order(self, rows: Sequence[Row], prefix: int) -> list[str]:
        if prefix not in self._orders:
            self._orders[prefix] = ranked(
                rows, self._tiebreakers, lambda group: self._tables.head_to_head(group, prefix)
            )
        return self._orders[prefix]

    def champions(self, finals: Sequence[_SentTable]) -> Iterator[Breach]:
        """At each end all results are in, and the first of the table is the champion."""
        ends = list(places(self._evidence.manager, e.LeagueFinished))
        since = [-math.inf, *(end.at - SAME_MOMENT_S for _, end in ends[1:]), math.inf]
        for nth, (place, finished) in enumerate(ends):
            told = [one for one in finals if since[nth] <= one.at < since[nth + 1]]
            yield from self._champion(place, finished, told)

    def _champion(self, place: int, finished: e.LeagueFinished, finals: Sequence[_SentTable]) -> Iterator[Breach]:
        last = self._tables.upto(place)
        rows = TableHistory(self._evidence.manager[:place]).rows
        champion = rows[self._order(list(rows.values()), last)[0]]
        if finished.champion != champion.player_id:
            yield Breach(f"the champion is {champion.player_id}", event_at("manager", place))
        for table in finals:
            if last not in self._tables.prefixes(table.rows):
                yield Breach("the final table does not hold all results", call_at(table.call))
            named = inner(table.call.message, "champion")
            if (text(named, "player_id"), whole(named, "points")) != (champion.player_id, champion.points):
                yield Breach(f"the champion is {champion.player_id}, {champion.points} points", call_at(table.call))


def _versions(evidence: Evidence) -> Iterator[Breach]:
    voids = [event.at for _, event in places(evidence.manager, e.ResultVoided)]
    before: dict[str, _SentTable] = {}
    for table in _updates(evidence):
        earlier = before.get(table.call.receiver_node)
        before[table.call.receiver_node] = table
        if earlier is None or (table.version or 0) >= (earlier.version or 0):
            continue
        if not any(earlier.at - SAME_MOMENT_S <= at <= table.at + SAME_MOMENT_S for at in voids):
            yield Breach(f"version {table.version} after version {earlier.version}", call_at(table.call))


# --- promise 6 --------------------------------------------------------------------------------------------------------


def wrong_sums(evidence: Evidence) -> Iterator[Breach]:
    schedule = schedule_of(evidence.manager)
    for place, result in places(evidence.manager, e.ResultAccepted):
        slot = schedule.get(result.match_id)
        # Which of the two sides won is promise 4's affair; here only that the points are shared in a legal way.
        shares = sorted(result.points.values())
        legal = [[0, 3], [1, 1], [0, 0]] if outcome_of(result) == (None, True) else [[0, 3], [1, 1]]
        if shares not in legal or (slot and set(result.points) != set(slot.players)):
            yield Breach(f"{result.match_id} gives {result.points}", event_at("manager", place))
    for table in (*_updates(evidence), *_answers(evidence), *_finals(evidence)):
        yield from (Breach(detail, call_at(table.call)) for detail in _sums(table.rows))
    for call in evidence.from_manager("ROUND_COMPLETED"):
        yield from (Breach(detail, call_at(call)) for detail in _summary(call.message))


def _sums(rows: Sequence[Row]) -> Iterator[str]:
    for row in rows:
        if row.played != row.wins + row.draws + row.losses or row.points != 3 * row.wins + row.draws:
            yield f"the columns of {row.player_id} do not agree"
    wins, draws, losses = sum(row.wins for row in rows), sum(row.draws for row in rows), sum(row.losses for row in rows)
    # A technical loss of both adds two losses, everything else a win and a loss, or two draws.
    if draws % 2 or losses < wins or (losses - wins) % 2:
        yield f"{wins} wins, {draws} draws and {losses} losses do not make whole matches"


def _summary(message: Object) -> Iterator[str]:
    summary = inner(message, "summary")
    parts = [whole(summary, name) or 0 for name in ("wins", "draws", "technical_losses")]
    totals = {whole(summary, "total_matches"), whole(message, "matches_completed"), whole(message, "matches_played")}
    if totals != {sum(parts)}:
        yield f"{parts} wins, draws and technical losses, {sorted(map(str, totals))} matches"
