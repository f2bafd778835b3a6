"""A player under test: what manager and referees say to it, as JSON objects read by the real codec, and its journal."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from random import Random
from typing import Any

from league.events import Event
from league.machine import Answering, Content, Letter, Outgoing, Step, Undelivered
from league.player.competitor import Competitor
from league.protocol import timestamps, tokens
from league.protocol.envelope import Profile, Reading, unseal
from league.protocol.errors import PeerError
from league.protocol.parts import PlayerMeta

LEAGUE = "spring"
ME = "P01"
TOKEN = tokens.mint(ME, bytes(range(32)))
KEY = tokens.deriver(TOKEN)
START = 1_750_000_000.0
MANAGER_URL = "http://127.0.0.1:8000/mcp"
META = PlayerMeta(
    display_name="Ada",
    version="1.0.0",
    game_types=["even_odd", "tic_tac_toe"],
    contact_endpoint="http://127.0.0.1:8101/mcp",
)


@dataclass
class Rig:
    """Drives one player and keeps all that leaves it. `right`: senders show the tokens our manager derives."""

    profile: Profile = "compat"
    derived: bool = True
    now: float = START
    journal: list[Event] = field(default_factory=list)
    secrets: dict[str, str] = field(default_factory=dict)
    replies: dict[int, list[Answering]] = field(default_factory=dict)
    letters: int = 0

    def __post_init__(self) -> None:
        self.player = self._new()

    def _new(self) -> Competitor:
        return Competitor(META, MANAGER_URL, Random(1).randbytes, self.secrets, self.profile)

    def restart(self) -> Step:
        """The process dies; a new one replays the journal."""
        self.player = self.replayed()
        return self.take(self.player.resume(self.now))

    def replayed(self) -> Competitor:
        player = self._new()
        for event in self.journal:
            player.apply(event)
        return player

    def take(self, step: Step) -> Step:
        self.journal += step.events
        self.secrets |= step.secrets
        for reply in step.replies:
            self.replies.setdefault(reply.letter_id, []).append(reply)
        return step

    # --- registering --------------------------------------------------------------------------------------------------

    def enrolled(self) -> Rig:
        """Register and be accepted."""
        call = self.take(self.player.resume(self.now)).outbox[0]
        self.answer(call, self.accepted())
        return self

    def accepted(self, token: str | None = TOKEN) -> dict[str, Any]:
        return {
            **self.envelope("LEAGUE_REGISTER_RESPONSE", "league_manager", token),
            "status": "ACCEPTED",
            "player_id": ME,
            "league_id": LEAGUE,
            "reason": None,
            "token_scheme": "derived" if self.derived else None,
        }

    def answer(self, call: Outgoing, content: Content | dict[str, Any]) -> Step:
        """The manager answers a call of ours."""
        read = unseal(content, Reading(self.profile)) if isinstance(content, dict) else content
        return self.take(self.player.handle(Letter(0, read, answers=call.key, peer="league_manager"), self.now))

    def fail(self, failed: Undelivered) -> Step:
        return self.take(self.player.undelivered(failed, self.now))

    def tick(self) -> Step:
        """Time passes until the player's timer rings."""
        due = self.player.deadline
        assert due is not None
        self.now = due
        step = self.take(self.player.tick(self.now))
        assert self.player.deadline is None or self.player.deadline > self.now
        return step

    # --- saying -------------------------------------------------------------------------------------------------------

    def hand(self, content: Content) -> tuple[int, Step]:
        self.letters += 1
        return self.letters, self.take(self.player.handle(Letter(self.letters, content), self.now))

    def post(self, fields: Mapping[str, Any]) -> tuple[int, Step]:
        """A request: its letter's id, and what the player did at once."""
        return self.hand(unseal(dict(fields), Reading(self.profile)))

    def say(self, fields: Mapping[str, Any]) -> Any:
        """A request that is answered at once: the answer."""
        letter, _ = self.post(fields)
        return self.answer_to(letter)

    def answer_to(self, letter: int) -> Any:
        """The one answer a letter got."""
        (reply,) = self.replies[letter]
        return reply.content

    def refusal_of(self, fields: Mapping[str, Any]) -> str:
        """The code of the error a request is answered with."""
        error = self.say(fields)
        assert isinstance(error, PeerError)
        return error.code

    def choose(self, step: Step, value: object) -> Step:
        """The strategy answers the one question of this step."""
        (ask,) = step.asks
        return self.take(self.player.answered(ask.key, value, self.now))

    # --- messages -----------------------------------------------------------------------------------------------------

    def envelope(self, kind: str, sender: str, token: str | None, conversation: str = "conv-1") -> dict[str, Any]:
        return {
            "protocol": "league.v2",
            "message_type": kind,
            "sender": sender,
            "timestamp": timestamps.write(self.now),
            "conversation_id": conversation,
            "auth_token": token,
        }

    def from_referee(self, kind: str, match_id: str, attempt: int | None, referee: str) -> dict[str, Any]:
        token = tokens.derive(KEY, referee, ME, LEAGUE, match_id, attempt or 1)
        conversation = f"conv-{match_id}-{attempt or referee}".lower()
        return {**self.envelope(kind, f"referee:{referee}", token, conversation), "match_id": match_id}

    def from_manager(self, kind: str) -> dict[str, Any]:
        token = tokens.derive(KEY, tokens.MANAGER, ME, LEAGUE)
        return {**self.envelope(kind, "league_manager", token, "round"), "league_id": LEAGUE}

    def invitation(
        self, match_id: str = "R1M1", attempt: int | None = 1, referee: str = "REF01", **changed: Any
    ) -> dict[str, Any]:
        return {
            **self.from_referee("GAME_INVITATION", match_id, attempt, referee),
            "league_id": LEAGUE,
            "round_id": 1,
            "game_type": "even_odd",
            "role_in_match": "PLAYER_A",
            "opponent_id": "P02",
            "player_id": ME,
            **({} if attempt is None else {"attempt": attempt}),
            **changed,
        }

    def call(
        self, match_id: str = "R1M1", attempt: int | None = 1, referee: str = "REF01", **changed: Any
    ) -> dict[str, Any]:
        return {
            **self.from_referee("CHOOSE_PARITY_CALL", match_id, attempt, referee),
            "player_id": ME,
            "game_type": "even_odd",
            "context": {
                "opponent_id": "P02",
                "round_id": 1,
                "your_standings": {"wins": 1, "losses": 0, "draws": 2, "points": 5},
            },
            "deadline": timestamps.write(self.now + 30),
            **changed,
        }

    def move_call(
        self, turn: int | None, options: tuple[str, ...] = ("0", "4"), match_id: str = "R1M1", **changed: Any
    ) -> dict[str, Any]:
        context: dict[str, Any] = {"board": ["X"] * (turn or 0)}
        return {
            **self.from_referee("GAME_MOVE_CALL", match_id, 1, "REF01"),
            "player_id": ME,
            "game_type": "tic_tac_toe",
            "move_request": {
                "move_type": "mark_cell",
                "valid_options": list(options),
                "context": context if turn is None else {**context, "turn": turn},
            },
            "deadline": timestamps.write(self.now + 30),
            **changed,
        }

    def error(
        self,
        code: str = "E004",
        match_id: str = "R1M1",
        attempt: int | None = 1,
        referee: str = "REF01",
        name: str = "INVALID_PARITY_CHOICE",
        **changed: Any,
    ) -> dict[str, Any]:
        return {
            **self.from_referee("GAME_ERROR", match_id, attempt, referee),
            "error_code": code,
            "error_description": name,
            "affected_player": ME,
            **changed,
        }

    def over(
        self,
        match_id: str = "R1M1",
        attempt: int | None = 1,
        referee: str = "REF01",
        winner: str | None = ME,
        **changed: Any,
    ) -> dict[str, Any]:
        result: dict[str, Any] = {
            "status": "WIN" if winner else "TECHNICAL_LOSS",
            "winner_player_id": winner,
            "drawn_number": 8 if winner else None,
            "number_parity": "even" if winner else None,
            "choices": {ME: "even", "P02": "odd"} if winner else {ME: None, "P02": None},
            **({} if attempt is None else {"attempt": attempt}),
        }
        return {
            **self.from_referee("GAME_OVER", match_id, attempt, referee),
            "game_type": "even_odd",
            "game_result": result,
            "reason": "P01 chose even, number was 8 (even)",
            **changed,
        }

    def announcement(self, round_id: int = 1, **changed: Any) -> dict[str, Any]:
        match = {
            "match_id": f"R{round_id}M1",
            "game_type": "even_odd",
            "player_A_id": ME,
            "player_B_id": "P02",
            "referee_endpoint": "http://127.0.0.1:8001/mcp",
        }
        return {**self.from_manager("ROUND_ANNOUNCEMENT"), "round_id": round_id, "matches": [match], **changed}

    def round_completed(self, round_id: int = 1, **changed: Any) -> dict[str, Any]:
        done = {"matches_completed": 1, "matches_played": 1, "next_round_id": round_id + 1}
        return {**self.from_manager("ROUND_COMPLETED"), "round_id": round_id, **done, **changed}

    def standings(self, version: int | None = 1, **changed: Any) -> dict[str, Any]:
        row = {"rank": 1, "player_id": ME, "display_name": "Ada", "played": 1}
        row |= {"wins": 1, "draws": 0, "losses": 0, "points": 3}
        table = {"round_id": 1, "standings": [row], "version": version}
        return {**self.from_manager("LEAGUE_STANDINGS_UPDATE"), **table, **changed}

    def completed(self, **changed: Any) -> dict[str, Any]:
        champion = {"player_id": "P02", "display_name": "Bo", "points": 3}
        end = {"total_rounds": 1, "total_matches": 1, "champion": champion, "final_standings": []}
        return {**self.from_manager("LEAGUE_COMPLETED"), **end, **changed}
