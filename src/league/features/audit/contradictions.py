"""The journals of a league held against each other: what one says must not be denied by another.

Theory of operation. The manager's journal says what counts. A player's own journal says what the player chose and what
it was told; a referee's says how the match went; the manager's secrets say which keys it used. Two honest journals may
know different things, but they never say different things about the same attempt. So nothing here follows from a gap:
a journal that begins after a match, or was lost, contradicts nothing.

A contradiction does not tell who lies. It names both journals, and people decide.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import msgspec

from league import events as e
from league.features.audit.promises.grounds.event_history import (
    Choices,
    choices_of,
    game_of,
    in_force,
    schedule_of,
    whole,
)
from league.features.audit.promises.grounds.event_log import Attempt, EventLog, attempt_of
from league.features.audit.promises.grounds.evidence import Evidence
from league.features.audit.promises.grounds.promise_findings import event_at
from league.storage.journal import decode

TOLD_OF_A_MATCH = (e.MoveMade, e.NumberDrawn, e.MatchDecided)


class Contradiction(NamedTuple):
    """Two journals that cannot both be true; `match_id` is empty if it is not about a match."""

    match_id: str
    detail: str
    where: str


def contradictions(evidence: Evidence) -> Iterator[Contradiction]:
    """Every contradiction between these journals."""
    results = in_force(evidence.manager)
    game = game_of(evidence.manager)
    schedule = schedule_of(evidence.manager)
    choices = {result.match_id: choices_of(result, game, schedule) for result in results if evidence.players}
    assigned = evidence.manager.by_attempt(e.MatchAssigned)
    for player, journal in evidence.players.items():
        account = _Account(player, journal)
        for result in results:
            if player in result.points:
                yield from account.about(result, choices[result.match_id], assigned.get(attempt_of(result)))
    yield from _records(evidence)
    yield from _champions(evidence)


# --- a player's own account -------------------------------------------------------------------------------------------


class _Account:
    """What a player's own journal says about its matches."""

    def __init__(self, player: str, journal: EventLog) -> None:
        self._player = player
        self._since = min((event.at for event in journal.of_kind(e.Registered)), default=float("inf"))
        self._given: dict[tuple[str, int], list[tuple[int, e.ChoiceGiven]]] = {}
        self._ended: dict[str, list[tuple[int, e.GameEnded]]] = {}
        # An invitation that names no attempt is counted by the player, which may count differently.
        self._uncounted = {
            event.match_id for event in journal.of_kind(e.InvitationAnswered) if not event.stated_attempt
        }
        for place, choice in journal.places(e.ChoiceGiven):
            self._given.setdefault((choice.match_id, choice.turn), []).append((place, choice))
        for place, ended in journal.places(e.GameEnded):
            if ended.trusted:
                self._ended.setdefault(ended.match_id, []).append((place, ended))

    def about(
        self,
        result: e.ResultAccepted,
        choices: Sequence[Choices],
        assigned: e.MatchAssigned | None,
    ) -> Iterator[Contradiction]:
        """Hold the account against a result and the choices that it names, turn by turn."""
        for turn, step in enumerate(choices, start=1):
            choice = step.get(self._player)
            if isinstance(choice, str):
                yield from self._about_choice(result, turn, choice, assigned)
        for place, ended in self._ended.get(result.match_id, ()):
            is_same = ended.referee_id == result.referee_id
            if is_same and whole(ended.game_result, "attempt") == result.attempt:
                yield from self._about_end(result, place, ended)

    def _about_choice(
        self,
        result: e.ResultAccepted,
        turn: int,
        choice: str,
        assigned: e.MatchAssigned | None,
    ) -> Iterator[Contradiction]:
        given = self._given.get((result.match_id, turn), [])
        if result.match_id not in self._uncounted:
            given = [(place, event) for place, event in given if event.attempt == result.attempt]
        to_referee = [(place, event) for place, event in given if event.referee_id == result.referee_id]
        given = to_referee or given
        if any(event.choice == choice for _, event in given):
            return
        if given:
            place, event = given[-1]
            detail = f"{self._player} chose {event.choice} by its own journal, and {choice} by the manager's"
            yield Contradiction(result.match_id, detail, event_at(self._player, place))
        elif assigned is not None and self._since < assigned.at:
            # The journal was kept at that time: it would hold the choice.
            detail = f"{self._player} chose nothing by its own journal, and {choice} by the manager's"
            yield Contradiction(result.match_id, detail, self._player)

    def _about_end(self, result: e.ResultAccepted, place: int, ended: e.GameEnded) -> Iterator[Contradiction]:
        told = ended.game_result
        where = event_at(self._player, place)
        facts = 0
        for name in ("drawn_number", "choices", "draw_seed"):
            theirs = told.get(name)
            ours = result.details.get(name)
            if theirs is None or ours is None:
                continue
            facts += 1
            if theirs != ours:
                detail = f"{self._player} was told {name} {theirs}, and the result says {ours}"
                yield Contradiction(result.match_id, detail, where)
        # A manager corrects a winner that does not follow from what was reported.
        if not facts and ended.winner != result.winner:
            detail = f"{self._player} was told that {ended.winner} won, and the result says {result.winner}"
            yield Contradiction(result.match_id, detail, where)


# --- referees ---------------------------------------------------------------------------------------------------------


def _records(evidence: Evidence) -> Iterator[Contradiction]:
    """A record that the manager fetched says what the referee's own journal says."""
    stored_facts: dict[str, dict[Attempt, set[_Fact]]] = {}
    for referee, journal in evidence.referees.items():
        attempts = stored_facts.setdefault(referee, {})
        for event in journal:
            if isinstance(event, TOLD_OF_A_MATCH):
                attempts.setdefault(attempt_of(event), set()).add(_fact(event))
    for place, record in evidence.manager.places(e.MatchRecordKept):
        attempt = Attempt(record.match_id, record.attempt)
        facts = stored_facts.get(record.referee_id, {}).get(attempt)
        if facts is None:
            continue
        if any(_fact(event) not in facts for event in _told(record) if attempt_of(event) == attempt):
            detail = f"the record of {record.match_id} is not what the journal of {record.referee_id} says"
            yield Contradiction(record.match_id, detail, event_at("manager", place))


_Fact = tuple[object, ...]


def _fact(event: e.MoveMade | e.NumberDrawn | e.MatchDecided) -> _Fact:
    """What an event says about a match. Records shorten the words of players, so that texts may differ."""
    if isinstance(event, e.MoveMade):
        return (event.player_id, event.turn, event.choice)
    if isinstance(event, e.NumberDrawn):
        return (event.number,)
    return (event.status, event.winner, *sorted(event.points.items()))


def _told(
    record: e.MatchRecordKept,
) -> Iterator[e.MoveMade | e.NumberDrawn | e.MatchDecided]:
    for line in record.lines:
        try:
            event = decode(msgspec.json.encode(line))
        except (ValueError, TypeError):
            continue  # a third-party referee may send anything
        if isinstance(event, TOLD_OF_A_MATCH):
            yield event


def _champions(evidence: Evidence) -> Iterator[Contradiction]:
    """Nobody was told another champion than the manager ever had."""
    champions = {event.champion for event in evidence.manager.of_kind(e.LeagueFinished)}
    if not champions:
        return
    for agent, journal in (*evidence.referees.items(), *evidence.players.items()):
        for place, ended in journal.places(e.LeagueEnded):
            if not ended.withdrawn and ended.champion not in champions:
                detail = f"{agent} was told that {ended.champion} is the champion, not {min(champions)}"
                yield Contradiction("", detail, event_at(agent, place))
