"""The manager of friendly matches: a pure machine, for one guest that is registered nowhere.

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
from league.protocol.parts import AnnouncedMatch, PlayerMeta, Record, RefereeMeta

REFEREE_ID: Final = "REF01"
"""As in any league: some players take matches only from referees whose ids they know."""
GUEST_ID: Final = "P01"
"""Opponents are P99, P98, …: a guest that answers under an id of its own must not answer under theirs (E033)."""
LAST_OPPONENT: Final = 99
NUMBERS: Final = 100_000_000
"""Matches are numbered by the millisecond, modulo this (more than a day): two calls of the command never share one."""
LOSSES_IN_A_ROW: Final = 2
"""After so many technical losses another teaches nothing, so the rest is not played (a league suspends then, R-51)."""
ROUND_ID: Final = 1
ATTEMPT: Final = 1
TOKEN_BYTES: Final = 32
TELL_GUEST_S: Final = 1.0
"""A guest may learn from the announcement where its referee is; the match begins even if it does not answer (R-21)."""
ASSIGN_S: Final = 10.0


@dataclass(frozen=True, slots=True)
class Fixtures:
    """What is to be played: so many matches of the guest, against the opponents in turn. `first` numbers the first
    match: a player that remembers its matches must not take a new one for one of last time."""

    league_id: str
    game_type: str
    guest: Address
    opponents: tuple[str, ...]
    matches: int
    first: int
    move_seconds: float | None = None

    def match_id(self, place: int) -> str:
        return f"R{ROUND_ID}M{self.first + place}"

    def meetings_before(self, match_id: str) -> int:
        """How many matches the opponent of this match has before it."""
        place = int(match_id.removeprefix(f"R{ROUND_ID}M")) - self.first
        return place // len(self.opponents)

    def opponent(self, place: int) -> str:
        return self.opponents[place % len(self.opponents)]

    def players(self, place: int) -> tuple[str, str]:
        """Sides change with every match."""
        pair = (self.guest.agent_id, self.opponent(place))
        return pair if place % 2 == 0 else (pair[1], pair[0])


def opponent_ids(count: int) -> tuple[str, ...]:
    return tuple(f"P{LAST_OPPONENT - place:02}" for place in range(count))


def first_number(now: float) -> int:
    """Of the matches that begin now."""
    return int(now * 1000) % NUMBERS + 1


class SparringManager(Machine):
    """Gives out matches until all are played, or the guest has lost too often by its own fault."""

    def __init__(
        self, fixtures: Fixtures, endpoints: Mapping[str, str], chance: Chance, secrets: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(chance, secrets)
        self.fixtures = fixtures
        self._endpoints = endpoints
        """Where our own referee and opponents are, by their ids."""
        self.results: list[ResultAccepted] = []
        self.refused: Refusal | None = None
        """Why our own referee would not take a match."""
        self._members: dict[str, AgentRegistered] = {}
        self._assigned = 0

    # --- what others may look at --------------------------------------------------------------------------------------

    @property
    def gave_up(self) -> bool:
        """Did the last matches end by the guest's own fault, so that the rest is not played?"""
        # Without a winner both players were at fault.
        lost_to = (None, *self.fixtures.opponents)
        last = self.results[-LOSSES_IN_A_ROW:]
        technical = [one for one in last if one.status == "TECHNICAL_LOSS" and one.winner in lost_to]
        return len(technical) == LOSSES_IN_A_ROW

    @property
    def is_over(self) -> bool:
        return self.gave_up or self.refused is not None or len(self.results) == self.fixtures.matches

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

    def tick(self, now: float) -> Step:
        return Step()

    def resume(self, now: float) -> Step:
        self._step = Step()
        if self._assigned > len(self.results):
            self._hand_over(now)
        return self._step

    def undelivered(self, failed: Undelivered, now: float) -> Step:
        return self._ended(failed.key, now, arrived=False)

    def handle(self, letter: Letter, now: float) -> Step:
        if letter.answers is not None:
            if isinstance(letter.content, Refusal) and letter.peer == REFEREE_ID:
                self.refused = letter.content
            return self._ended(letter.answers, now, arrived=True)
        self._step = Step()
        try:
            self._reply(letter, self._answer(letter, now))
        except PeerError as error:
            self._reply(letter, error)
        return self._step

    def _ended(self, key: str, now: float, arrived: bool) -> Step:
        """A call has ended. However the guest took the announcement, its match begins."""
        self._step = Step()
        match_id, _, what = key.partition("/")
        if match_id == self.fixtures.match_id(self._place) and (what == "tell" or not arrived):
            self._hand_over(now)
        return self._step

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
        agent_id = next((name for name, place in self._endpoints.items() if place == meta.contact_endpoint), "")
        if not agent_id or (agent_id == REFEREE_ID) != is_referee:
            raise PeerError("E019", "nobody else can register here: friendly matches are for one guest")
        token = tokens.mint(agent_id, self._chance(TOKEN_BYTES))
        self._keep_secret(f"derive/{agent_id}", tokens.deriver(token))
        self._happened(self._registered(agent_id, meta, origin, token, now))
        self._advance(now)
        said = seal(tokens.MANAGER, now, message.conversation_id or "conv-register", token)
        answer = {**said, "status": "ACCEPTED", "league_id": self.fixtures.league_id, "token_scheme": "derived"}
        if is_referee:
            return RefereeRegisterResponse(**answer, referee_id=agent_id)
        return LeagueRegisterResponse(**answer, player_id=agent_id)

    def _registered(
        self, agent_id: str, meta: RefereeMeta | PlayerMeta, origin: str, token: str, now: float
    ) -> AgentRegistered:
        before = self._members.get(agent_id)
        return AgentRegistered(
            at=now,
            role="referee" if agent_id == REFEREE_ID else "player",
            agent_id=agent_id,
            display_name=meta.display_name,
            version=meta.version,
            endpoint=meta.contact_endpoint,
            origin=origin,
            game_types=tuple(meta.game_types),
            serial=before.serial + 1 if before else 1,
            verify=tokens.verifier(token),
        )

    def _report(self, report: MatchResultReport, now: float) -> Message:
        if not tokens.fits(report.auth_token, (self._members[REFEREE_ID].verify,)):
            raise PeerError("E012", "this is not our referee's token")
        if report.match_id == self.fixtures.match_id(self._place):
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
        is_complete = self._members.keys() == self._endpoints.keys()
        if not is_complete or self._assigned > len(self.results) or self.is_over:
            return
        match_id = self.fixtures.match_id(self._place)
        self._happened(MatchAssigned(at=now, match_id=match_id, referee_id=REFEREE_ID, attempt=ATTEMPT))
        self._announce("tell", self.fixtures.guest, self._announced(), now, TELL_GUEST_S)

    def _hand_over(self, now: float) -> None:
        key = self._secrets[f"derive/{REFEREE_ID}"]
        token = tokens.derive(key, tokens.MANAGER, REFEREE_ID, self.fixtures.league_id)
        address = Address(REFEREE_ID, self._endpoints[REFEREE_ID], token)
        self._announce("assign", address, self._assignment(), now, ASSIGN_S)

    def _announce(self, what: str, to: Address, match: AnnouncedMatch, now: float, limit_s: float) -> None:
        message = RoundAnnouncement(
            **seal(tokens.MANAGER, now, f"conv-{what}-{match.match_id.lower()}"),
            league_id=self.fixtures.league_id,
            round_id=ROUND_ID,
            matches=[match],
        )
        self._send(Outgoing(f"{match.match_id}/{what}", (to,), message, now + limit_s))

    def _announced(self) -> AnnouncedMatch:
        one, other = self.fixtures.players(self._place)
        return AnnouncedMatch(
            match_id=self.fixtures.match_id(self._place),
            game_type=self.fixtures.game_type,
            player_A_id=one,
            player_B_id=other,
            referee_endpoint=self._endpoints[REFEREE_ID],
        )

    def _assignment(self) -> AnnouncedMatch:
        """The announcement with all that a referee needs (R-22)."""
        sides = zip("AB", self.fixtures.players(self._place), strict=True)
        needed = {f"player_{side}_{what}": value for side, one in sides for what, value in self._needed(one).items()}
        extra = {"referee_id": REFEREE_ID, "attempt": ATTEMPT, "move_seconds": self.fixtures.move_seconds}
        return msgspec.structs.replace(self._announced(), **extra, **needed)

    def _needed(self, player_id: str) -> dict[str, Any]:
        """What a referee needs to know of a player. The guest has no token, so none of its can be checked."""
        key = self._secrets.get(f"derive/{player_id}")
        match = (self.fixtures.league_id, self.fixtures.match_id(self._place), ATTEMPT)
        known: dict[str, Any] = {
            "endpoint": self._endpoints.get(player_id, self.fixtures.guest.endpoint),
            "standings": _record(player_id, self.results),
        }
        if key is None:
            return {**known, "token": None, "answers": []}
        answer = tokens.derive(key, player_id, REFEREE_ID, *match)
        accepted = [self._members[player_id].verify, tokens.verifier(answer)]
        return {**known, "token": tokens.derive(key, REFEREE_ID, player_id, *match), "answers": accepted}


def _record(player_id: str, results: Sequence[ResultAccepted]) -> Record:
    mine = [one for one in results if player_id in one.points]
    drawn = sum(one.status == "DRAW" for one in mine)
    won = sum(one.winner == player_id for one in mine)
    points = sum(one.points[player_id] for one in mine)
    return Record(wins=won, losses=len(mine) - won - drawn, draws=drawn, points=points)
