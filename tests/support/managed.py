"""A League Manager in virtual time, with everybody it talks to written by the test: what it sends stays open until the
test answers it, lets it fail, or lets its time run out.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

import msgspec

from league import events as e
from league.machine import (
    Address,
    Blame,
    Content,
    Failure,
    Information,
    Letter,
    MatchRecord,
    Operate,
    Outgoing,
    Ping,
    Pong,
    Step,
    Undelivered,
)
from league.manager.league import LeagueManager
from league.protocol import timestamps
from league.protocol.envelope import Reading, unseal
from league.protocol.errors import PeerError
from league.protocol.messages import LeagueQueryResponse, Message, RegisterResponse, RoundAnnouncement
from league.storage.journal import decode, encode

NOW = 1_750_000_000.0
LEAGUE = "league_test"
Object = dict[str, Any]
Said = Message | Pong | MatchRecord | Information | PeerError
Some = TypeVar("Some", bound=e.Event)


def settings(**changed: Any) -> e.LeagueSettings:
    return e.LeagueSettings(**{"league_id": LEAGUE, **changed})


@dataclass(frozen=True)
class Sent:
    """One call to one agent."""

    at: float
    key: str
    to: Address
    message: Message | Ping
    deadline: float

    @property
    def kind(self) -> str:
        return "ping" if isinstance(self.message, Ping) else self.message.type


class Managed:
    """`manager` is the machine; `open` what nobody has answered yet; `sent` all there ever was."""

    def __init__(self, now: float = NOW, secrets: Mapping[str, str] | None = None, **changed: Any) -> None:
        self.now = now
        self.settings = settings(**changed)
        self.secrets = dict(secrets or {})
        self.events: list[e.Event] = []
        self.sent: list[Sent] = []
        self.outgoing: list[Outgoing] = []
        self.open: dict[tuple[str, str], Sent] = {}
        self.tokens: dict[str, str] = {}
        self.on_event: Callable[[e.Event], None] = lambda _: None
        self._drawn = 0
        self._letters = 0
        self._orders = 0
        self.manager = LeagueManager(self.settings, self._chance, self.secrets)
        self._take(self.manager.resume(self.now))

    def _chance(self, count: int) -> bytes:
        self._drawn += 1
        return hashlib.shake_128(b"%d" % self._drawn).digest(count)

    # --- driving ------------------------------------------------------------------------------------------------------

    def _take(self, step: Step) -> Step:
        for event in step.events:
            self.events.append(event)
            self.on_event(event)
        self.secrets.update(step.secrets)
        for outgoing in step.outbox:
            self.outgoing.append(outgoing)
            for address in outgoing.to:
                one = Sent(self.now, outgoing.key, address, outgoing.message, outgoing.deadline)
                self.sent.append(one)
                assert (one.key, address.agent_id) not in self.open, "keys are unique"
                self.open[one.key, address.agent_id] = one
        return step

    @property
    def due(self) -> float:
        return math.inf if self.manager.deadline is None else self.manager.deadline

    def wait(self, seconds: float) -> None:
        """Let time pass; calls that reach their deadline time out."""
        until = self.now + seconds
        while True:
            times = [self.due, *(one.deadline for one in self.open.values())]
            moment = min(times)
            if moment > until:
                break
            self.now = max(self.now, moment)
            for one in [one for one in self.open.values() if one.deadline <= self.now]:
                self.fail(one, Failure.TIMEOUT)
            if self.due <= self.now:
                self._take(self.manager.tick(self.now))
                assert self.due > self.now
        self.now = until

    def answer(self, one: Sent, content: Content | None = None) -> Step:
        del self.open[one.key, one.to.agent_id]
        return self.deliver_answer(one, Pong() if content is None else content)

    def deliver_answer(self, one: Sent, content: Content) -> Step:
        return self._take(self.manager.handle(Letter(0, content, one.key, one.to.agent_id), self.now))

    def fail(
        self, one: Sent, failure: Failure = Failure.REFUSED, blame: Blame = Blame.PEER, retry_after: float | None = None
    ) -> Step:
        del self.open[one.key, one.to.agent_id]
        failed = Undelivered(one.key, one.to.agent_id, failure, blame, retry_after)
        return self._take(self.manager.undelivered(failed, self.now))

    def calls(self, kind: str | None = None, to: str | None = None) -> list[Sent]:
        """The open calls of this kind to this agent."""
        return [one for one in self.open.values() if kind in (None, one.kind) and to in (None, one.to.agent_id)]

    def told(self, to: str, kind: str | None = None) -> list[Sent]:
        """All that was ever sent to this agent, pings aside."""
        return [one for one in self.sent if one.to.agent_id == to and one.kind != "ping" and kind in (None, one.kind)]

    def answer_all(self, *, but: Iterable[str] = (), kind: str | None = None) -> None:
        """Everybody answers, and goes on answering what follows at once."""
        but = tuple(but)
        while mine := [one for one in self.calls(kind) if one.to.agent_id not in but]:
            for one in mine:
                self.answer(one)

    def restart(self, after: float = 0.0, keep: int | None = None) -> None:
        """The process dies and comes back from its journal, or from the first part of it."""
        self.now += after
        self.open.clear()
        kept = self.events if keep is None else self.events[:keep]
        before = self.manager.snapshot()
        self.manager = replayed(self.settings, kept, self._chance, self.secrets)
        if keep is None:
            assert self.manager.snapshot() == before
        self.events = list(kept)
        self._take(self.manager.resume(self.now))

    # --- requests -----------------------------------------------------------------------------------------------------

    def request(self, content: Object | Content, origin: str = "127.0.0.1") -> Said | None:
        """The answer to a request: None if it is not answered yet."""
        self._letters += 1
        read: Content = content if not isinstance(content, dict) else unseal(content, Reading(self.settings.profile))
        step = self._take(self.manager.handle(Letter(self._letters, read, origin=origin), self.now))
        assert all(one.letter_id == self._letters for one in step.replies)
        assert len(step.replies) <= 1
        return step.replies[0].content if step.replies else None

    def envelope(self, kind: str, sender: str) -> Object:
        return {
            "protocol": "league.v2",
            "message_type": kind,
            "sender": sender,
            "timestamp": timestamps.write(self.now),
            "conversation_id": f"conv-{kind.lower()}",
        }

    def registration(self, role: str, number: int, **changed: Any) -> Object:
        """A registration; `changed` goes into its meta data, `sender` and `auth_token` into the envelope."""
        is_player = role == "player"
        kind = "LEAGUE_REGISTER_REQUEST" if is_player else "REFEREE_REGISTER_REQUEST"
        outer: Object = {name: changed.pop(name) for name in ("sender", "auth_token") if name in changed}
        meta = {
            "display_name": f"{role.title()} {number}",
            "version": "1.0.0",
            "game_types": ["even_odd"],
            "contact_endpoint": f"http://127.0.0.1:{(8100 if is_player else 8000) + number}/mcp",
            **({} if is_player else {"max_concurrent_matches": 2}),
            **changed,
        }
        return {
            **self.envelope(kind, f"{role}:new"),
            **outer,
            ("player_meta" if is_player else "referee_meta"): {k: v for k, v in meta.items() if v is not None},
        }

    def register(self, role: str, number: int, origin: str = "127.0.0.1", **changed: Any) -> RegisterResponse:
        answer = self.request(self.registration(role, number, **changed), origin)
        if answer is None:
            # A strict manager answers when the probe is answered.
            answer = self.answer(self.calls("ping")[-1]).replies[0].content
        assert isinstance(answer, RegisterResponse), answer
        if answer.auth_token is not None:
            self.tokens[agent_of(answer)] = answer.auth_token
        return answer

    def fill(self, players: int | None = None, referees: int | None = None, **changed: Any) -> Managed:
        """Referees and players register and answer their probes."""
        for number in range(1, (self.settings.referees if referees is None else referees) + 1):
            self.register("referee", number, **changed)
            self.answer_pings()
        for number in range(1, (self.settings.players if players is None else players) + 1):
            self.register("player", number)
            self.answer_pings()
        return self

    def answer_pings(self, but: Iterable[str] = ()) -> None:
        """Every agent pinged says that it is alive, a referee that it holds what it was sent."""
        for one in self.calls("ping"):
            if one.to.agent_id not in but:
                self.answer(one, self.pong(one.to.agent_id))

    def pong(self, agent_id: str) -> Pong:
        if not agent_id.startswith("REF"):
            return Pong()
        held = self.manager.ledger.holdings.get(agent_id, {})
        return Pong(tuple((one, self.manager.ledger.matches[one].attempt) for one in held))

    def operate(self, order: str, target: str = "", key: str | None = None) -> Said | None:
        self._orders += 1
        return self.request(Operate(order, key or f"order-{self._orders}", target))

    def report_of(self, match_id: str, winner: str | None = "A", **changed: Any) -> Object:
        """The report of a match that A or B won, that was drawn (None), or lost by a fault of "-A", "-B" or "--"."""
        match = self.manager.ledger.matches[match_id]
        a, b = match.players
        numbers: dict[str | None, tuple[int | None, str | None, str | None, str | None]] = {
            "A": (4, "even", "odd", a),
            "B": (4, "odd", "even", b),
            None: (4, "even", "even", None),
            "-A": (None, None, "even", b),
            "-B": (None, "even", None, a),
            "--": (None, None, None, None),
        }
        number, first, second, won = numbers[winner]
        status = "TECHNICAL_LOSS" if number is None else "WIN" if won else "DRAW"
        points = 1 if winner is None else 0
        return {
            **self.envelope("MATCH_RESULT_REPORT", f"referee:{match.referee_id}"),
            "auth_token": self.tokens.get(match.referee_id or "", "tok_none"),
            "league_id": LEAGUE,
            "round_id": match.round_id,
            "match_id": match_id,
            "game_type": self.settings.game_type,
            "attempt": match.attempt or 1,
            "result": {
                "winner": won,
                "score": {one: 3 if one == won else points for one in (a, b)},
                "details": {"drawn_number": number, "choices": {a: first, b: second}, "status": status},
            },
            **changed,
        }

    def report(self, match_id: str, winner: str | None = "A", **changed: Any) -> Said | None:
        return self.request(self.report_of(match_id, winner, **changed))

    def query(self, agent_id: str, query_type: str, **params: Any) -> LeagueQueryResponse:
        answer = self.request(self.query_of(agent_id, query_type, **params))
        assert isinstance(answer, LeagueQueryResponse), answer
        return answer

    def query_of(self, agent_id: str, query_type: str, **params: Any) -> Object:
        role = "player" if agent_id.startswith("P") else "referee"
        return {
            **self.envelope("LEAGUE_QUERY", f"{role}:{agent_id}"),
            "auth_token": self.tokens[agent_id],
            "league_id": LEAGUE,
            "query_type": query_type,
            "query_params": params,
        }

    # --- looking ------------------------------------------------------------------------------------------------------

    @property
    def open_matches(self) -> list[str]:
        return [one.match_id for one in self.manager.ledger.matches.values() if one.status == "ASSIGNED"]

    def of(self, kind: type[Some]) -> list[Some]:
        """The events of a kind."""
        return [event for event in self.events if isinstance(event, kind)]

    def state(self, agent_id: str) -> str:
        return self.manager.ledger.roster.members[agent_id].state

    def play(self, winner: str | None = "A") -> None:
        """Everybody answers everything and every match ends the same way, until the league is over."""
        for _ in range(10_000):
            self.answer_pings()
            self.answer_all()
            for match_id in self.open_matches:
                self.report(match_id, winner)
            for match_id in self.manager.parked:
                self.operate("replay-match", match_id)
            if self.manager.has_told_everybody:
                return
            self.wait(0.5)
        raise AssertionError("the league does not end")


def agent_of(answer: RegisterResponse) -> str:
    return str(getattr(answer, "player_id", None) or getattr(answer, "referee_id", None))


def replayed(
    made: e.LeagueSettings, events: Iterable[e.Event], chance: Callable[[int], bytes], secrets: Mapping[str, str]
) -> LeagueManager:
    """A fresh machine that went through these events, as they are stored."""
    manager = LeagueManager(made, chance, secrets)
    for event in events:
        manager.apply(decode(encode(event)))
    return manager


def matches_in(message: Message | Ping) -> list[str]:
    assert isinstance(message, RoundAnnouncement)
    return [one.match_id for one in message.matches]


def plain(message: Message) -> Object:
    """A message as it stands on the wire."""
    fields: Object = msgspec.json.decode(msgspec.json.encode(message))
    return fields


def code_of(answer: object) -> str:
    """The error code of an answer, or "" for none."""
    if isinstance(answer, PeerError):
        return answer.code
    if isinstance(answer, RegisterResponse):
        return answer.error_code or ""
    if isinstance(answer, LeagueQueryResponse):
        return answer.error.error_code if answer.error else ""
    return ""


def pairs(agents: Iterable[str]) -> Iterator[frozenset[str]]:
    known = sorted(agents)
    return (frozenset((a, b)) for place, a in enumerate(known) for b in known[place + 1 :])
