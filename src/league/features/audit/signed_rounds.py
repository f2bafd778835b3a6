"""What the manager signed, held against what its journal says and what players kept (spec section 9.8).

Theory of operation. Digests show that a journal was not changed by somebody who could not write all of it anew. Only a
signature shows whose journal it is, and only to those who know the key from elsewhere: because they name it (`--key`),
or because a player was told it when it registered and kept that in its own journal. Such a key is *pinned*. A journal
is a player's own if it holds the secret of a key that the manager names as that player's.

Each statement is judged by four questions: is it signed with a pinned key, or with the one that the journal names? Does
it name the one before? Do its results, orders and table follow from the events before it? Does every statement that a
player kept stand in the journal? Nothing else of the manager is believed.

What must never happen: a result, an order or a table that differs from a signed one passes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from league import events as e
from league.features.audit.contradictions import Contradiction
from league.features.audit.journal_evidence import LeagueJournals, ReadJournal
from league.features.audit.promises.grounds.event_history import is_over, schedule_of, tables_of
from league.features.audit.promises.grounds.event_log import EventLog
from league.features.audit.promises.grounds.promise_findings import event_at
from league.features.audit.promises.grounds.rules import row_in
from league.manager.state.ledger import basis_of
from league.protocol.signing.keys import is_signed, statement_bytes
from league.protocol.signing.rounds import TYPE, details_digest, digest_of
from league.storage.notices import JournalError
from league.storage.reading import open_for_reading

Json = dict[str, Any]
"""A JSON object (Any: somebody else may have written it)."""
MANAGER = "manager"
AFTER_THE_END = ("close", "rotate-token")
"""The orders that can be given when the last round is signed, and change no result."""


class Pin(NamedTuple):
    """A key of the manager that is known from elsewhere."""

    key: str
    source: str


@dataclass(slots=True)
class SignedRounds:
    """What is known of the manager's signatures."""

    key: str = ""
    """The manager's key; empty if its journal names none."""
    pins: Sequence[Pin] = ()
    rounds: int = 0
    """The rounds of the schedule."""
    signed: int = 0
    """The rounds that are signed."""
    uncovered: Sequence[str] = ()
    """The matches that changed after the last statement."""
    is_finished: bool = False
    """The league is over, and nothing changed after the last statement."""
    contradictions: list[Contradiction] = field(default_factory=list)

    @property
    def is_pinned(self) -> bool:
        return any(pin.key == self.key for pin in self.pins)


def check_rounds(journals: LeagueJournals, key: str | None) -> SignedRounds:
    """Check every statement; `key` is the key that somebody knows to be the manager's."""
    events = journals.manager.events if journals.manager else EventLog()
    keys = list(_keys_in(events))
    told = list(_told(journals))
    own = [pin for player, pin in told if _is_own(player, journals.players[player], events)]
    outcome = SignedRounds(
        key=keys[-1] if keys else "",
        pins=[Pin(key, "--key")] if key else own,
        rounds=sum(len(event.rounds) for event in events.of_kind(e.ScheduleMade)),
    )
    every_pin = [*outcome.pins, *(pin for _, pin in told)]
    outcome.contradictions += _other_keys([*keys, *(pin.key for pin in every_pin)], every_pin[:1])
    if key and not keys:
        outcome.contradictions.append(Contradiction("", f"nothing here is signed with the key {key}", MANAGER))
    account = _Account(events)
    outcome.contradictions += account.follow()
    outcome.signed = account.signed
    outcome.uncovered = list(account.changed)
    outcome.is_finished = is_over(events) and account.signed == outcome.rounds and not account.changed
    if is_over(events) and keys:
        outcome.contradictions += account.left()
    outcome.contradictions += _kept(journals, account.digests)
    return outcome


def _keys_in(events: EventLog) -> Iterator[str]:
    """Return the keys that the manager's journal names; usually there is one."""
    for event in events.of_kind(e.LeagueCreated, e.SettingsChanged):
        if event.manager_key:
            yield event.manager_key


def _told(journals: LeagueJournals) -> Iterator[tuple[str, Pin]]:
    """Return the keys that players were told when they registered, with the players."""
    for player, journal in journals.players.items():
        for key in {event.manager_key for event in journal.events.of_kind(e.Registered)} - {""}:
            yield player, Pin(key, f"the journal of {player}")


def _is_own(player: str, journal: ReadJournal, manager: EventLog) -> bool:
    """True if a journal holds the secret of a key that the manager names as this player's."""
    registrations = manager.of_kind(e.AgentRegistered, e.TokenRenewed)
    named = {event.public_key for event in registrations if event.agent_id == player} - {""}
    return journal.public_key in named


def _other_keys(keys: Iterable[str], pins: Sequence[Pin]) -> Iterator[Contradiction]:
    """Every key must be pinned, if one is."""
    for key in dict.fromkeys(keys):
        if pins and all(key != pin.key for pin in pins):
            detail = f"this league is signed with the key {key}, and {pins[0].source} names {pins[0].key}"
            yield Contradiction("", detail, MANAGER)


