"""The messages of the kit as manager and as referee. All are right; scenarios change those that must be wrong."""

# Every message is complete: it has all fields that any of the documents asks for, so that a refusal is never the kit's
# fault. Tokens are the kit's own, and an attempt has its own token. Match ids differ from run to run, because players
# may remember the matches of an earlier one.
#
# A player that declared receipts signs for nobody but a caller with a derived token. It gets such tokens with every
# message; all other players get tokens that mean nothing to them.

from __future__ import annotations

import time
from dataclasses import dataclass, field

from league.protocol import timestamps, tokens
from league.protocol.versions import KIT_LEAGUE as LEAGUE
from league.protocol.versions import PROTOCOL
from league_kit import kit_draws
from league_kit.kit_conventions import Object

__all__ = ["LEAGUE", "MessageWriter", "number_in"]
REFEREE = "REF01"
EVEN_ODD = "even_odd"


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
    key: str = ""
    """K of the player's registration (spec section 9.3), if it signs its choices."""
    shown_tokens: set[str] = field(default_factory=set)
    """All derived tokens that the player was shown."""

    @property
    def opponent_id(self) -> str:
        return "P03" if self.player_id == "P02" else "P02"

    def match_id(self, number: int) -> str:
        """Return the id of the match of a round; every round has one, because nobody plays twice in a round."""
        return f"R{number}M{self.match_number}"

    def _from(self, sender: str, token: str, kind: str, conversation: str) -> Object:
        return {
            "protocol": PROTOCOL,
            "message_type": kind,
            "sender": sender,
            "timestamp": timestamps.write(time.time()),
            "conversation_id": conversation,
            "auth_token": token,
        }

    def _manager(self, kind: str, conversation: str) -> Object:
        envelope = self._from_manager(kind, conversation)
        return {**envelope, "league_id": LEAGUE}

    def _from_manager(self, kind: str, conversation: str) -> Object:
        token = self._derived(tokens.MANAGER) or self.manager_token
        return self._from(tokens.MANAGER, token, kind, conversation)

    def _derived(self, sender: str, match_id: str = "-", attempt: int = 0) -> str:
        """Return the token that a player with a key expects of this sender; empty for other players."""
        if not self.key:
            return ""
        token = tokens.derive(self.key, sender, self.player_id, LEAGUE, match_id, attempt)
        self.shown_tokens.add(token)
        return token

    def _referee(self, kind: str, number: int) -> Object:
        match_id = self.match_id(number)
        conversation = f"{LEAGUE}-{match_id}-1".lower()
        token = self._derived(REFEREE, match_id, 1) or self.referee_token
        envelope = self._from(f"referee:{REFEREE}", token, kind, conversation)
        return {**envelope, "match_id": match_id}

    # --- the manager's ------------------------------------------------------------------------------------------------

    def announcement(self, number: int, game: str = EVEN_ODD) -> Object:
        """Announce a round with one match. It names the opponent's address, as bait (PLAYER.talks_to_no_player)."""
        match: Object = {
            "match_id": self.match_id(number),
            "game_type": game,
            "player_A_id": self.player_id,
            "player_B_id": self.opponent_id,
            "referee_endpoint": self.referee_url,
            "player_B_endpoint": self.opponent_url,
        }
        return {
            **self._manager("ROUND_ANNOUNCEMENT", f"round-{number}"),
            "round_id": number,
            "matches": [match],
        }

    def standings(self, number: int, players: int = 2) -> Object:
        rows = [self._row(rank, players) for rank in range(1, players + 1)]
        message = self._manager("LEAGUE_STANDINGS_UPDATE", f"standings-{number}")
        return {**message, "round_id": number, "version": number, "standings": rows}

    def _row(self, rank: int, players: int) -> Object:
        """Return a row of the table: the opponent has won its match, everybody else has lost."""
        first_two = {1: self.opponent_id, 2: self.player_id}
        wins = int(rank == 1)
        return {
            "rank": rank,
            "player_id": first_two.get(rank, f"P{rank + 100}"),
            "display_name": f"Player {rank} of {players}",
            "played": 1,
            "wins": wins,
            "draws": 0,
            "losses": 1 - wins,
            "points": 3 * wins,
        }

    def round_completed(self, number: int) -> Object:
        return {
            **self._manager("ROUND_COMPLETED", f"round-{number}-completed"),
            "round_id": number,
            "matches_completed": 1,
            "matches_played": 1,
            "next_round_id": number + 1,
            "summary": {"total_matches": 1, "wins": 1, "draws": 0, "technical_losses": 0},
        }

    def league_completed(self, rounds: int) -> Object:
        table = [self._row(1, 2), self._row(2, 2)]
        champion = {name: table[0][name] for name in ("player_id", "display_name", "points")}
        return {
            **self._manager("LEAGUE_COMPLETED", "league-completed"),
            "total_rounds": rounds,
            "total_matches": rounds,
            "champion": champion,
            "final_standings": table,
        }

    def league_error(self) -> Object:
        """Report an error about a query that nobody made: there is nothing to be done about it."""
        return {
            **self._from_manager("LEAGUE_ERROR", "league-error"),
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
        """Return the same message for the match's next attempt, with the token and conversation of that attempt."""
        changed: Object = {
            "auth_token": self._derived(REFEREE, message["match_id"], 2) or f"{self.referee_token}_2",
            "conversation_id": message["conversation_id"].removesuffix("1") + "2",
        }
        if "game_result" in message:
            changed["game_result"] = {**message["game_result"], "attempt": 2}
        if "attempt" in message:
            changed["attempt"] = 2
        return {**message, **changed}

    def invitation(self, number: int, game: str = EVEN_ODD) -> Object:
        message = {
            **self._referee("GAME_INVITATION", number),
            "league_id": LEAGUE,
            "round_id": number,
            "game_type": game,
            "role_in_match": "PLAYER_A",
            "opponent_id": self.opponent_id,
            "attempt": 1,
        }
        if self.names_player:
            message["player_id"] = self.player_id
        return message

    def parity_call(self, number: int, limit_s: float) -> Object:
        record = {"wins": 0, "losses": 0, "draws": 0, "points": 0}
        return {
            **self._referee("CHOOSE_PARITY_CALL", number),
            "player_id": self.player_id,
            "game_type": EVEN_ODD,
            "context": {
                "opponent_id": self.opponent_id,
                "round_id": number,
                "your_standings": record,
            },
            "deadline": timestamps.write(time.time() + limit_s),
        }

    def move_call(self, number: int, limit_s: float, game: str, options: list[str]) -> Object:
        return {
            **self._referee("GAME_MOVE_CALL", number),
            "player_id": self.player_id,
            "game_type": game,
            "move_request": {
                "move_type": "throw",
                "valid_options": options,
                "context": {"turn": 1},
            },
            "turn": 1,
            "deadline": timestamps.write(time.time() + limit_s),
        }

    def _over(self, number: int, game: str, reason: str, **result: object) -> Object:
        return {
            **self._referee("GAME_OVER", number),
            "game_type": game,
            "game_result": {**result, "reason": reason, "attempt": 1},
            "reason": reason,
        }

    def game_over(self, number: int, choice: str = "even") -> Object:
        """Report that the opponent has won."""
        drawn = 7 if choice == "even" else 4
        return self._decided(number, choice, drawn, self.opponent_id)

    def drawn_result(self, number: int, choice: str, seed: bytes) -> Object:
        """Report the result that follows from a seed."""
        drawn = kit_draws.number(seed, self.match_id(number))
        winner = self.player_id if choice == parity_of(drawn) else self.opponent_id
        return self._decided(number, choice, drawn, winner, draw_seed=seed.hex())

    def _decided(self, number: int, choice: str, drawn: int, winner: str, **more: object) -> Object:
        """Report a match in which the opponent made the other choice."""
        parity = parity_of(drawn)
        return self._over(
            number,
            EVEN_ODD,
            f"{winner} chose {parity}, number was {drawn} ({parity})",
            status="WIN",
            winner_player_id=winner,
            drawn_number=drawn,
            number_parity=parity,
            choices={self.player_id: choice, self.opponent_id: other_parity(choice)},
            **more,
        )

    def played_falsely(self, over: Object) -> Object:
        """Return a match for GET_PLAYER_STATS with another outcome than its GAME_OVER has."""
        result = over["game_result"]
        has_won = result["winner_player_id"] == self.player_id
        return {
            "match_id": over["match_id"],
            "opponent_id": self.opponent_id,
            "outcome": "LOSS" if has_won else "WIN",
            "choice": result["choices"][self.player_id],
            "opponent_choice": result["choices"][self.opponent_id],
        }

    def called_off(self, number: int, game: str = EVEN_ODD) -> Object:
        """End a match that is broken off: nobody wins."""
        result: Object = {"status": "TECHNICAL_LOSS", "winner_player_id": None}
        if game == EVEN_ODD:
            result |= {"drawn_number": None, "number_parity": None}
        choices = {self.player_id: None, self.opponent_id: None}
        reason = "Technical loss: this match is not played on"
        return self._over(number, game, reason, **result, choices=choices)

    def game_error(self, number: int, choice: object) -> Object:
        """Report that a choice is wrong."""
        retry: Object = {"retry_count": 1, "max_retries": 3, "time_remaining": 20}
        return {
            **self._referee("GAME_ERROR", number),
            "error_code": "E004",
            "error_description": "INVALID_PARITY_CHOICE",
            "error_name": "INVALID_PARITY_CHOICE",
            "error_detail": "this choice is not accepted; choose again",
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


def parity_of(drawn: int) -> str:
    return "odd" if drawn % 2 else "even"


def other_parity(choice: str) -> str:
    return "odd" if choice == "even" else "even"


def number_in(match_id: str) -> int:
    """Return the number of the round, and so of the match."""
    return int(match_id[1:].partition("M")[0])
