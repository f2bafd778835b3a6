"""A player that declared a key, keeps every clause about signing, and has a switch for each way to break one."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from league.features.kit.driver.messages import MANAGER_KEY
from league.protocol.errors import PeerError
from league.protocol.signing import tokens
from league.protocol.signing.choices import ChoicesStatement, chained
from league.protocol.signing.keys import SigningKey, sign
from tests.kit.players import Conforming, Registration
from tests.support.peer import Received
from tests.support.player_keys import key_of
from tests.support.scripts import Object

LEAGUE = "conformance"
REFEREE = "REF01"


KEY = key_of("Ada")


@dataclass
class Signing(Conforming):
    """Signs its choices, and asks about its matches after each round."""

    registration: Registration = field(default_factory=lambda: Registration(meta={"public_key": KEY.public}))
    signs: Callable[[ChoicesStatement], ChoicesStatement] = lambda statement: statement
    """Changes the statement before it is signed."""
    writes: Callable[[str], str] = lambda signature: signature
    """Changes the signature after it is signed."""
    key: SigningKey = KEY
    derives: bool = True
    """Shows referees derived tokens."""
    gives_in: bool = False
    """Chooses anew when a referee calls a legal choice wrong."""
    invitations: dict[str, Object] = field(default_factory=dict)
    """By match: the invitation to its newest attempt."""
    choices: dict[tuple[str, int], Object] = field(default_factory=dict)
    """By match and attempt: what it chose, and its signature."""

    def enrol(self, manager: str) -> None:
        self._manager = manager
        super().enrol(manager)

    # --- answering ----------------------------------------------------------------------------------------------------

    def _mistake(self, request: Received) -> PeerError | None:
        error = super()._mistake(request)
        message = request.message
        if error is not None or request.kind != "GAME_INVITATION":
            return error
        earlier = self.invitations.get(str(message["match_id"]))
        is_same_attempt = earlier is not None and earlier["attempt"] == message.get("attempt")
        if earlier is None or not is_same_attempt or not earlier.get("draw_commitment"):
            return None
        if earlier["draw_commitment"] != message.get("draw_commitment"):
            return PeerError("E023", "this attempt has another draw_commitment")
        return None

    def honest(self, request: Received) -> Object:
        answer = super().honest(request)
        message = request.message
        if request.kind == "GAME_INVITATION":
            answer |= self._joined(message)
        elif request.kind in ("CHOOSE_PARITY_CALL", "GAME_MOVE_CALL"):
            answer |= self._chosen(message, answer)
        elif request.kind == "GAME_ERROR" and self.gives_in:
            self.choice = "odd" if self.choice == "even" else "even"
            self.choices.pop((message["match_id"], 1), None)
        elif request.kind == "ROUND_COMPLETED":
            self.begin(self._ask())
        invitation = self.invitations.get(str(message.get("match_id")))
        if invitation is not None and self.derives:
            answer["auth_token"] = tokens.derive(
                tokens.deriver(self.token),
                self.agent_id,
                REFEREE,
                LEAGUE,
                invitation["match_id"],
                invitation["attempt"],
            )
        return answer

    def _joined(self, message: Object) -> Object:
        if message.get("attempt") is not None:
            self.invitations[message["match_id"]] = message
        return {}

    def _chosen(self, message: Object, answer: Object) -> Object:
        """The answer to a call: what it chose when it was first asked, with the same signature."""
        invitation = self.invitations.get(message["match_id"])
        if invitation is None:
            return {}
        place = (message["match_id"], invitation["attempt"])
        if place not in self.choices:
            name = "parity_choice" if "parity_choice" in answer else "move_data"
            choice = answer[name] if name == "parity_choice" else answer[name]["choice"]
            views = chained(None, message.get("move_request"))
            signature = self._signature(invitation, choice, views)
            self.choices[place] = {name: answer[name], "signature": signature}
        return self.choices[place]

    def _signature(self, invitation: Object, choice: str, views: str | None) -> str:
        statement = ChoicesStatement(
            manager_key=MANAGER_KEY,
            league_id=LEAGUE,
            match_id=invitation["match_id"],
            attempt=invitation["attempt"],
            game_type=invitation["game_type"],
            player_id=self.agent_id,
            opponent_id=invitation["opponent_id"],
            draw_commitment=invitation.get("draw_commitment"),
            share_commitment=invitation.get("share_commitment", ""),
            choices=(choice,),
            views=views,
        )
        return self.writes(sign(self.key, self.signs(statement)))

    async def _ask(self) -> None:
        """Ask for its matches; register again if the manager no longer knows its token."""
        query: dict[str, Any] = {"message_type": "LEAGUE_QUERY", "league_id": LEAGUE, "query_type": "GET_PLAYER_STATS"}
        sent = await self._call(self._manager, query)
        if "error" in sent.json and self.registration.comes_back:
            again = await asyncio.to_thread(self._register, self._manager)
            self.token = again["result"]["auth_token"]
