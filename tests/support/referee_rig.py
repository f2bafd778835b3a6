"""A referee under test: manager and players as a script says, in virtual time, read by the real codec.

Every message that leaves is checked for what it must say, every key for being new, every event for holding no token.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
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
    Outgoing,
    Ping,
    Pong,
    Step,
    Undelivered,
)
from league.protocol import timestamps, tokens
from league.protocol.envelope import Profile, Reading, unseal
from league.protocol.errors import PeerError
from league.protocol.messages import Message
from league.protocol.parts import RefereeMeta
from league.referee.desk import RefereeDesk
from league.referee.office import RefereeSettings
from league.transport import letters
from tests.support.said import unsaid

Object = dict[str, Any]
Replied = Message | Pong | MatchRecord | Information | PeerError
Some = TypeVar("Some", bound=e.Event)
Said = TypeVar("Said", bound=Message)

LEAGUE = "spring"
ME = "REF01"
TOKEN = tokens.mint(ME, bytes(range(32)))
START = 1_750_000_000.0
MANAGER = "http://10.0.0.1:8000/mcp"
HERE = "http://10.0.0.2:8001/mcp"
PLAYERS = ("P01", "P02", "P03", "P04", "P05", "P06")
HOSTS = {player: f"10.0.1.{number}" for number, player in enumerate(PLAYERS, start=1)}
ENDPOINTS = {player: f"http://{host}:8101/mcp" for player, host in HOSTS.items()}
REGISTRATION = {player: tokens.mint(player, player.encode() * 10) for player in PLAYERS}
KEYS = {player: tokens.deriver(token) for player, token in REGISTRATION.items()}
CALLS = ("GAME_INVITATION", "CHOOSE_PARITY_CALL", "GAME_MOVE_CALL")


def of_manager(token: str = TOKEN) -> str:
    """What our manager shows us."""
    return tokens.derive(tokens.deriver(token), tokens.MANAGER, ME, LEAGUE)


def shown_to(player: str, match_id: str = "R1M1", attempt: int = 1) -> str:
    return tokens.derive(KEYS[player], ME, player, LEAGUE, match_id, attempt)


def answer_token(player: str, match_id: str = "R1M1", attempt: int = 1) -> str:
    return tokens.derive(KEYS[player], player, ME, LEAGUE, match_id, attempt)


def announced(match_id: str = "R1M1", a: str = "P01", b: str = "P02", attempt: int = 1, **changed: Any) -> Object:
    """A match as our manager announces it to its referee; None leaves a field out."""
    match: Object = {
        "match_id": match_id,
        "game_type": "even_odd",
        "player_A_id": a,
        "player_B_id": b,
        "referee_endpoint": HERE,
        "referee_id": ME,
        "attempt": attempt,
        "move_seconds": 30.0,
    }
    for seat, player in (("A", a), ("B", b)):
        digests = [tokens.verifier(one) for one in (REGISTRATION[player], answer_token(player, match_id, attempt))]
        match |= {
            f"player_{seat}_endpoint": ENDPOINTS[player],
            f"player_{seat}_standings": {"wins": 2, "losses": 1, "draws": 0, "points": 6},
            f"player_{seat}_token": shown_to(player, match_id, attempt),
            f"player_{seat}_answers": digests,
        }
    return {name: value for name, value in {**match, **changed}.items() if value is not None}


@dataclass(frozen=True)
class Sent:
    """A message on its way to one receiver."""

    at: float
    to: Address
    key: str
    message: Message
    deadline: float


@dataclass
class Rig:
    """Drives one referee. Times are seconds since the start."""

    profile: Profile = "compat"
    capacity: int = 2
    game_types: Sequence[str] = ("even_odd", "rock_paper_scissors", "tic_tac_toe")
    settings: RefereeSettings | None = None
    t: float = 0.0
    journal: list[e.Event] = field(default_factory=list)
    secrets: dict[str, str] = field(default_factory=dict)
    sent: list[Sent] = field(default_factory=list)
    under_way: dict[tuple[str, str], Sent] = field(default_factory=dict)
    cancelled: list[str] = field(default_factory=list)
    replies: dict[int, Replied] = field(default_factory=dict)
    lives: int = 0

    def __post_init__(self) -> None:
        self._letters = itertools.count(1)
        self._chance = Random(7).randbytes
        self.desk = self._new()

    # --- its life -----------------------------------------------------------------------------------------------------

    def _new(self) -> RefereeDesk:
        meta = RefereeMeta(
            display_name="Whistle",
            version="1.2.3",
            game_types=list(self.game_types),
            contact_endpoint=HERE,
            max_concurrent_matches=self.capacity,
        )
        settings = self.settings or RefereeSettings(profile=self.profile)
        return RefereeDesk(meta, MANAGER, self._chance, self.secrets, settings)

    def replayed(self, upto: int | None = None) -> RefereeDesk:
        """A fresh machine that went through the journal, as it is stored."""
        desk = self._new()
        for event in self.journal[:upto]:
            desk.apply(msgspec.json.decode(msgspec.json.encode(event), type=type(event)))
        return desk

    def restart(self, upto: int | None = None) -> Rig:
        """The process dies, perhaps before its last events were stored; a new one takes up what is open."""
        if upto is not None:
            del self.journal[upto:]
        self.desk = self.replayed()
        self.under_way.clear()
        self.lives += 1
        self.take(self.desk.resume(self.now))
        return self

    @property
    def now(self) -> float:
        return START + self.t

    def take(self, step: Step) -> Step:
        for event in step.events:
            text = msgspec.json.encode(event).decode()
            assert "tok_" not in text, text
        self.journal += step.events
        self.secrets |= step.secrets
        for outgoing in step.outbox:
            self._send(outgoing)
        for key in step.cancel:
            self.cancelled.append(key)
            for place in [one for one in self.under_way if one[0] == key]:
                del self.under_way[place]
        for reply in step.replies:
            assert reply.letter_id not in self.replies
            self.replies[reply.letter_id] = reply.content
        assert not step.asks
        return step

    def _send(self, outgoing: Outgoing) -> None:
        assert not isinstance(outgoing.message, Ping)
        assert unsaid(outgoing.message) == []
        assert getattr(outgoing.message, "auth_token", None) is None
        assert outgoing.deadline > self.now
        for to in outgoing.to:
            place = (outgoing.key, to.agent_id)
            assert place not in self.under_way, f"{place} is used twice"
            sent = Sent(self.t, to, outgoing.key, outgoing.message, outgoing.deadline - START)
            self.sent.append(sent)
            self.under_way[place] = sent

    # --- time ---------------------------------------------------------------------------------------------------------

    def wait(self, seconds: float) -> Rig:
        return self.until(self.t + seconds)

    def until(self, t: float) -> Rig:
        """Time passes: calls reach their limits, alarms ring, each at its moment."""
        while True:
            limits = [sent.deadline for sent in self.under_way.values()]
            alarm = self.desk.deadline
            due = min([*limits, *([alarm - START] if alarm is not None else [])], default=None)
            if due is None or due > t:
                break
            self.t = max(self.t, due)
            self._time_outs()
            self.tick()
        self.t = t
        return self

    def tick(self) -> None:
        """What is due is done, and nothing that is due is left."""
        due = self.desk.deadline
        if due is not None and due <= self.now:
            self.take(self.desk.tick(self.now))
            left = self.desk.deadline
            assert left is None or left > self.now

    def _time_outs(self) -> None:
        for place, sent in list(self.under_way.items()):
            if sent.deadline <= self.t:
                del self.under_way[place]
                self.take(self.desk.undelivered(Undelivered(*place, Failure.TIMEOUT), self.now))

    # --- what others do -----------------------------------------------------------------------------------------------

    def open(self, to: str, *kinds: str) -> Sent:
        """The newest call to somebody that is still open."""
        found = [one for one in self.under_way.values() if one.to.agent_id == to and one.message.type in kinds]
        assert found, f"nothing of {kinds} is open to {to}"
        return found[-1]

    def asked(self, player: str) -> bool:
        """Is a question to this player open?"""
        return any(one.to.agent_id == player and one.message.type in CALLS for one in self.under_way.values())

    def answer(self, sent: Sent, content: Object | bytes | Content) -> Step:
        """Somebody answers in the result."""
        self.under_way.pop((sent.key, sent.to.agent_id), None)
        if isinstance(content, dict):
            content = b'{"jsonrpc":"2.0","id":1,"result":%s}' % json.dumps(content).encode()
        if isinstance(content, bytes):
            content = letters.read_answer(content, sent.message, Reading(self.profile))
        letter = Letter(0, content, answers=sent.key, peer=sent.to.agent_id)
        return self.take(self.desk.handle(letter, self.now))

    def fail(self, sent: Sent, failure: Failure, blame: Blame = Blame.PEER, retry_after: float | None = None) -> Step:
        self.under_way.pop((sent.key, sent.to.agent_id), None)
        failed = Undelivered(sent.key, sent.to.agent_id, failure, blame, retry_after)
        return self.take(self.desk.undelivered(failed, self.now))

    def request(self, content: Object | Content, origin: str = "10.0.0.1") -> Replied:
        """Somebody sends a request and gets exactly one answer."""
        read = unseal(content, Reading(self.profile)) if isinstance(content, dict) else content
        letter = Letter(next(self._letters), read, origin=origin)
        self.take(self.desk.handle(letter, self.now))
        answer = self.replies[letter.id]
        assert not isinstance(answer, Message) or unsaid(answer) == []
        return answer

    # --- the manager --------------------------------------------------------------------------------------------------

    def envelope(self, kind: str, sender: str = "league_manager", **more: Any) -> Object:
        return {
            "protocol": "league.v2",
            "message_type": kind,
            "sender": sender,
            "timestamp": timestamps.write(self.now),
            "conversation_id": "conv-1",
            **more,
        }

    def accepted(self, token: str | None = TOKEN, derived: bool = True, **changed: Any) -> Object:
        answer = self.envelope("REFEREE_REGISTER_RESPONSE", status="ACCEPTED", referee_id=ME, reason=None)
        answer |= {"league_id": LEAGUE} | ({"auth_token": token} if token else {})
        return {**answer, **({"token_scheme": "derived"} if derived else {}), **changed}

    def enrolled(self, token: str | None = TOKEN, derived: bool = True, **changed: Any) -> Rig:
        self.take(self.desk.resume(self.now))
        self.answer(self.open("league_manager", "REFEREE_REGISTER_REQUEST"), self.accepted(token, derived, **changed))
        return self

    def announce(self, *matches: Object, **changed: Any) -> Replied:
        fields = {"auth_token": of_manager(), "league_id": LEAGUE, "round_id": 1, "matches": list(matches)}
        return self.request({**self.envelope("ROUND_ANNOUNCEMENT"), **fields, **changed})

    def given(self, *matches: Object) -> Rig:
        """Registered, with these matches (one of even_odd unless told otherwise)."""
        answer = self.enrolled().announce(*(matches or (announced(),)))
        assert not isinstance(answer, PeerError), answer
        return self

    def knows(self, *players: str, convention: str = "SPEC") -> Rig:
        """These players answered an invitation of this referee before."""
        for player in players:
            learned = e.ConventionLearned(
                at=self.now, agent_id=player, endpoint=ENDPOINTS[player], convention=convention
            )
            self.journal.append(learned)
            self.desk.apply(learned)
        return self

    def acknowledge(self, match_id: str = "R1M1") -> None:
        """The manager takes a report."""
        report = next(one for one in self.under_way.values()
                      if one.message.type == "MATCH_RESULT_REPORT" and one.key.startswith(f"{match_id}/"))  # fmt: skip
        self.answer(report, self.envelope("MATCH_RESULT_ACK", status="ACCEPTED", match_id=match_id, round_id=1))

    # --- players ------------------------------------------------------------------------------------------------------

    def question(self, player: str) -> Sent:
        return self.open(player, *CALLS)

    def joining(self, player: str, **changed: Any) -> Object:
        """A right GAME_JOIN_ACK."""
        match_id, attempt = self._match_of(player)
        more = {"match_id": match_id, "player_id": player, "arrival_timestamp": timestamps.write(self.now)}
        more["conversation_id"] = self.desk.matches[match_id, attempt].conversation_id
        token = answer_token(player, match_id, attempt)
        ack = self.envelope("GAME_JOIN_ACK", f"player:{player}", auth_token=token, accept=True, **more)
        return _changed(ack, changed)

    def choosing(self, player: str, choice: object = "even", **changed: Any) -> Object:
        """A right answer to the call for a choice, of whichever game."""
        match_id, attempt = self._match_of(player)
        token = answer_token(player, match_id, attempt)
        more: Object = {"match_id": match_id, "player_id": player, "auth_token": token}
        match = self.desk.matches[match_id, attempt]
        more["conversation_id"], game = match.conversation_id, match.game
        if game.wire.response_type == "CHOOSE_PARITY_RESPONSE":
            more |= {"parity_choice": choice}
        else:
            more |= {"move_data": {"move_type": game.wire.move_type, "choice": choice}}
        return _changed(self.envelope(game.wire.response_type, f"player:{player}", **more), changed)

    def _match_of(self, player: str) -> tuple[str, int]:
        found = [name for name, match in self.desk.matches.items() if player in match.taken.players]
        return found[-1]

    def joins(self, *players: str) -> Rig:
        for player in players:
            self.answer(self.open(player, "GAME_INVITATION"), self.joining(player))
        return self

    def chooses(self, player: str, choice: object) -> Rig:
        self.answer(self.open(player, *CALLS[1:]), self.choosing(player, choice))
        return self

    def says(self, player: str, content: Object | bytes | Content) -> Rig:
        """Whatever a player answers to what it is asked."""
        self.answer(self.question(player), content)
        return self

    def breaks(self, player: str, failure: Failure = Failure.REFUSED, **more: Any) -> Rig:
        self.fail(self.question(player), failure, **more)
        return self

    def hears_game_over(self, *players: str) -> Rig:
        for player in players:
            sent = self.open(player, "GAME_OVER")
            match_id = sent.key.partition("/")[0]
            self.answer(
                sent, self.envelope("GAME_OVER_ACK", f"player:{player}", status="ACKNOWLEDGED", match_id=match_id)
            )
        return self

    def plays(self, choices: Mapping[str, str] | None = None) -> Rig:
        """A match of even_odd from the invitations to the acknowledged report."""
        choices = choices or {"P01": "even", "P02": "odd"}
        self.joins(*choices)
        for player, choice in choices.items():
            self.chooses(player, choice)
        self.hears_game_over(*choices)
        self.acknowledge()
        return self

    # --- looking ------------------------------------------------------------------------------------------------------

    def of(self, kind: type[Some]) -> list[Some]:
        """The events of a kind."""
        return [event for event in self.journal if isinstance(event, kind)]

    def said(self, kind: type[Said], to: str | None = None) -> list[Said]:
        """The messages of a kind that were sent."""
        return [one.message for one in self.sent if isinstance(one.message, kind) and to in (None, one.to.agent_id)]

    def times(self, kind: str, to: str) -> list[float]:
        """When somebody was sent a message of a kind."""
        return [one.at for one in self.sent if one.message.type == kind and one.to.agent_id == to]

    @property
    def decided(self) -> e.MatchDecided:
        (event,) = self.of(e.MatchDecided)
        return event


def _changed(message: Object, changed: Mapping[str, Any]) -> Object:
    """Fields set or, by LEFT_OUT, removed."""
    return {name: value for name, value in {**message, **changed}.items() if value is not LEFT_OUT}


class _LeftOut:
    pass


LEFT_OUT = _LeftOut()
Act = Callable[[Rig], object]


def code_of(answer: object) -> str:
    """The error code of an answer, "" for none."""
    return answer.code if isinstance(answer, PeerError) else ""


def plain(message: Message) -> Object:
    """A message as it stands on the wire."""
    fields: Object = msgspec.json.decode(msgspec.json.encode(message))
    return fields
