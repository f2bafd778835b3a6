"""A player that declared receipts, keeps every clause about them, and has a switch for each way to break one."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from league.games import draw
from league.protocol import tokens
from league.protocol.errors import PeerError
from league.protocol.receipts import DECLINED, NOTHING, SCHEME, Signed, receipt_key, seen_in, sign
from tests.kit.players import GAMES, Conforming, Registration
from tests.support.peer import Received
from tests.support.scripts import Object

LEAGUE = "conformance"
REFEREE = "REF01"
PARITIES = ("even", "odd")


@dataclass
class Signing(Conforming):
    """Signs its choices, and protests when it knows better."""

    registration: Registration = field(default_factory=lambda: Registration(meta={"receipts": SCHEME}))
    signs: Callable[[Signed], Signed] = lambda signed: signed
    """Changes the statement before it is signed."""
    writes: Callable[[str], str] = lambda receipt: receipt
    """Changes the receipt after it is signed."""
    key_of: Callable[[str, bytes], bytes] = lambda _, signing_key: signing_key
    """The key that it signs with: made of K and RK."""
    derives: bool = True
    """Shows referees derived tokens."""
    gives_in: bool = False
    """Chooses anew when a referee calls a legal choice wrong."""
    signs_declining: bool = True
    overlooks: frozenset[str] = frozenset()
    """What it does not notice: choice, seed and winner in GAME_OVER, and the table after a round."""
    protest: Mapping[str, object] = field(default_factory=dict)
    """What it changes in the parameters of its protests."""
    invitations: dict[str, Object] = field(default_factory=dict)
    """By match: the invitation to its newest attempt."""
    choices: dict[tuple[str, int], Object] = field(default_factory=dict)
    """By match and attempt: what it chose, and its receipt."""
    winners: dict[str, str] = field(default_factory=dict)
    """By match, as GAME_OVER said."""

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
        elif request.kind == "GAME_OVER":
            self._check(message)
        elif request.kind == "ROUND_COMPLETED" and "table" not in self.overlooks:
            self.begin(self._check_table())
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
        if message.get("attempt") is None:
            return {}
        self.invitations[message["match_id"]] = message
        if message["game_type"] in GAMES:
            return {}
        declined: Object = {"accept": False}
        if self.signs_declining:
            declined["receipt"] = self._receipt(message, 0, NOTHING, DECLINED)
        return declined

    def _chosen(self, message: Object, answer: Object) -> Object:
        """The answer to a call: what it chose when it was first asked, with the same receipt."""
        invitation = self.invitations.get(message["match_id"])
        if invitation is None:
            return {}
        place = (message["match_id"], invitation["attempt"])
        if place not in self.choices:
            name = "parity_choice" if "parity_choice" in answer else "move_data"
            choice = answer[name] if name == "parity_choice" else answer[name]["choice"]
            seen = seen_in(message.get("move_request"))
            receipt = self._receipt(invitation, message.get("turn", 1), seen, choice)
            self.choices[place] = {name: answer[name], "receipt": receipt}
        return self.choices[place]

    def _receipt(self, invitation: Object, turn: int, seen: str, choice: str) -> str:
        signed = Signed(
            LEAGUE,
            invitation["match_id"],
            invitation["attempt"],
            invitation["game_type"],
            self.agent_id,
            invitation["opponent_id"],
            turn,
            invitation.get("draw_commitment") or NOTHING,
            seen,
        )
        key = tokens.deriver(self.token)
        signing_key = receipt_key(key, self.agent_id, LEAGUE, signed.match_id, signed.attempt)
        return self.writes(sign(self.key_of(key, signing_key), self.signs(signed), choice))

    # --- protesting ---------------------------------------------------------------------------------------------------

    def _check(self, message: Object) -> None:
        """Compare a result with what it knows."""
        match_id = message["match_id"]
        result = message["game_result"]
        choice = self.choices.get((match_id, result["attempt"]))
        if choice is None or result["status"] == "TECHNICAL_LOSS":
            return
        self.winners[match_id] = result["winner_player_id"]
        invitation = self.invitations[match_id]
        promised = invitation.get("draw_commitment")
        seed = bytes.fromhex(result.get("draw_seed") or "")
        parity = PARITIES[result["drawn_number"] % 2]
        contradictions = {
            "choice": result["choices"][self.agent_id] != choice["parity_choice"],
            "seed": bool(promised) and draw.commitment(seed, LEAGUE, match_id, result["attempt"]) != promised,
            "winner": result["choices"][result["winner_player_id"]] != parity,
        }
        for name, is_wrong in contradictions.items():
            if is_wrong and name not in self.overlooks:
                self.begin(self._protest(invitation, choice, f"the {name} is wrong"))
                return

    async def _check_table(self) -> None:
        """Compare the manager's account of its matches with what referees said. It does not look at the table."""
        query: dict[str, Any] = {"message_type": "LEAGUE_QUERY", "league_id": LEAGUE, "query_type": "GET_PLAYER_STATS"}
        sent = await self._call(self._manager, query)
        for stored in sent.json.get("result", {}).get("data", {}).get("matches", []):
            match_id = stored["match_id"]
            outcome = "WIN" if self.winners.get(match_id) == self.agent_id else "LOSS"
            if match_id in self.winners and stored["outcome"] != outcome:
                choice = self.choices[match_id, 1]
                await self._protest(self.invitations[match_id], choice, "the table is wrong")

    async def _protest(self, invitation: Object, choice: Object, why: str) -> None:
        claim = {"turn": 1, "choice": choice["parity_choice"], "receipt": choice["receipt"]}
        params = {
            "match_id": invitation["match_id"],
            "attempt": invitation["attempt"],
            "why": why,
            "receipts": [claim],
            "draw_commitment": invitation.get("draw_commitment"),
            **self.protest,
        }
        query: dict[str, Any] = {"message_type": "LEAGUE_QUERY", "league_id": LEAGUE, "query_type": "PROTEST"}
        sent = await self._call(self._manager, {**query, "query_params": params})
        if "error" in sent.json and self.registration.comes_back:
            again = await asyncio.to_thread(self._register, self._manager)
            self.token = again["result"]["auth_token"]
