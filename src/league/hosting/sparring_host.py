"""Who gives out friendly matches: a pure machine in the manager's place, for one guest that registered nowhere.

It knows its own referee and opponents by their endpoints and gives out one match after the other. Nothing goes to the
guest but what concerns its matches: a player that is told LEAGUE_COMPLETED may end its process.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from league.events import AgentRegistered, Event, MatchAssigned, ResultAccepted
from league.machine import Address, Chance, Letter, Machine, Outgoing, Ping, Pong, Refusal, Step, Undelivered
from league.protocol import tokens
from league.protocol.envelope import Unsealed, seal
from league.protocol.errors import PeerError
from league.protocol.messages import (
    LeagueRegisterRequest,
    LeagueRegisterResponse,
    MatchResultAck,
    MatchResultReport,
    Message,
    RefereeRegisterRequest,
    RefereeRegisterResponse,
    RoundAnnouncement,
)
from league.protocol.parts import AnnouncedMatch, Record

REFEREE_ID: Final = "REF01"
"""The first of any league: some players know the referees they play under by a list, and refuse all others."""
GUEST_ID: Final = "P01"
"""Opponents count down from P99: a guest that goes by an id of its own must not answer under theirs (E033)."""
LAST_OPPONENT: Final = 99
PATIENCE: Final = 2
"""After so many technical losses in a row there is nothing to learn from another (a league suspends then, R-51)."""
ROUND_ID: Final = 1
ATTEMPT: Final = 1
TOKEN_BYTES: Final = 32
TELL_GUEST_S: Final = 1.0
"""A guest may learn from the announcement where its referee is; who does not answer is not waited for (R-21)."""
ASSIGN_S: Final = 10.0


@dataclass(frozen=True, slots=True)
class Card:
    """What is to be played: so many matches of the guest, against the opponents in turn. `first` numbers the first
    match: a player that remembers its matches must not take a new one for one of last time."""

    league_id: str
    game_type: str
    guest: Address
    opponents: tuple[str, ...]
    endpoints: Mapping[str, str]
    """Where our own referee and opponents are, by their ids."""
    matches: int
    first: int
    move_seconds: float | None = None

    def match_id(self, place: int) -> str:
        return f"R{ROUND_ID}M{self.first + place}"

    def opponent(self, place: int) -> str:
        return self.opponents[place % len(self.opponents)]

    def players(self, place: int) -> tuple[str, str]:
        """Sides change with every match."""
        pair = (self.guest.agent_id, self.opponent(place))
        return pair if place % 2 == 0 else (pair[1], pair[0])


def opponent_ids(count: int) -> tuple[str, ...]:
    return tuple(f"P{LAST_OPPONENT - place:02}" for place in range(count))


class SparringHost(Machine):
    """Gives out matches until the card is played, or the guest has lost too often by its own fault."""

    def __init__(self, card: Card, chance: Chance, secrets: Mapping[str, str] | None = None) -> None:
        super().__init__(chance, secrets)
        self.card = card
        self.results: list[ResultAccepted] = []
        self.refused: Refusal | None = None
        """Why our own referee would not take a match."""
        self._members: dict[str, AgentRegistered] = {}
        self._assigned = 0

    # --- what others may look at --------------------------------------------------------------------------------------

    @property
    def gave_up(self) -> bool:
        """Did the last matches end by the guest's own fault, so that the rest is not played?"""
        last = self.results[-PATIENCE:]
        return len(last) == PATIENCE and all(map(self._is_guests_fault, last))

    @property
    def is_over(self) -> bool:
        return self.gave_up or self.refused is not None or len(self.results) == self.card.matches

    def _is_guests_fault(self, result: ResultAccepted) -> bool:
        # Without a winner both players were at fault.
        return result.status == "TECHNICAL_LOSS" and result.winner in (None, *self.card.opponents)

    # --- the shape of a machine ---------------------------------------------------------------------------------------

    def apply(self, event: Event) -> None:
        if isinstance(event, AgentRegistered):
            self._members[event.agent_id] = event
        elif isinstance(event, MatchAssigned):
            self._assigned += 1
        elif isinstance(event, ResultAccepted):
            self.results.append(event)

    def snapshot(self) -> Mapping[str, Any]:
        members = {name: one.serial for name, one in self._members.items()}
        return {"members": members, "assigned": self._assigned, "results": msgspec.to_builtins(self.results)}

    @property
    def deadline(self) -> float | None:
        return None

    def tick(self, now: float) -> Step:
        return Step()

    def resume(self, now: float) -> Step:
        self._begin()
        if self._assigned > len(self.results):
            self._hand_over(now)
        return self._finish()

    def undelivered(self, failed: Undelivered, now: float) -> Step:
        return self._ended(failed.key, now, arrived=False)

    def handle(self, letter: Letter, now: float) -> Step:
        if letter.answers is not None:
            if isinstance(letter.content, Refusal) and letter.peer == REFEREE_ID:
                self.refused = letter.content
            return self._ended(letter.answers, now, arrived=True)
        self._begin()
        try:
            self._reply(letter, self._answer(letter, now))
        except PeerError as error:
            self._reply(letter, error)
        return self._finish()

    def _ended(self, key: str, now: float, arrived: bool) -> Step:
        """A call has ended. However the guest took the announcement, its match begins."""
        self._begin()
        match_id, _, what = key.partition("/")
        if match_id == self.card.match_id(self._place) and (what == "tell" or not arrived):
            self._hand_over(now)
        return self._finish()

    # --- requests -----------------------------------------------------------------------------------------------------

    def _answer(self, letter: Letter, now: float) -> Message | Pong:
        content = letter.content
        if isinstance(content, Ping):
            return Pong()
        if not isinstance(content, Unsealed):
            raise PeerError("E036", "nothing but friendly matches is arranged here")
        message = content.open()
        if isinstance(message, RefereeRegisterRequest | LeagueRegisterRequest):
            return self._register(message, letter.origin, now)
        if isinstance(message, MatchResultReport):
            return self._report(message, now)
        raise PeerError("E036", f"{message.type} has no answer here: nothing but friendly matches is arranged")

    def _register(self, message: RefereeRegisterRequest | LeagueRegisterRequest, origin: str, now: float) -> Message:
        is_referee = isinstance(message, RefereeRegisterRequest)
        meta = message.referee_meta if isinstance(message, RefereeRegisterRequest) else message.player_meta
        found = [name for name, place in self.card.endpoints.items() if place == meta.contact_endpoint]
        if not found or (found[0] == REFEREE_ID) != is_referee:
            raise PeerError("E019", "nobody else can register here: friendly matches are for one guest")
        agent_id = found[0]
        before = self._members.get(agent_id)
        token = tokens.mint(agent_id, self._chance(TOKEN_BYTES))
        self._keep_secret(f"derive/{agent_id}", tokens.deriver(token))
        self._happened(
            AgentRegistered(
                at=now,
                role="referee" if is_referee else "player",
                agent_id=agent_id,
                display_name=meta.display_name,
                version=meta.version,
                endpoint=meta.contact_endpoint,
                origin=origin,
                game_types=tuple(meta.game_types),
                serial=before.serial + 1 if before else 1,
                verify=tokens.verifier(token),
            )
        )
        self._advance(now)
        said = seal(tokens.MANAGER, now, message.conversation_id or "conv-register", token)
        answer: dict[str, Any] = {**said, "status": "ACCEPTED", "league_id": self.card.league_id}
        answer["token_scheme"] = "derived"
        if is_referee:
            return RefereeRegisterResponse(**answer, referee_id=agent_id)
        return LeagueRegisterResponse(**answer, player_id=agent_id)

    def _report(self, report: MatchResultReport, now: float) -> Message:
        if not tokens.fits(report.auth_token, (self._members[REFEREE_ID].verify,)):
            raise PeerError("E012", "this is not our referee's token")
        if report.match_id == self.card.match_id(self._place):
            self._happened(self._result(report, now))
            self._advance(now)
        elif all(one.match_id != report.match_id for one in self.results):
            raise PeerError("E014", f"{report.match_id[:80]!r} was not given out here")
        return MatchResultAck(
            **seal(tokens.MANAGER, now, report.conversation_id),
            status="ACCEPTED",
            match_id=report.match_id,
            round_id=report.round_id,
        )

    def _result(self, report: MatchResultReport, now: float) -> ResultAccepted:
        result, details = report.result, msgspec.to_builtins(report.result.details) or {}
        return ResultAccepted(
            at=now,
            match_id=report.match_id,
            attempt=report.attempt or ATTEMPT,
            referee_id=REFEREE_ID,
            status=details.get("status") or ("WIN" if result.winner else "DRAW"),
            winner=result.winner,
            points=dict(result.score),
            details=details,
            verified=False,  # nobody recomputed it: the referee is our own
            reported_at=report.timestamp,
        )

    # --- matches ------------------------------------------------------------------------------------------------------

    @property
    def _place(self) -> int:
        """Of the match that is being played, or is next."""
        return len(self.results)

    def _advance(self, now: float) -> None:
        """Give out the next match, when everybody is there and none is being played."""
        is_complete = self._members.keys() == self.card.endpoints.keys()
        if not is_complete or self._assigned > len(self.results) or self.is_over:
            return
        match_id = self.card.match_id(self._place)
        self._happened(MatchAssigned(at=now, match_id=match_id, referee_id=REFEREE_ID, attempt=ATTEMPT))
        self._announce("tell", self.card.guest, self._announced(), now, TELL_GUEST_S)

    def _hand_over(self, now: float) -> None:
        key = self._secrets[f"derive/{REFEREE_ID}"]
        token = tokens.derive(key, tokens.MANAGER, REFEREE_ID, self.card.league_id)
        address = Address(REFEREE_ID, self.card.endpoints[REFEREE_ID], token)
        self._announce("assign", address, self._assignment(), now, ASSIGN_S)

    def _announce(self, what: str, to: Address, match: AnnouncedMatch, now: float, limit_s: float) -> None:
        message = RoundAnnouncement(
            **seal(tokens.MANAGER, now, f"conv-{what}-{match.match_id.lower()}"),
            league_id=self.card.league_id,
            round_id=ROUND_ID,
            matches=[match],
        )
        self._send(Outgoing(f"{match.match_id}/{what}", (to,), message, now + limit_s))

    def _announced(self) -> AnnouncedMatch:
        one, other = self.card.players(self._place)
        return AnnouncedMatch(
            match_id=self.card.match_id(self._place),
            game_type=self.card.game_type,
            player_A_id=one,
            player_B_id=other,
            referee_endpoint=self.card.endpoints[REFEREE_ID],
        )

    def _assignment(self) -> AnnouncedMatch:
        """With all that a referee needs (R-22). The guest has no token, so none of its can be checked."""
        place = self._place
        a, b = self.card.players(place)
        return msgspec.structs.replace(
            self._announced(),
            referee_id=REFEREE_ID,
            player_A_endpoint=self._endpoint(a),
            player_B_endpoint=self._endpoint(b),
            player_A_standings=_record(a, self.results),
            player_B_standings=_record(b, self.results),
            player_A_token=self._derived(REFEREE_ID, a, a),
            player_B_token=self._derived(REFEREE_ID, b, b),
            player_A_answers=self._answers(a),
            player_B_answers=self._answers(b),
            attempt=ATTEMPT,
            move_seconds=self.card.move_seconds,
        )

    def _endpoint(self, player_id: str) -> str:
        return self.card.endpoints.get(player_id, self.card.guest.endpoint)

    def _derived(self, sender: str, receiver: str, player_id: str) -> str | None:
        key = self._secrets.get(f"derive/{player_id}")
        match_id = self.card.match_id(self._place)
        return key and tokens.derive(key, sender, receiver, self.card.league_id, match_id, ATTEMPT)

    def _answers(self, player_id: str) -> list[str]:
        derived = self._derived(player_id, REFEREE_ID, player_id)
        return [self._members[player_id].verify, tokens.verifier(derived)] if derived else []


def _record(player_id: str, results: Sequence[ResultAccepted]) -> Record:
    mine = [one for one in results if player_id in one.points]
    drawn = sum(one.status == "DRAW" for one in mine)
    won = sum(one.winner == player_id for one in mine)
    points = sum(one.points[player_id] for one in mine)
    return Record(wins=won, losses=len(mine) - won - drawn, draws=drawn, points=points)