def _kept(journals: LeagueJournals, known: set[str]) -> Iterator[Contradiction]:
    """The statements that players kept are signed, and stand in the manager's journal."""
    if journals.manager is None:
        return
    has_grown = False
    for player, journal in journals.players.items():
        key = ""
        for place, event in journal.events.places(e.Registered, e.RoundEnded, e.LeagueEnded):
            if isinstance(event, e.Registered):
                key = event.manager_key
            elif isinstance(event, e.RoundEnded | e.LeagueEnded) and event.signature:
                where = event_at(player, place)
                if not is_signed(event.signature, key, event.statement):
                    yield Contradiction("", "what it kept of the manager is not signed with the manager's key", where)
                    continue
                digest = digest_of(event.statement)
                if digest not in known and not has_grown:
                    # A league that is played goes on while its journals are read, the manager's first.
                    known |= _statements_now(journals.manager)
                    has_grown = True
                if digest not in known:
                    about = event.statement.get("round_id")
                    yield Contradiction("", f"the manager's journal has no such statement about round {about}", where)


def _statements_now(manager: ReadJournal) -> set[str]:
    """Return the digests of the statements in the manager's journal as it is now; a bundle does not change."""
    with suppress(JournalError), open_for_reading(manager.place) as journal:
        rounds = {digest_of(event.statement) for _, event in journal.of_kind(e.RoundFinished)}
        return rounds | {digest_of(event.statement) for _, event in journal.of_kind(e.LeagueFinished)}
    return set()


