"""Promises 5 and 6: every table that was sent shows a prefix of the results, never an older one, and its sums agree."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from league import events as e
from league.features.audit.promises.grounds.event_history import (
    inner,
    objects,
    outcome_of,
    schedule_of,
    settings_of,
    tables_of,
    text,
    whole,
)
from league.features.audit.promises.grounds.event_log import EventLog
from league.features.audit.promises.grounds.evidence import SAME_MOMENT_S, Evidence, Object, RecordedCall
from league.features.audit.promises.grounds.promise_findings import (
    Breach,
    breaches_at,
    call_at,
    event_at,
    no_manager_journal,
    no_traffic,
)
from league.features.audit.promises.grounds.rules import Row, ranked, row_in

LEGAL_SHARES = ([0, 3], [1, 1])
TIEBREAKERS = ("points", "wins", "draws", "head_to_head")


class PublishedTable(NamedTuple):
    """A table, which may have been sent to many."""

    rows: Sequence[Row]
    """In the order sent."""
    ranks: Sequence[int | None]
    version: int | None
    prefixes: Sequence[int]
    """After how many changes of the table it was like this."""

    @property
    def name(self) -> int:
        """What tells it from other tables in memory."""
        return id(self.rows)


class SentTable(NamedTuple):
    """A table that the manager sent, computed not later than `at`."""

    call: RecordedCall
    at: float
    table: PublishedTable


class _TableReader:
    """Reads each table once: the letters of a broadcast share what they hold."""

    def __init__(self, evidence: Evidence) -> None:
        self._tables = tables_of(evidence.manager)
        self._read: dict[int, PublishedTable] = {}

    def sent(self, call: RecordedCall, content: Object, name: str, at: float) -> SentTable:
        # The evidence holds the content, so no other content gets its place in memory.
        table = self._read.get(id(content))
        if table is None:
            rows = list(map(row_in, objects(content, name)))
            ranks = [whole(row, "rank") for row in objects(content, name)]
            table = PublishedTable(rows, ranks, whole(content, "version"), self._tables.prefixes(rows))
            self._read[id(content)] = table
        return SentTable(call, at, table)


def updates_in(evidence: Evidence) -> Sequence[SentTable]:
    """Every table that was broadcast, in the order of sending."""
    return evidence.once(_updates)


def _updates(evidence: Evidence) -> Sequence[SentTable]:
    reader = _TableReader(evidence)
    calls = evidence.from_manager("LEAGUE_STANDINGS_UPDATE")
    return [reader.sent(call, call.message, "standings", call.sent_at) for call in calls]


def _finals(evidence: Evidence) -> Sequence[SentTable]:
    reader = _TableReader(evidence)
    calls = evidence.from_manager("LEAGUE_COMPLETED")
    return [reader.sent(call, call.message, "final_standings", call.sent_at) for call in calls]


def _answers(evidence: Evidence) -> Sequence[SentTable]:
    return list(_answered(evidence))


def _answered(evidence: Evidence) -> Iterator[SentTable]:
    """Yield every table in an answer to GET_STANDINGS, under `data` and beside it."""
    reader = _TableReader(evidence)
    for call in evidence.to_manager("LEAGUE_QUERY"):
        answer = call.accepted
        if answer is None or call.answered_at is None or text(answer, "query_type") != "GET_STANDINGS":
            continue
        for content in (inner(answer, "data"), answer):
            if "standings" in content:
                yield reader.sent(call, content, "standings", call.answered_at)


# --- promise 5 --------------------------------------------------------------------------------------------------------


def wrong_tables(evidence: Evidence) -> Iterator[Breach]:
    check = _TableCheck(evidence)
    finals = evidence.once(_finals)
    yield from check.in_order(updates_in(evidence), overlapping=False)
    yield from check.in_order(evidence.once(_answers), overlapping=True)
    yield from check.in_order(finals, overlapping=False)
    yield from check.champions(finals)
    yield from _versions(evidence)


def tables_unobservable(evidence: Evidence) -> str | None:
    return no_manager_journal(evidence) or no_traffic(evidence)


class _Sending(NamedTuple):
    """A receiver got the table of a prefix."""

    at: float
    prefix: int


class _TableCheck:
    """Compares sent tables with those that the journal allows."""

    def __init__(self, evidence: Evidence) -> None:
        self._evidence = evidence
        self._tables = tables_of(evidence.manager)
        settings = settings_of(evidence.manager)
        self._tiebreakers = settings.tiebreakers if settings else TIEBREAKERS
        self._orders: dict[int, list[str]] = {}
        self._wrong_ranks: dict[tuple[int, int], str] = {}
        """By table and prefix."""

    def in_order(
        self,
        tables: Iterable[SentTable],
        overlapping: bool,
    ) -> Iterator[Breach]:
        """Each table shows a prefix, and a receiver never gets an earlier one.

        Calls may be `overlapping` (queries): then either of two answers may have been computed first.
        """
        sendings: dict[str, list[_Sending]] = {}
        for table in tables:
            prefixes = self._possible_prefixes(table)
            if not prefixes:
                yield Breach(
                    "the table is not the fold of any prefix of the results",
                    call_at(table.call),
                )
                continue
            earlier = sendings.setdefault(_receiver(table.call), [])
            if overlapping:
                before = [sending for sending in earlier if sending.at <= table.call.sent_at]
            else:
                before = earlier[-1:]
            newest = max((sending.prefix for sending in before), default=0)
            prefix = next((prefix for prefix in prefixes if prefix >= newest), None)
            if prefix is None:
                yield Breach(
                    "the table is older than one this receiver was told before",
                    call_at(table.call),
                )
                continue
            earlier.append(_Sending(table.at, prefix))
            name = (table.table.name, prefix)
            if name not in self._wrong_ranks:
                self._wrong_ranks[name] = self._ranks(table.table, prefix)
            if self._wrong_ranks[name]:
                yield Breach(self._wrong_ranks[name], call_at(table.call))

    def _possible_prefixes(self, table: SentTable) -> list[int]:
        """The prefixes with this table that existed when it was sent."""
        since = self._tables.since
        return [prefix for prefix in table.table.prefixes if since[prefix] <= table.at + SAME_MOMENT_S]

    def _ranks(self, table: PublishedTable, prefix: int) -> str:
        """What is wrong with the order of a table; empty if nothing is."""
        right_order = self._order(table.rows, prefix)
        if list(table.ranks) != list(range(1, len(table.rows) + 1)):
            return f"the ranks are {list(table.ranks)}"
        if [row.player_id for row in table.rows] != right_order:
            return f"the order is not {' '.join(right_order)}"
        return ""

    def _order(
        self,
        rows: Sequence[Row],
        prefix: int,
    ) -> list[str]:
        # A table goes to many receivers.
        if prefix not in self._orders:
            self._orders[prefix] = ranked(
                rows,
                self._tiebreakers,
                lambda group: self._tables.head_to_head(group, prefix),
            )
        return self._orders[prefix]

    def champions(self, finals: Sequence[SentTable]) -> Iterator[Breach]:
        """At each end all results are in, and the first player of the table is the champion."""
        ends = list(self._evidence.manager.places(e.LeagueFinished))
        since = -math.inf
        for number, (place, finished) in enumerate(ends, start=1):
            # An end holds until the league is finished once more.
            until = math.inf
            if number < len(ends):
                until = ends[number][1].at - SAME_MOMENT_S
            of_this_end = [table for table in finals if since <= table.at < until]
            yield from self._champion(place, finished, of_this_end)
            since = until

    def _champion(
        self,
        place: int,
        finished: e.LeagueFinished,
        finals: Sequence[SentTable],
    ) -> Iterator[Breach]:
        last_prefix = self._tables.upto(place)
        rows = self._tables.rows
        if last_prefix < self._tables.newest:
            rows = tables_of(EventLog(self._evidence.manager[:place])).rows
        order = self._order(list(rows.values()), last_prefix)
        champion = rows[order[0]]
        if finished.champion != champion.player_id:
            yield Breach(f"the champion is {champion.player_id}", event_at("manager", place))
        for table in finals:
            if last_prefix not in table.table.prefixes:
                yield Breach("the final table does not hold all results", call_at(table.call))
            announced = inner(table.call.message, "champion")
            is_right = text(announced, "player_id") == champion.player_id
            if not is_right or whole(announced, "points") != champion.points:
                yield Breach(
                    f"the champion is {champion.player_id}, {champion.points} points",
                    call_at(table.call),
                )


def _receiver(call: RecordedCall) -> str:
    # The answer to a query goes back to its sender.
    return call.sender_node if call.kind == "LEAGUE_QUERY" else call.receiver_node


def _versions(evidence: Evidence) -> Iterator[Breach]:
    """The version of a table falls only when a result was voided."""
    voids = [event.at for event in evidence.manager.of_kind(e.ResultVoided)]
    last_tables: dict[str, SentTable] = {}
    for table in updates_in(evidence):
        earlier = last_tables.get(table.call.receiver_node)
        last_tables[table.call.receiver_node] = table
        if earlier is None or (table.table.version or 0) >= (earlier.table.version or 0):
            continue
        since = earlier.at - SAME_MOMENT_S
        until = table.at + SAME_MOMENT_S
        if not any(since <= at <= until for at in voids):
            yield Breach(
                f"version {table.table.version} after version {earlier.table.version}",
                call_at(table.call),
            )


# --- promise 6 --------------------------------------------------------------------------------------------------------


def wrong_sums(evidence: Evidence) -> Iterator[Breach]:
    schedule = schedule_of(evidence.manager)
    for place, result in evidence.manager.places(e.ResultAccepted):
        slot = schedule.get(result.match_id)
        # Promise 4 says which side won; here the points only have to be shared in a legal way.
        shares = sorted(result.points.values())
        is_legal = shares in LEGAL_SHARES or (shares == [0, 0] and outcome_of(result).kind == (None, True))
        # A game that is scored by its margin shares them as its rules say: promise 4 knows them.
        is_legal = is_legal or result.by_margin
        # A result may only give points to its two players.
        if not is_legal or (slot and set(result.points) != set(slot.players)):
            yield Breach(f"{result.match_id} gives {result.points}", event_at("manager", place))
    by_margin = any(result.by_margin for result in evidence.manager.of_kind(e.ResultAccepted))
    wrong: dict[int, Sequence[str]] = {}
    for table in (*updates_in(evidence), *evidence.once(_answers), *evidence.once(_finals)):
        name = table.table.name
        if name not in wrong:
            wrong[name] = list(_sums(table.table.rows, by_margin))
        for detail in wrong[name]:
            yield Breach(detail, call_at(table.call))
    for call in evidence.from_manager("ROUND_COMPLETED"):
        yield from breaches_at(call_at(call), _summary(call.message))


def _sums(rows: Sequence[Row], by_margin: bool) -> Iterator[str]:
    for row in rows:
        is_whole = row.played == row.wins + row.draws + row.losses
        # Points of a game that is scored by its margin do not follow from wins and draws.
        if not is_whole or (not by_margin and row.points != 3 * row.wins + row.draws):
            yield f"the columns of {row.player_id} do not agree"
    wins = sum(row.wins for row in rows)
    draws = sum(row.draws for row in rows)
    losses = sum(row.losses for row in rows)
    # A technical loss of both adds two losses, everything else a win and a loss, or two draws.
    if draws % 2 or losses < wins or (losses - wins) % 2:
        yield f"{wins} wins, {draws} draws and {losses} losses do not make whole matches"


def _summary(message: Object) -> Iterator[str]:
    summary = inner(message, "summary")
    parts = [whole(summary, name) or 0 for name in ("wins", "draws", "technical_losses")]
    totals = {
        whole(summary, "total_matches"),
        whole(message, "matches_completed"),
        whole(message, "matches_played"),
    }
    if totals != {sum(parts)}:
        yield f"{parts} wins, draws and technical losses, {sorted(map(str, totals))} matches"
