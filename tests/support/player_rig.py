"""A player under test: what manager and referees say to it, as JSON objects read by the real codec, and its journal."""

from __future__ import annotations

from random import Random
from typing import Any

from league.games import draw
from league.gateway.book import PeerBook
from league.machine import Step
from league.player.competitor import Competitor
from league.player.league_queries import QueryAnswer
from league.protocol import timestamps
from league.protocol.errors import PeerError
from league.protocol.message.envelope import Profile
from league.protocol.message.messages import Message
from league.protocol.message.parts import PlayerMeta
from league.protocol.signing import tokens
from league.protocol.signing.keys import signing_key
from tests.support.bench import Bench, Object

LEAGUE = "spring"
ME = "P01"
TOKEN = tokens.mint(ME, bytes(range(32)))
KEY = tokens.deriver(TOKEN)
START = 1_750_000_000.0
SHARE = bytes(range(64, 96))
MANAGER_URL = "http://127.0.0.1:8000/mcp"
MANAGER_KEY = signing_key(bytes(range(32, 64))).public
META = PlayerMeta(
    display_name="Ada",
    version="1.0.0",
    game_types=["even_odd", "tic_tac_toe"],
    contact_endpoint="http://127.0.0.1:8101/mcp",
)


class Rig(Bench[Competitor, Message]):
    """Drives one player and keeps all that leaves it. `derived`: senders show the tokens our manager derives."""

    def __init__(self, profile: Profile = "compat", derived: bool = True, signs: bool = False) -> None:
        self.derived = derived
        self.meta = META
        self.manager_key = MANAGER_KEY if signs and derived else ""
        super().__init__(START, profile)

    def _new(self) -> Competitor:
        return Competitor(self.meta, MANAGER_URL, Random(1).randbytes, self.secrets, self.profile, open_book=PeerBook)

    @property
    def player(self) -> Competitor:
        return self.machine

    def restart(self) -> Step:
        """The process dies; a new one replays the journal."""
        return self.reborn()

    @property
    def query_answers(self) -> list[QueryAnswer]:
        """What became of its queries."""
        return [one for one in self.news if isinstance(one, QueryAnswer)]

    # --- its manager --------------------------------------------------------------------------------------------------

    def enrolled(self) -> Rig:
        """Register and be accepted."""
        call = self.take(self.player.resume(self.now)).outbox[0]
        self.answer(call, self.accepted())
        return self

    def accepted(self, token: str | None = TOKEN) -> Object:
        scheme = "derived" if self.derived else None
        named: Object = {"player_id": ME, "league_id": LEAGUE, "auth_token": token, "token_scheme": scheme}
        if self.manager_key:
            named["manager_key"] = self.manager_key
        return self.envelope("LEAGUE_REGISTER_RESPONSE", status="ACCEPTED", reason=None, **named)

    def tick(self) -> Step:
        """Time passes until the player's timer rings."""
        assert self.player.deadline is not None
        self.now = self.player.deadline
        return super().tick()

    # --- saying -------------------------------------------------------------------------------------------------------

    post = Bench.hand

    def say(self, fields: Object) -> Any:
        """A request that is answered at once: the answer."""
        return self.answer_to(self.post(fields)[0])

    def answer_to(self, letter: int) -> Any:
        """The one answer a letter got."""
        return self.replies[letter]

    def refusal_of(self, fields: Object) -> str:
        """The code of the error a request is answered with."""
        error = self.say(fields)
        assert isinstance(error, PeerError)
        return error.code

    def choose(self, step: Step, value: object) -> Step:
        """The strategy answers the one question of this step."""
        (ask,) = step.asks
        return self.take(self.player.answered(ask.key, value, self.now))

    # --- messages -----------------------------------------------------------------------------------------------------

    def from_referee(self, kind: str, match_id: str, attempt: int | None, referee: str) -> Object:
        token = tokens.derive(KEY, referee, ME, LEAGUE, match_id, attempt or 1)
        named = {"auth_token": token, "match_id": match_id}
        return self.envelope(
            kind, f"referee:{referee}", conversation_id=f"conv-{match_id}-{attempt or referee}".lower(), **named
        )

    def from_manager(self, kind: str, **more: Any) -> Object:
        token = tokens.derive(KEY, tokens.MANAGER, ME, LEAGUE)
        return self.envelope(kind, **{"conversation_id": "round", "auth_token": token, "league_id": LEAGUE, **more})

    def invitation(
        self, match_id: str = "R1M1", attempt: int | None = 1, referee: str = "REF01", **changed: Any
    ) -> Object:
        seat: Object = {"role_in_match": "PLAYER_A", "opponent_id": "P02", "player_id": ME, **_told(attempt)}
        if self.manager_key:
            seat["share_commitment"] = promise_of(match_id, attempt or 1)
        match = {"league_id": LEAGUE, "round_id": 1, "game_type": "even_odd", **seat}
        return {**self.from_referee("GAME_INVITATION", match_id, attempt, referee), **match, **changed}

    def call(self, match_id: str = "R1M1", attempt: int | None = 1, referee: str = "REF01", **changed: Any) -> Object:
        standings = {"wins": 1, "losses": 0, "draws": 2, "points": 5}
        asked = {"context": {"opponent_id": "P02", "round_id": 1, "your_standings": standings}, **self._asked()}
        return {
            **self.from_referee("CHOOSE_PARITY_CALL", match_id, attempt, referee),
            "game_type": "even_odd",
            **asked,
            **changed,
        }

    def move_call(
        self, turn: int | None, options: tuple[str, ...] = ("0", "4"), match_id: str = "R1M1", **changed: Any
    ) -> Object:
        context = {"board": ["X"] * (turn or 0), **({} if turn is None else {"turn": turn})}
        asked = {"move_type": "mark_cell", "valid_options": list(options), "context": context}
        return {
            **self.from_referee("GAME_MOVE_CALL", match_id, 1, "REF01"),
            "game_type": "tic_tac_toe",
            "move_request": asked,
            **self._asked(),
            **changed,
        }

    def _asked(self) -> Object:
        return {"player_id": ME, "deadline": timestamps.write(self.now + 30)}

    def error(
        self,
        code: str = "E004",
        match_id: str = "R1M1",
        attempt: int | None = 1,
        referee: str = "REF01",
        name: str = "INVALID_PARITY_CHOICE",
        **changed: Any,
    ) -> Object:
        wrong = {"error_code": code, "error_description": name, "affected_player": ME}
        return {**self.from_referee("GAME_ERROR", match_id, attempt, referee), **wrong, **changed}

    def over(
        self,
        match_id: str = "R1M1",
        attempt: int | None = 1,
        referee: str = "REF01",
        winner: str | None = ME,
        **changed: Any,
    ) -> Object:
        result = {
            "status": "WIN" if winner else "TECHNICAL_LOSS",
            "winner_player_id": winner,
            "drawn_number": 8 if winner else None,
            "number_parity": "even" if winner else None,
            "choices": {ME: "even", "P02": "odd"} if winner else {ME: None, "P02": None},
            **_told(attempt),
        }
        ended = {"game_type": "even_odd", "game_result": result, "reason": "P01 chose even, number was 8 (even)"}
        return {**self.from_referee("GAME_OVER", match_id, attempt, referee), **ended, **changed}

    def announcement(self, round_id: int = 1, **changed: Any) -> Object:
        match: Object = {"match_id": f"R{round_id}M1", "game_type": "even_odd", "player_A_id": ME, "player_B_id": "P02"}
        if self.manager_key:
            match |= {"attempt": 1, "share_commitment": promise_of(match["match_id"], 1)}
        matches: list[Object] = [{**match, "referee_endpoint": "http://127.0.0.1:8001/mcp"}]
        return self.from_manager("ROUND_ANNOUNCEMENT", **{"round_id": round_id, "matches": matches, **changed})

    def announced_without_tokens(self, **changed: Any) -> Object:
        """R1M1 is played by a referee that shows no derived tokens."""
        (match,) = self.announcement()["matches"]
        named = {"referee_endpoint": "http://10.0.0.1:8001/mcp", "referee_tokens": [], **changed}
        return self.announcement(matches=[{**match, **named}])

    def round_completed(self, round_id: int = 1, **changed: Any) -> Object:
        done = {"round_id": round_id, "matches_completed": 1, "matches_played": 1, "next_round_id": round_id + 1}
        return self.from_manager("ROUND_COMPLETED", **{**done, **changed})

    def standings(self, version: int | None = 1, **changed: Any) -> Object:
        row = {"rank": 1, "player_id": ME, "display_name": "Ada", "played": 1}
        row |= {"wins": 1, "draws": 0, "losses": 0, "points": 3}
        return self.from_manager(
            "LEAGUE_STANDINGS_UPDATE", **{"round_id": 1, "standings": [row], "version": version, **changed}
        )

    def completed(self, **changed: Any) -> Object:
        champion = {"player_id": "P02", "display_name": "Bo", "points": 3}
        end = {"total_rounds": 1, "total_matches": 1, "champion": champion, "final_standings": []}
        return self.from_manager("LEAGUE_COMPLETED", **{**end, **changed})


def promise_of(match_id: str, attempt: int) -> str:
    """What the manager promises for an attempt."""
    return draw.commitment(SHARE, LEAGUE, match_id, attempt)


def _told(attempt: int | None) -> Object:
    return {} if attempt is None else {"attempt": attempt}
