"""A League Manager in virtual time, with everybody it talks to written by the test."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import count
from typing import Any

from league import events as e
from league.games import draw
from league.gateway.book import PeerBook
from league.gateway.giving import GatewayGiving
from league.machine import Content, Operate, Outgoing, Ping, Pong, Step
from league.manager.league_manager import LeagueManager
from league.protocol.message.messages import (
    LeagueQueryResponse,
    MatchTroubleResponse,
    Message,
    RegisterResponse,
    RoundAnnouncement,
)
from league.settings import HouseRules
from league.storage.journal import decode, encode
from tests.support import bench
from tests.support.bench import Object as Object
from tests.support.bench import Replied
from tests.support.bench import code_of as code_of
from tests.support.bench import plain as plain

Sent = bench.Sent[Message | Ping]
NOW = 1_750_000_000.0
LEAGUE = "league_test"
KEY = "the enrolment key of a test"
FIRST_COMES_FIRST = f"{0x13D9:064x}"
"""By this seed the lot for the first match of a round falls on the first of two or three equal referees."""

SIGNING_SECRET = bytes(range(32)).hex()
MANAGER_KEY = "03a107bff3ce10be1d70dd18e74bc09967e4d6309ba50d5f1ddc8664125531b8"
"""The public key of this secret."""


def settings(**changed: Any) -> e.LeagueSettings:
    return e.LeagueSettings(**{"league_id": LEAGUE, **changed})


class Managed(bench.Bench[LeagueManager, Message | Ping]):
    """`manager` is the machine; it has begun."""

    conversation = "conv-{kind}"
    answers_first_probe = True
    holders_answer = False
    """True if the agents that have a name answer when another one wants it."""
    is_live = True
    """True if referees declare `live.v1`."""

    def __init__(self, now: float = NOW, secrets: Mapping[str, str] | None = None, **changed: Any) -> None:
        self.house = HouseRules(**{name: changed.pop(name) for name in HouseRules.__struct_fields__ if name in changed})
        self.settings = settings(**changed)
        self.outgoing: list[Outgoing] = []
        self.tokens: dict[str, str] = {}
        self.on_event: Callable[[e.Event], None] = lambda _: None
        self._drawn = 0
        self._orders = 0
        super().__init__(
            now,
            self.settings.profile,
            secrets={
                "enrolment_key": KEY,
                "assignment_seed": FIRST_COMES_FIRST,
                "signing_secret": SIGNING_SECRET,
                **(secrets or {}),
            },
        )
        self.take(self.manager.resume(self.now))

    def _new(self) -> LeagueManager:
        return LeagueManager(
            self.settings,
            self._chance,
            self.secrets,
            house=self.house,
            open_book=PeerBook,
            open_giving=GatewayGiving,
        )

    def _chance(self, count: int) -> bytes:
        self._drawn += 1
        return hashlib.shake_128(b"%d" % self._drawn).digest(count)

    @property
    def manager(self) -> LeagueManager:
        return self.machine

    @property
    def events(self) -> list[e.Event]:
        return self.journal

    @property
    def open(self) -> dict[tuple[str, str], Sent]:
        return self.under_way

    # --- driving ------------------------------------------------------------------------------------------------------

    def take(self, step: Step) -> Step:
        self.outgoing += step.outbox
        for event in step.events:
            self.on_event(event)
        return super().take(step)

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

    def restart(self, after: float = 0.0, keep: int | None = None, *, probed: bool = True) -> None:
        """The process dies and comes back from its journal, or from the first part of it. Players answer its probes."""
        self.now += after
        before = self.manager.snapshot()
        assert keep is not None or self.replayed().snapshot() == before
        self.reborn(keep)
        if probed and self.manager.ledger.is_running:
            self.answer_pings(but=self.manager.ledger.in_play.holdings)

    # --- requests -----------------------------------------------------------------------------------------------------

    def request(self, content: Object | Content, origin: str = "127.0.0.1") -> Replied | None:
        """The answer to a request: None if it is not answered yet. Agents that register answer their first probe; under
        a strict manager the test decides."""
        letter, step = self.hand(content, origin)
        assert all(one.letter_id == letter for one in step.replies)
        if letter not in self.replies and self.settings.profile == "compat":
            self.answer_strangers()
        return self.replies.get(letter)

    def answer_strangers(self) -> None:
        """Agents that register answer their first probe; the agents whose names they want may answer, too."""
        while True:
            strangers = [call for call in self.calls("ping") if call.to.agent_id.startswith("stranger-")]
            holders = [call for call in self.calls("ping") if call.key.startswith("holder/")]
            for call in holders:
                if self.holders_answer:
                    self.answer(call)
                else:
                    self.fail(call)
            if not self.answers_first_probe or not strangers:
                return
            for call in strangers:
                self.answer(call)

    def registration(self, role: str, number: int, **changed: Any) -> Object:
        """A registration; `changed` goes into its meta data, `sender` and `auth_token` into the envelope. A referee has
        the enrolment key, unless it is taken away."""
        is_player = role == "player"
        kind = "LEAGUE_REGISTER_REQUEST" if is_player else "REFEREE_REGISTER_REQUEST"
        outer: Object = {name: changed.pop(name) for name in ("sender", "auth_token") if name in changed}
        meta = {
            "display_name": f"{role.title()} {number}",
            "version": "1.0.0",
            "game_types": ["even_odd"],
            "contact_endpoint": f"http://127.0.0.1:{(8100 if is_player else 8000) + number}/mcp",
            **({} if is_player else {"max_concurrent_matches": 2, "token_scheme": "derived", "enrolment_key": KEY}),
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
        held = self.manager.ledger.in_play.holdings.get(agent_id, {})
        return Pong(tuple((one, self.manager.ledger.matches[one].attempt) for one in held), is_live=self.is_live)

    def operate(self, order: str, target: str = "", key: str | None = None) -> Replied | None:
        self._orders += 1
        return self.request(Operate(order, key or f"order-{self._orders}", target))

    def report_of(self, match_id: str, winner: str | None = "A", **changed: Any) -> Object:
        """The report of a match that A or B won, that was drawn (None), or lost by a fault of "-A", "-B" or "--": they
        declined."""
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
        at_fault = {"-A": (a,), "-B": (b,), "--": (a, b)}.get(winner or "", ())
        faults: Object = (
            {"faults": {one: {"code": "DECLINED", "phase": "join"} for one in at_fault}} if at_fault else {}
        )
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
                "details": {
                    "drawn_number": number,
                    "choices": {a: first, b: second},
                    "status": status,
                    "draw_seed": seed_for(match_id, match.attempt or 1, number),
                    **faults,
                },
            },
            **changed,
        }

    def report(self, match_id: str, winner: str | None = "A", **changed: Any) -> Replied | None:
        return self.request(self.report_of(match_id, winner, **changed))

    def trouble_of(self, match_id: str, player: str, code: str = "E009", **changed: Any) -> Object:
        """The question of the match's referee before this player loses."""
        match = self.manager.ledger.matches[match_id]
        return {
            **self.envelope("MATCH_TROUBLE", f"referee:{match.referee_id}"),
            "auth_token": self.tokens.get(match.referee_id or "", "tok_none"),
            "league_id": LEAGUE,
            "match_id": match_id,
            "attempt": match.attempt,
            "turn": 0,
            "player_id": player,
            "code": code,
            **changed,
        }

    def trouble(self, match_id: str, player: str, code: str = "E009", **changed: Any) -> int:
        """Ask that question; return the number under which it is answered."""
        letter, _ = self.hand(self.trouble_of(match_id, player, code, **changed), "127.0.0.1")
        return letter

    def decision(self, letter: int) -> str:
        """The answer to that question: decide, wait, an error code, or nothing yet."""
        answer = self.replies.get(letter)
        if isinstance(answer, MatchTroubleResponse):
            return answer.decision
        return code_of(answer)

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
            if self.manager.has_notified_everybody:
                return
            self.wait(0.5)
        raise AssertionError("the league does not end")


def seed_for(match_id: str, attempt: int, number: int | None) -> str:
    """A seed that gives this number in this match."""
    seeds = (hashlib.sha256(b"%d" % place).digest() for place in count())
    drawn = (seed for seed in seeds if number in (None, draw.number(seed, LEAGUE, match_id, attempt)))
    return next(drawn).hex()


def agent_of(answer: RegisterResponse) -> str:
    return str(getattr(answer, "player_id", None) or getattr(answer, "referee_id", None))


def replayed(
    made: e.LeagueSettings, events: Iterable[e.Event], chance: Callable[[int], bytes], secrets: Mapping[str, str]
) -> LeagueManager:
    """A fresh machine that went through these events, as they are stored."""
    manager = LeagueManager(made, chance, secrets, open_book=PeerBook, open_giving=GatewayGiving)
    for event in events:
        manager.apply(decode(encode(event)))
    return manager


def matches_in(message: Message | Ping) -> list[str]:
    assert isinstance(message, RoundAnnouncement)
    return [one.match_id for one in message.matches]


def pairs(agents: Iterable[str]) -> Iterator[frozenset[str]]:
    known = sorted(agents)
    return (frozenset((a, b)) for place, a in enumerate(known) for b in known[place + 1 :])
