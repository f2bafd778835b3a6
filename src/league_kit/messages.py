"""The messages of the kit as manager and as referee. All are right; scenarios change them where they must be wrong."""

from __future__ import annotations

from dataclasses import dataclass

from league.protocol import timestamps
from league.protocol.versions import KIT_LEAGUE as LEAGUE
from league.protocol.versions import PROTOCOL
from league_kit.conventions import Object

__all__ = ["LEAGUE", "MessageWriter", "number_in"]
REFEREE = "REF01"
EVEN_ODD = "even_odd"
ROW = ("played", "wins", "draws", "losses", "points")


@dataclass(slots=True)
class MessageWriter:
    """Writes messages to one player."""

    player_id: str
    referee_url: str
    opponent_url: str
    manager_token: str
    referee_token: str
    match_number: int = 1
    """The number of the match in each of its rounds. Every run has its own, for players remember their matches."""
    names_player: bool = True
    """Does an invitation name the player? Not before its id is known."""

    @property
    def opponent_id(self) -> str:
        return "P02" if self.player_id != "P02" else "P03"

    def match_id(self, number: int) -> str:
        """The match of a round; every round has one, for nobody plays twice in a round."""
        return f"R{number}M{self.match_number}"

    def _from(self, sender: str, token: str, kind: str, conversation: str, now: float) -> Object:
        return {
            "protocol": PROTOCOL,
            "message_type": kind,
            "sender": sender,
            "timestamp": timestamps.write(now),
            "conversation_id": conversation,
            "auth_token": token,
        }

    def _manager(self, kind: str, conversation: str, now: float) -> Object:
        envelope = self._from("league_manager", self.manager_token, kind, conversation, now)
        return {**envelope, "league_id": LEAGUE}

    def _referee(self, kind: str, number: int, now: float) -> Object:
        match_id = self.match_id(number)
        envelope = self._from(f"referee:{REFEREE}", self.referee_token, kind, f"{LEAGUE}-{match_id}-1".lower(), now)
        return {**envelope, "match_id": match_id}

    # --- the manager's ------------------------------------------------------------------------------------------------

    def announcement(self, number: int, now: float, game: str = EVEN_ODD) -> Object:
        """A round with one match. It names the opponent's address, as bait (PLAYER.talks_to_no_player)."""
        match: Object = {
            "match_id": self.match_id(number),
            "game_type": game,
            "player_A_id": self.player_id,
            "player_B_id": self.opponent_id,
            "referee_endpoint": self.referee_url,
            "player_B_endpoint": self.opponent_url,
        }
        return {
            **self._manager("ROUND_ANNOUNCEMENT", f"round-{number}", now),
            "round_id": number,
            "matches": [match],
        }

    def standings(self, number: int, now: float, players: int = 2) -> Object:
        rows = [self._row(rank, players) for rank in range(1, players + 1)]
        message = self._manager("LEAGUE_STANDINGS_UPDATE", f"standings-{number}", now)
        return {**message, "round_id": number, "version": number, "standings": rows}

    def _row(self, rank: int, players: int) -> Object:
        name = {1: self.opponent_id, 2: self.player_id}.get(rank, f"P{rank + 100}")
        won = int(rank == 1)
        record = dict(zip(ROW, (1, won, 0, 1 - won, 3 * won), strict=True))
        return {"rank": rank, "player_id": name, "display_name": f"Player {rank} of {players}", **record}

    def round_completed(self, number: int, now: float) -> Object:
        return {
            **self._manager("ROUND_COMPLETED", f"round-{number}-completed", now),
            "round_id": number,
            "matches_completed": 1,
            "matches_played": 1,
            "next_round_id": number + 1,
            "summary": {"total_matches": 1, "wins": 1, "draws": 0, "technical_losses": 0},
        }

    def league_completed(self, rounds: int, now: float) -> Object:
        table = [self._row(1, 2), self._row(2, 2)]
        champion = {name: table[0][name] for name in ("player_id", "display_name", "points")}
        return {
            **self._manager("LEAGUE_COMPLETED", "league-completed", now),
            "total_rounds": rounds,
            "total_matches": rounds,
            "champion": champion,
            "final_standings": table,
        }

    def league_error(self, now: float) -> Object:
        """About a query that nobody made: there is nothing to be done about it."""
        envelope = self._from("league_manager", self.manager_token, "LEAGUE_ERROR", "league-error", now)
        return {
            **envelope,
            "error_code": "E029",
            "error_description": "INVALID_QUERY_TYPE",
            "error_name": "INVALID_QUERY_TYPE",
            "error_detail": "there is no such query",
            "original_message_type": "LEAGUE_QUERY",
            "context": {"action": "LEAGUE_QUERY"},
            "affected_player": self.player_id,
            "action_required": "LEAGUE_QUERY",
            "retryable": False,
        }

    # --- the referee's ------------------------------------------------------------------------------------------------

    def again(self, message: Object) -> Object:
        """The same message of the match's next attempt, with the token and conversation of that."""
        conversation = message["conversation_id"].removesuffix("1") + "2"
        changed: Object = {"auth_token": f"{self.referee_token}_2", "conversation_id": conversation}
        if "game_result" in message:
            changed["game_result"] = {**message["game_result"], "attempt": 2}
        return {**message, **changed, **({"attempt": 2} if "attempt" in message else {})}

    def invitation(self, number: int, now: float, game: str = EVEN_ODD) -> Object:
        invited: Object = {"player_id": self.player_id} if self.names_player else {}
        return {
            **self._referee("GAME_INVITATION", number, now),
            "league_id": LEAGUE,
            "round_id": number,
            "game_type": game,
            "role_in_match": "PLAYER_A",
            "opponent_id": self.opponent_id,
            **invited,
            "attempt": 1,
        }

    def parity_call(self, number: int, now: float, deadline: float) -> Object:
        record = {"wins": 0, "losses": 0, "draws": 0, "points": 0}
        return {
            **self._referee("CHOOSE_PARITY_CALL", number, now),
            "player_id": self.player_id,
            "game_type": EVEN_ODD,
            "context": {"opponent_id": self.opponent_id, "round_id": number, "your_standings": record},
            "deadline": timestamps.write(deadline),
        }

    def move_call(self, number: int, now: float, deadline: float, game: str, options: list[str]) -> Object:
        return {
            **self._referee("GAME_MOVE_CALL", number, now),
            "player_id": self.player_id,
            "game_type": game,
            "move_request": {"move_type": "throw", "valid_options": options, "context": {"turn": 1}},
            "deadline": timestamps.write(deadline),
        }

    def _over(self, number: int, now: float, game: str, reason: str, **result: object) -> Object:
        return {
            **self._referee("GAME_OVER", number, now),
            "game_type": game,
            "game_result": {**result, "reason": reason, "attempt": 1},
            "reason": reason,
        }

    def game_over(self, number: int, now: float, choice: str = "even") -> Object:
        other = "odd" if choice == "even" else "even"
        drawn = 4 if other == "even" else 7
        return self._over(
            number,
            now,
            EVEN_ODD,
            f"{self.opponent_id} chose {other}, number was {drawn} ({other})",
            status="WIN",
            winner_player_id=self.opponent_id,
            drawn_number=drawn,
            number_parity=other,
            choices={self.player_id: choice, self.opponent_id: other},
        )

    def called_off(self, number: int, now: float, game: str = EVEN_ODD) -> Object:
        """GAME_OVER of a match that is broken off: nobody wins."""
        result: Object = {"status": "TECHNICAL_LOSS", "winner_player_id": None}
        if game == EVEN_ODD:
            result |= {"drawn_number": None, "number_parity": None}
        choices = {self.player_id: None, self.opponent_id: None}
        return self._over(number, now, game, "Technical loss: this match is not played on", **result, choices=choices)

    def game_error(self, number: int, now: float, choice: object) -> Object:
        """About a choice that is called wrong."""
        retry: Object = {"retry_count": 1, "max_retries": 3, "time_remaining": 20}
        return {
            **self._referee("GAME_ERROR", number, now),
            "error_code": "E004",
            "error_description": "INVALID_PARITY_CHOICE",
            "error_name": "INVALID_PARITY_CHOICE",
            "error_detail": "this choice is not taken; choose again",
            "affected_player": self.player_id,
            "player_id": self.player_id,
            "action_required": "CHOOSE_PARITY_RESPONSE",
            "game_state": "COLLECTING_CHOICES",
            "retryable": True,
            **retry,
            "retry_info": retry,
            "context": {"invalid_choice": choice, "valid_choices": ["even", "odd"]},
            "consequence": "technical loss without a valid choice before the deadline",
        }


def number_in(match_id: str) -> int:
    """The number of the round, and so of the match."""
    return int(match_id[1:].partition("M")[0])
