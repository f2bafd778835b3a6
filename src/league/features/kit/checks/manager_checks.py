"""Managers: the league of the kit's own members, whose results the kit knows (spec sections 5.2, 5.14, 8.4 to 8.9)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from itertools import combinations

from league.features.kit.checks.outcome import Check, CheckOutcome, broken, each, kept, untestable
from league.features.kit.checks.playing import Playing
from league.features.kit.driver.messages import WAYS
from league.features.kit.driver.record import RunRecord, message_in
from league.gateway.readers.foreign_assignments import schedule_in
from league.gateway.readers.foreign_tables import ForeignTableRow, tallies_in
from league.protocol.message.messages import MatchResultAck

COLUMNS = {3: "wins", 1: "draws", 0: "losses"}


def accepts(record: RunRecord, check: Check) -> CheckOutcome:
    """The kit is a member, with an id and a token."""
    members = record.hosted
    if not members:
        return broken(f"nobody could register: {_why_not_registered(record)}", check.advice, *record.of("registration"))
    ids = [member.id for member in members]
    if len(set(ids)) < len(ids):
        return broken(f"two members got the same id: {', '.join(ids)}", check.advice, *record.of("registration"))
    return kept(f"{len(members)} members")


def _why_not_registered(record: RunRecord) -> str:
    probes = record.of("registration")
    return probes[-1].why_not() if probes and not probes[-1].is_answered else "no answer that accepts it"


def announces(record: RunRecord, check: Check) -> CheckOutcome:
    """Every member of these roles gets every round."""
    if not record.staged:
        return untestable(check.nothing)
    rounds = {arrival.normalised.get("round_id") for arrival in record.requests("ROUND_ANNOUNCEMENT")}
    for member in record.members(check.kind):
        arrivals = [arrival for arrival in record.requests("ROUND_ANNOUNCEMENT") if arrival.place == member.path]
        missing = rounds - {arrival.normalised.get("round_id") for arrival in arrivals}
        if missing or not arrivals:
            return broken(f"{member.id} got no announcement of round {min(missing, key=str, default=1)}", check.advice)
    return kept(f"{len(rounds)} rounds")


def everybody_meets(record: RunRecord, check: Check) -> CheckOutcome:
    if not record.staged:
        return untestable(check.nothing)
    met = {frozenset(staged.choices) for staged in record.staged}
    for pair in combinations([member.id for member in record.members("player")], 2):
        if frozenset(pair) not in met:
            return broken(f"{pair[0]} and {pair[1]} never met", check.advice)
    return kept(f"{len(record.staged)} matches")


def takes_reports(record: RunRecord, check: Check) -> CheckOutcome:
    return each(
        check,
        record.of("report"),
        lambda probe: f"the report of {probe.message['match_id']} was not acknowledged: {probe.why_not()}",
        "every report was acknowledged",
        lambda probe: not probe.is_empty and not isinstance(message_in(probe), MatchResultAck),
    )


def counts_once(record: RunRecord, check: Check) -> CheckOutcome:
    """The table is the same after another report of a match that has a result."""
    tables = [tallies_in(probe.answer) for label in ("table", "table afterwards") for probe in record.of(label)]
    probes = record.of(*check.labels)
    if len(tables) < 2 or not all(tables) or not probes:
        return untestable(check.nothing)
    if tables[0] != tables[1]:
        return broken("the table changed after a match had been reported again", check.advice, *probes)
    return kept("counted once", probes)


def right_table(record: RunRecord, check: Check) -> CheckOutcome:
    """The table has what the kit reported."""
    wrong = _differences(record)
    if wrong is None:
        return untestable(check.nothing)
    if wrong:
        return broken(wrong, check.advice, *record.of("table"), *record.requests("LEAGUE_STANDINGS_UPDATE")[-1:])
    return kept(f"as reported, {len(record.staged)} matches")


def _differences(record: RunRecord) -> str | None:
    """Say what is wrong in the table; None if the manager shows none. The answer to the query is the surest."""
    updates = [arrival.message for arrival in record.requests("LEAGUE_STANDINGS_UPDATE")]
    answers = [probe.answer for probe in record.of("table")]
    table = next(filter(None, map(tallies_in, (*answers, *updates[-1:]))), None)
    if table is None:
        return None
    for player, right in _right_table(record).items():
        tally = table.get(player, ForeignTableRow(0))
        for column in ("played", *COLUMNS.values()):
            count = getattr(tally, column)
            if count is not None and count != right[column]:
                return f"{column} of {player}: {count} instead of {right[column]}"
    return ""


def _right_table(record: RunRecord) -> Mapping[str, Counter[str]]:
    """Return what follows from the reports, by player and column."""
    table: dict[str, Counter[str]] = {member.id: Counter() for member in record.members("player")}
    for probe in record.of("report"):
        for player, points in probe.message["result"]["score"].items():
            table.setdefault(player, Counter()).update(("played", COLUMNS[points]))
    return table


def ends_once(record: RunRecord, check: Check) -> CheckOutcome:
    if not record.staged:
        return untestable(check.nothing)
    for member in record.members("player"):
        ends = [arrival for arrival in record.requests("LEAGUE_COMPLETED") if arrival.place == member.path]
        if len(ends) != 1:
            return broken(f"{member.id} got LEAGUE_COMPLETED {len(ends)} times", check.advice, *ends)
    return kept("everybody was told once")


def would_lead(record: RunRecord) -> Playing:
    """Judge whether a league under this manager would come to a right end."""
    if not record.is_reached:
        return Playing(None)
    reason = _why_it_fails(record)
    return Playing(not reason, reason)


def _why_it_fails(record: RunRecord) -> str:
    for role in ("player", "referee"):
        if not record.members(role):
            return f"it registers no {role}: {_why_not_registered(record)}"
    if not record.staged:
        return f"it announced no match to {len(record.members('player'))} players and a referee"
    told = {arrival.place for arrival in record.requests(*WAYS)}
    answers = [probe for probe in record.of("schedule") if schedule_in(probe.answer)]
    if not answers and told.isdisjoint(member.path for member in record.members("referee")):
        return "it tells no referee of its matches, neither unasked nor in answer to GET_SCHEDULE"
    wrong = _differences(record)
    refused = [probe for probe in record.of("report") if probe.parsed.error is not None]
    if wrong is None and refused:
        return f"it does not take a report: {refused[0].why_not()}"
    return f"it does not count what is reported: {wrong}" if wrong else ""
