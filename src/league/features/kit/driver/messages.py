"""Writes the messages of the kit as manager and as referee, from the table messages.toml.

Tokens are the kit's own, and an attempt has its own token. Match ids differ from run to run, because players may
remember the matches of an earlier one. A player that declared a key signs for nobody but a caller with a derived token,
and under a promise that was announced to it. It gets both; all other players get tokens that mean nothing to them.
"""

from __future__ import annotations

import hashlib
import time
from dataclasses import dataclass, field
from typing import Any

from league.features.kit.driver import draws
from league.features.kit.driver.conventions import Object
from league.features.kit.driver.templates import table, with_words
from league.protocol import timestamps
from league.protocol.message.exchanges import EXCHANGES
from league.protocol.signing import tokens
from league.protocol.versions import KIT_LEAGUE as LEAGUE
from league.protocol.versions import PROTOCOL

__all__ = ["LEAGUE", "MessageWriter", "number_in"]
REFEREE = "REF01"
EVEN_ODD = "even_odd"
WAYS = ("ROUND_ANNOUNCEMENT", "START_MATCH", "MATCH_ASSIGNMENT")
"""The ways to tell a referee of a match."""
MANAGER_KEY = hashlib.sha256(b"the conformance kit signs nothing").hexdigest()
"""Stands where a manager has its public key: no player checks a signature of the kit."""


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
    """All tokens that the player was shown."""
    time_scale: float = 1.0

    @property
    def opponent_id(self) -> str:
        return "P03" if self.player_id == "P02" else "P02"

    def match_id(self, number: int) -> str:
        """Return the id of the match of a round; every round has one, because nobody plays twice in a round."""
        return f"R{number}M{self.match_number}"

    def write(self, name: str, number: int = 0, attempt: int = 1, **words: Any) -> Object:
        """Return a message of the table, about the round of this number and its match. `words` are those of the table
        that this message needs besides, such as `choice` (Any: any JSON)."""
        template = table("driver", "messages.toml")[name]
        kind = template.get("message_type", name)
        match_id = self.match_id(number)
        now = time.time()
        usual = {
            "league": LEAGUE,
            "number": number,
            "next": number + 1,
            "match": match_id,
            "attempt": attempt,
            "conversation": f"{LEAGUE}-{match_id}-{attempt}".lower(),
            "player": self.player_id,
            "opponent": self.opponent_id,
            "referee url": self.referee_url,
            "opponent url": self.opponent_url,
            "game": EVEN_ODD,
            "table": self._standings(2),
            "deadline": timestamps.write(now + EXCHANGES[kind].limit_s / self.time_scale),
        }
        message: Object = {
            "protocol": PROTOCOL,
            "message_type": kind,
            "timestamp": timestamps.write(now),
            "auth_token": self._token(template["sender"], match_id, attempt),
            **with_words(template, {**usual, **words}.get),
        }
        if kind == "GAME_INVITATION" and not self.names_player:
            del message["player_id"]
        if self.key and kind == "GAME_INVITATION":
            message["share_commitment"] = _promise(match_id, attempt)
        elif self.key and kind == "ROUND_ANNOUNCEMENT":
            promise = {"attempt": 1, "share_commitment": _promise(match_id, 1)}
            message["matches"] = [{**match, **promise} for match in message["matches"]]
        return message

    def _token(self, sender: str, match_id: str, attempt: int) -> str:
        """Return the sender's token: for a player with a key, the one that it expects of this sender."""
        token = self.manager_token
        about: Object = {}
        if sender != tokens.MANAGER:
            token = f"{self.referee_token}_{attempt}"
            about = {"match_id": match_id, "attempt": attempt}
        if self.key:
            name = sender.removeprefix("referee:")
            token = tokens.derive(self.key, name, self.player_id, LEAGUE, **about)
        self.shown_tokens.add(token)
        return token

    def _standings(self, players: int) -> list[Object]:
        """Return a table in which the opponent has won its match, and everybody else has lost."""
        names = [self.opponent_id, self.player_id, *(f"P{rank + 100}" for rank in range(3, players + 1))]
        return [
            {
                "rank": rank,
                "player_id": name,
                "display_name": f"Player {rank}",
                "played": 1,
                "wins": int(rank == 1),
                "draws": 0,
                "losses": int(rank != 1),
                "points": 3 * (rank == 1),
            }
            for rank, name in enumerate(names, 1)
        ]

    def standings(self, number: int, players: int) -> Object:
        """Return a longer table."""
        return self.write("LEAGUE_STANDINGS_UPDATE", number, table=self._standings(players))

    def game_over(self, number: int, choice: str = "even") -> Object:
        """Report that the opponent has won."""
        return self._decided(number, choice, 7 if choice == "even" else 4)

    def drawn_result(self, number: int, choice: str, seed: bytes) -> Object:
        """Report the result that follows from a seed."""
        message = self._decided(number, choice, draws.number(seed, self.match_id(number)))
        message["game_result"]["draw_seed"] = seed.hex()
        return message

    def _decided(self, number: int, choice: str, drawn: int) -> Object:
        """Report a match in which the opponent made the other choice."""
        parity = parity_of(drawn)
        winner = self.player_id if choice == parity else self.opponent_id
        other = other_parity(choice)
        words: Object = {"drawn": drawn, "parity": parity, "winner": winner, "choice": choice, "other choice": other}
        return self.write("GAME_OVER", number, **words)


def _promise(match_id: str, attempt: int) -> str:
    """Return the manager's promise for an attempt, as far as anybody can tell."""
    return hashlib.sha256(f"{match_id}|{attempt}".encode()).hexdigest()


def parity_of(drawn: int) -> str:
    return "odd" if drawn % 2 else "even"


def other_parity(choice: str) -> str:
    return "odd" if choice == "even" else "even"


def number_in(match_id: str) -> int:
    """Return the number of the round, and so of the match."""
    return int(match_id[1:].partition("M")[0])
