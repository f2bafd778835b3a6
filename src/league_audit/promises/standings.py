"""Promises 5 and 6: every table that was sent shows a prefix of the results, never an older one, and its sums agree."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from league import events as e
from league_audit.promises.event_history import (
    TableHistory,
    inner,
    objects,
    of_kind,
    outcome_of,
    places,
    schedule_of,
    settings_of,
    text,
    whole,
)
from league_audit.promises.evidence import SAME_MOMENT_S, Evidence, Object, RecordedCall
from league_audit.promises.promise_findings import (
    Breach,
    breaches_at,
    call_at,
    event_at,
    no_manager_journal,
    no_traffic,
)
from league_audit.promises.rules import Row, ranked

COLUMNS = Row._fields[1:]
TIEBREAKERS = ("points", "wins", "draws", "head_to_head")


def rows_in(content: Object, name: str) -> list[Row]:
    """The rows of a table, in the order sent."""
    return [_row(row) for row in objects(content, name)]


def _row(content: Object) -> Row:
    values = []
    for column in COLUMNS:
        value = whole(content, column)
        # No table contains -1, so a wrong column is noticed.
        values.append(-1 if value is None else value)
    return Row(text(content, "player_id") or "", *values)


class _SentTable(NamedTuple):
    """A table that the manager sent, computed not later than `at`."""

    call: RecordedCall
    at: float
    rows: Sequence[Row]
    ranks: Sequence[int | None]
    version: int | None = None


def _sent_table(
    call: RecordedCall,
    content: Object,
    name: str,
    at: float,
) -> _SentTable:
    ranks = [whole(row, "rank") for row in objects(content, name)]
    return _SentTable(
        call=call,
        at=at,
        rows=rows_in(content, name),
        ranks=ranks,
        version=whole(content, "version"),
    )


def _updates(evidence: Evidence) -> list[_SentTable]:
    calls = evidence.from_manager("LEAGUE_STANDINGS_UPDATE")
    return [_sent_table(call, call.message, "standings", call.sent_at) for call in calls]


def _finals(evidence: Evidence) -> list[_SentTable]:
    calls = evidence.from_manager("LEAGUE_COMPLETED")
    return [_sent_table(call, call.message, "final_standings", call.sent_at) for call in calls]


def _answers(evidence: Evidence) -> Iterator[_SentTable]:
    """Every table in an answer to GET_STANDINGS, under `data` and beside it."""
    for call in evidence.to_manager("LEAGUE_QUERY"):
        answer = call.accepted
        if answer is None or call.answered_at is None or text(answer, "query_type") != "GET_STANDINGS":
            continue
        for content in (inner(answer, "data"), answer):
            if "standings" in content:
                yield _sent_table(call, content, "standings", call.answered_at)


# --- promise 5 --------------------------------------------------------------------------------------------------------


def wrong_tables(evidence: Evidence) -> Iterator[Breach]:
    check = _TableCheck(evidence)
    finals = _finals(evidence)
    yield from check.in_order(_updates(evidence), overlapping=False)
    yield from check.in_order(_answers(evidence), overlapping=True)
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
        self._tables = TableHistory(evidence.manager)
        settings = settings_of(evidence.manager)
        self._tiebreakers = settings.tiebreakers if settings else TIEBREAKERS
        self._orders: dict[int, list[str]] = {}

    def in_order(
        self,
        tables: Iterable[_SentTable],
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
            yield from self._ranks(table, prefix)

    def _possible_prefixes(self, table: _SentTable) -> list[int]:
        """The prefixes with this table that existed when it was sent."""
        since = self._tables.since
        prefixes = self._tables.prefixes(table.rows)
        return [prefix for prefix in prefixes if since[prefix] <= table.at + SAME_MOMENT_S]

    def _ranks(self, table: _SentTable, prefix: int) -> Iterator[Breach]:
        order = [row.player_id for row in table.rows]
        where = call_at(table.call)
        right_ranks = range(1, len(order) + 1)
        right_order = self._order(table.rows, prefix)
        if list(table.ranks) != list(right_ranks):
            yield Breach(f"the ranks are {list(table.ranks)}", where)
        elif order != right_order:
            yield Breach(f"the order is not {' '.join(right_order)}", where)

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

    def champions(self, finals: Sequence[_SentTable]) -> Iterator[Breach]:
        """At each end all results are in, and the first player of the table is the champion."""
        ends = list(places(self._evidence.manager, e.LeagueFinished))
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
        finals: Sequence[_SentTable],
    ) -> Iterator[Breach]:
        last_prefix = self._tables.upto(place)
        rows = TableHistory(self._evidence.manager[:place]).rows
        order = self._order(list(rows.values()), last_prefix)
        champion = rows[order[0]]
        if finished.champion != champion.player_id:
            yield Breach(f"the champion is {champion.player_id}", event_at("manager", place))
        for table in finals:
            if last_prefix not in self._tables.prefixes(table.rows):
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
    voids = [event.at for event in of_kind(evidence.manager, e.ResultVoided)]
    last_tables: dict[str, _SentTable] = {}
    for table in _updates(evidence):
        earlier = last_tables.get(table.call.receiver_node)
        last_tables[table.call.receiver_node] = table
        if earlier is None or (table.version or 0) >= (earlier.version or 0):
            continue
        since = earlier.at - SAME_MOMENT_S
        until = table.at + SAME_MOMENT_S
        if not any(since <= at <= until for at in voids):
            yield Breach(
                f"version {table.version} after version {earlier.version}",
                call_at(table.call),
            )


# --- promise 6 --------------------------------------------------------------------------------------------------------


def wrong_sums(evidence: Evidence) -> Iterator[Breach]:
    schedule = schedule_of(evidence.manager)
    for place, result in places(evidence.manager, e.ResultAccepted):
        slot = schedule.get(result.match_id)
        # Promise 4 says which side won; here the points only have to be shared in a legal way.
        legal_shares = [[0, 3], [1, 1]]
        if outcome_of(result).kind == (None, True):
            legal_shares.append([0, 0])
        # A game that is scored by its margin shares them as its rules say: promise 4 knows them.
        is_legal = result.by_margin or sorted(result.points.values()) in legal_shares
        # A result may only give points to its two players.
        if not is_legal or (slot and set(result.points) != set(slot.players)):
            yield Breach(f"{result.match_id} gives {result.points}", event_at("manager", place))
    by_margin = any(result.by_margin for result in of_kind(evidence.manager, e.ResultAccepted))
    for table in (*_updates(evidence), *_answers(evidence), *_finals(evidence)):
        yield from breaches_at(call_at(table.call), _sums(table.rows, by_margin))
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
