"""A referee under test: manager and players as a script says, in virtual time, read by the real codec."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from random import Random
from typing import Any

from league import events as e
from league.gateway.book import PeerBook
from league.gateway.guest import GatewayGuest
from league.machine import Content, Failure, Refusal
from league.protocol import timestamps
from league.protocol.errors import PeerError
from league.protocol.message.envelope import Profile
from league.protocol.message.messages import Message
from league.protocol.message.parts import RefereeMeta
from league.protocol.signing import tokens
from league.referee.desk import RefereeDesk
from league.referee.referee_context import RefereeSettings
from tests.support import bench
from tests.support.bench import Object as Object
from tests.support.bench import Replied
from tests.support.bench import code_of as code_of
from tests.support.bench import plain as plain
from tests.support.said import unsaid

Sent = bench.Sent[Message]
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
CORRECTION_PAUSE_S = 2.0
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


class Rig(bench.Bench[RefereeDesk, Message]):
    """Drives one referee. Times are seconds since the start."""

    start = START

    def __init__(
        self,
        profile: Profile = "compat",
        capacity: int = 2,
        game_types: Sequence[str] = ("even_odd", "rock_paper_scissors", "tic_tac_toe"),
        settings: RefereeSettings | None = None,
        journal: list[e.Event] | None = None,
        secrets: dict[str, str] | None = None,
    ) -> None:
        self.capacity = capacity
        self.meta = RefereeMeta(
            display_name="Whistle",
            version="1.2.3",
            game_types=list(game_types),
            contact_endpoint=HERE,
            max_concurrent_matches=capacity,
        )
        self.settings = settings or RefereeSettings(profile=profile)
        self.lives = 0
        self.refuses_tables = True
        """A third-party manager does not say what it has counted."""
        self._chance = Random(7).randbytes
        super().__init__(0.0, profile, journal, secrets)

    def _new(self) -> RefereeDesk:
        return RefereeDesk(
            self.meta, MANAGER, self._chance, self.secrets, self.settings, open_book=PeerBook, open_guest=GatewayGuest
        )

    @property
    def desk(self) -> RefereeDesk:
        return self.machine

    def restart(self, upto: int | None = None) -> Rig:
        """The process dies, perhaps before its last events were stored; a new one takes up what is open."""
        self.lives += 1
        self.reborn(upto)
        return self

    def open(self, to: str, *kinds: str) -> Sent:
        """The newest call to somebody that is still open. A call that corrects a wrong answer is waited for."""
        calls = self._open_calls(to, kinds)
        if not calls and set(kinds) & set(CALLS):
            self.wait(CORRECTION_PAUSE_S)
            calls = self._open_calls(to, kinds)
        assert calls, f"nothing of {kinds} is open to {to}"
        return calls[-1]

    def _open_calls(self, to: str, kinds: Sequence[str]) -> list[Sent]:
        return [call for call in self.under_way.values() if call.to.agent_id == to and call.kind in kinds]

    def asked(self, player: str) -> bool:
        """Is a question to this player open?"""
        return any(one.to.agent_id == player and one.kind in CALLS for one in self.under_way.values())

    def request(self, content: Object | Content, origin: str = "10.0.0.1") -> Replied:
        """Somebody sends a request and gets exactly one answer."""
        letter, _ = self.hand(content, origin)
        answer = self.replies[letter]
        assert not isinstance(answer, Message) or unsaid(answer) == []
        return answer

    # --- the manager --------------------------------------------------------------------------------------------------

    def accepted(self, token: str | None = TOKEN, derived: bool = True, **changed: Any) -> Object:
        answer = self.envelope("REFEREE_REGISTER_RESPONSE", status="ACCEPTED", referee_id=ME, reason=None)
        answer |= {"league_id": LEAGUE} | ({"auth_token": token} if token else {})
        return {**answer, **({"token_scheme": "derived"} if derived else {}), **changed}

    def enrolled(self, token: str | None = TOKEN, derived: bool = True, **changed: Any) -> Rig:
        self.take(self.desk.resume(self.now))
        self.answer(self.open("league_manager", "REFEREE_REGISTER_REQUEST"), self.accepted(token, derived, **changed))
        return self

    def announcement(self, *matches: Object, **changed: Any) -> Object:
        fields = {"auth_token": of_manager(), "league_id": LEAGUE, "round_id": 1, "matches": list(matches)}
        return {**self.envelope("ROUND_ANNOUNCEMENT"), **fields, **changed}

    def announce(self, *matches: Object, **changed: Any) -> Replied:
        return self.request(self.announcement(*matches, **changed))

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
        more["conversation_id"] = self.conversation_with(player)
        token = answer_token(player, match_id, attempt)
        ack = self.envelope("GAME_JOIN_ACK", f"player:{player}", auth_token=token, accept=True, **more)
        return _changed(ack, changed)

    def choosing(self, player: str, choice: object = "even", **changed: Any) -> Object:
        """A right answer to the call for a choice, of whichever game."""
        match_id, attempt = self._match_of(player)
        token = answer_token(player, match_id, attempt)
        more: Object = {"match_id": match_id, "player_id": player, "auth_token": token}
        match = self.desk.matches[match_id, attempt]
        more["conversation_id"], game = self.conversation_with(player), match.game
        if game.wire.response_type == "CHOOSE_PARITY_RESPONSE":
            more |= {"parity_choice": choice}
        else:
            more |= {"move_data": {"move_type": game.wire.move_type, "choice": choice}}
        return _changed(self.envelope(game.wire.response_type, f"player:{player}", **more), changed)

    def conversation_with(self, player: str) -> str:
        """What the referee calls its conversation with this player."""
        match = self.desk.matches[self._match_of(player)]
        return match.conversations[match.taken.players.index(player)]

    def _match_of(self, player: str) -> tuple[str, int]:
        found = [name for name, match in self.desk.matches.items() if player in match.taken.players]
        return found[-1]

    def joins(self, *players: str) -> Rig:
        for player in players:
            self.answer(self.open(player, "GAME_INVITATION"), self.joining(player))
        return self

    def chooses(self, player: str, choice: object, **more: Any) -> Rig:
        self.answer(self.open(player, *CALLS[1:]), {**self.choosing(player, choice), **more})
        return self

    def says(self, player: str, content: Object | bytes | Content) -> Rig:
        """Whatever a player answers to what it is asked."""
        self.answer(self.question(player), content)
        return self

    def breaks(self, player: str, failure: Failure = Failure.REFUSED, **more: Any) -> Rig:
        self.fail(self.question(player), failure, **more)
        return self

    def hears_game_over(self, *players: str) -> Rig:
        # Whoever answered wrongly too often loses at the deadline.
        for _ in range(30):
            if any(call.kind == "GAME_OVER" and call.to.agent_id in players for call in self.under_way.values()):
                break
            self.wait(1)
        for player in players:
            self.hears_errors(player)
            sent = self.open(player, "GAME_OVER")
            match_id = sent.key.partition("/")[0]
            self.answer(
                sent, self.envelope("GAME_OVER_ACK", f"player:{player}", status="ACKNOWLEDGED", match_id=match_id)
            )
        if self.refuses_tables:
            self.refuse_tables()
        return self

    @property
    def table_questions(self) -> list[Sent]:
        """What a third-party manager is asked about what it has counted."""
        return [sent for sent in self.under_way.values() if sent.key.startswith("table/")]

    def refuse_tables(self) -> Rig:
        while questions := self.table_questions:
            self.answer(questions[0], Refusal("E036", "no"))
        return self

    def hears_errors(self, player: str) -> Rig:
        """It acknowledges every GAME_ERROR under way to it."""
        for one in list(self.under_way.values()):
            if one.to.agent_id == player and one.kind == "GAME_ERROR":
                self.answer(one, self.envelope("GAME_ERROR_ACK", f"player:{player}", status="ACKNOWLEDGED"))
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
UNKNOWN = b'{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"Method not found"}}'
"""The answer of a peer that does not know the form of a call."""