class _Account:
    """What a manager must have signed by now, by its own events."""

    def __init__(self, events: EventLog) -> None:
        self.changed: dict[str, None] = {}
        self.orders: list[str] = []
        self.signed = 0
        self.digests: set[str] = set()
        self._events = events
        self._previous: str | None = None
        self._table: Sequence[Json] = ()
        self._tables = tables_of(events)
        self._schedule = schedule_of(events)
        self._names = {event.agent_id: event.display_name for event in events.of_kind(e.AgentRegistered)}
        self._referees: dict[str, str] = {}
        self._attempts: dict[str, int] = {}
        self._results: dict[str, e.ResultAccepted | e.WalkoverDecided] = {}
        self._judgements: dict[str, e.ResultJudged] = {}
        self._keys: dict[str, Mapping[str, str] | None] = {}
        self._key = ""
        self._league_id = ""

    def follow(self) -> Iterator[Contradiction]:
        """Go through the journal, and hold each statement against what became true since the one before."""
        for place, event in self._events.places(*_TAKEN, e.RoundFinished, e.LeagueFinished):
            if isinstance(event, e.RoundFinished | e.LeagueFinished):
                yield from self._judge(place, event)
            else:
                _TAKEN[type(event)](self, event)

    # --- what became true ---------------------------------------------------------------------------------------------

    def _created(self, event: e.LeagueCreated) -> None:
        self._league_id = event.settings.league_id
        self._key = event.manager_key

    def _settings_changed(self, event: e.SettingsChanged) -> None:
        self._key = event.manager_key or self._key

    def _referees_named(self, event: e.RefereesNamed) -> None:
        self._referees |= event.referees

    def _assigned(self, event: e.MatchAssigned) -> None:
        self._referees[event.match_id] = event.referee_id
        self._attempts[event.match_id] = event.attempt
        self._keys[event.match_id] = event.keys
        self._judgements.pop(event.match_id, None)

    def _ordered(self, event: e.OrderCarriedOut) -> None:
        self.orders.append(f"{event.order} {event.named or event.target}".strip())

    def _decided(self, event: e.ResultAccepted | e.WalkoverDecided) -> None:
        self._results[event.match_id] = event
        self.changed[event.match_id] = None

    def _judged(self, event: e.ResultJudged) -> None:
        self._judgements[event.match_id] = event
        self.changed[event.match_id] = None

    def _voided(self, event: e.ResultVoided) -> None:
        self._results.pop(event.match_id, None)
        self._judgements.pop(event.match_id, None)
        self.changed[event.match_id] = None
        self._ordered_anew(event)

    def _ordered_anew(self, event: e.ResultVoided | e.MatchUnparked) -> None:
        if event.key:
            self.orders.append(f"replay-match {event.match_id}")

    # --- statements ---------------------------------------------------------------------------------------------------

    def _judge(self, place: int, event: e.RoundFinished | e.LeagueFinished) -> Iterator[Contradiction]:
        where = event_at(MANAGER, place)
        if not event.signature:
            # Managers of old versions signed nothing. The first statement covers what came before.
            if self._key and isinstance(event, e.RoundFinished):
                yield Contradiction("", "a round is over, and its manager did not sign it", where)
        else:
            self.signed = event.round_id if isinstance(event, e.RoundFinished) else self.signed
            written = statement_bytes(event.statement)
            if not is_signed(event.signature, self._key, written):
                yield Contradiction("", f"a statement is not signed with the key {self._key}", where)
            yield from (Contradiction(match_id, detail, where) for match_id, detail in self._wrong(place, event))
            self._previous = digest_of(written)
            self.digests.add(self._previous)
            self.changed.clear()
            self.orders.clear()
            self._table = event.statement.get("table") or ()
        if isinstance(event, e.LeagueFinished) and self._table:
            first = self._table[0].get("player_id")
            if first != event.champion:
                yield Contradiction("", f"{event.champion} is the champion, and {first} leads the signed table", where)

    def _wrong(self, place: int, event: e.RoundFinished | e.LeagueFinished) -> Iterator[tuple[str, str]]:
        """Return what is wrong about a statement, with the match that it is about."""
        statement = event.statement
        round_id = event.round_id if isinstance(event, e.RoundFinished) else self.signed
        expected = {
            "type": TYPE,
            "manager_key": self._key,
            "league_id": self._league_id,
            "round_id": round_id,
            "orders": self.orders,
            "previous": self._previous,
        }
        name = f"the statement about round {round_id}"
        for key, value in expected.items():
            if statement.get(key) != value:
                yield "", f"{name} has {key} {statement.get(key)}, and by the journal it is {value}"
        stated = statement.get("results")
        results = [self._result(match_id) for match_id in self.changed]
        if stated != results:
            yield from _differences(name, stated if isinstance(stated, list) else [], results)
        table = statement.get("table") or ()
        if self._tables.upto(place) not in self._tables.prefixes(list(map(row_in, table))):
            yield "", f"{name} has another table than the journal"
            return
        for row in table:
            player = row["player_id"]
            own_name = self._names.get(player)
            shown = row.get("display_name")
            if shown != own_name and shown != f"{player} {own_name}":
                yield "", f"{name} calls {player} {shown!r}, and the journal says {own_name!r}"

    def _result(self, match_id: str) -> Json:
        """Return what a manager must say about a match."""
        result = self._results.get(match_id)
        accepted = result if isinstance(result, e.ResultAccepted) else None
        status = accepted.status if accepted else "WALKOVER" if result else None
        basis = basis_of(result, self._judgements.get(match_id), self._keys.get(match_id)) if result else None
        slot = self._schedule.get(match_id)
        return {
            "match_id": match_id,
            "players": [*slot.players] if slot else [],
            "attempt": accepted.attempt if accepted else self._attempts.get(match_id, 0),
            "referee_id": accepted.referee_id if accepted else self._referees.get(match_id),
            "status": status,
            "winner": result.winner if result else None,
            "points": result.points if result else {},
            "basis": basis and {"evidence": basis.evidence, "unsigned": [*basis.unsigned], "doubt": basis.doubt},
            "details": details_digest(accepted.details) if accepted else None,
        }

    def left(self) -> Iterator[Contradiction]:
        """Return what changed after the last statement of a league that is over."""
        for match_id in self.changed:
            yield Contradiction(match_id, f"{match_id} was changed after the last statement", MANAGER)
        for order in self.orders:
            if not order.startswith(AFTER_THE_END):
                yield Contradiction("", f"the order {order!r} came after the last statement", MANAGER)


def _differences(name: str, stated: Sequence[object], results: Sequence[Json]) -> Iterator[tuple[str, str]]:
    """Return where the results of a statement and those of the journal differ."""
    by_match: Mapping[object, Json] = {one.get("match_id"): one for one in stated if isinstance(one, dict)}
    ours = {result["match_id"]: result for result in results}
    for match_id, result in ours.items():
        signed = by_match.get(match_id, {})
        for field_name, value in result.items():
            if signed.get(field_name) != value:
                said = signed.get(field_name)
                yield match_id, f"{name} has {field_name} {said} for {match_id}, and by the journal it is {value}"
                break
    for match_id in by_match.keys() - ours.keys():
        yield str(match_id), f"{name} has a result of {match_id}, and the journal has none since the one before"
    if list(by_match) != list(ours):
        yield "", f"{name} has its results in another order than the journal"


# Any: each handler takes the one event it is listed under.
_TAKEN: Mapping[type[e.Event], Callable[[_Account, Any], None]] = {
    e.LeagueCreated: _Account._created,
    e.SettingsChanged: _Account._settings_changed,
    e.RefereesNamed: _Account._referees_named,
    e.MatchAssigned: _Account._assigned,
    e.OrderCarriedOut: _Account._ordered,
    e.ResultAccepted: _Account._decided,
    e.WalkoverDecided: _Account._decided,
    e.ResultJudged: _Account._judged,
    e.ResultVoided: _Account._voided,
    e.MatchUnparked: _Account._ordered_anew,
}
