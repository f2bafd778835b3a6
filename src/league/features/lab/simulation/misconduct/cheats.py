"""Cheats of a simulated league: players that peek, hijack, impersonate or replay, and a rogue referee.

A cheat is a real player that sends forged requests besides. It knows the messages it was sent and everything public
(names, ids and endpoints), and it runs on the same machine as everybody else: its address proves nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from random import Random
from typing import TYPE_CHECKING, Any, Final

from league.features.lab.simulation.misconduct.misbehaviour import forgeries
from league.games import registry
from league.games.contract import SEATS
from league.protocol import timestamps
from league.protocol.signing.tokens import MANAGER

if TYPE_CHECKING:
    from league.features.lab.simulation.network import Heard
    from league.features.lab.simulation.node import Node
    from league.features.lab.simulation.world import World

KIND: Final = "cheating"
ROGUE: Final = "rogue"
ROGUE_PORT: Final = 8099
LOOK_S: Final = 2.0
"""How often a rogue referee looks whether the league has begun, and which match it could decide."""

Message = dict[str, Any]
"""A forged message (Any: JSON)."""


class Cheats:
    """All cheats of a league. `share` is that of the players that cheat, and of the leagues with a rogue referee."""

    def __init__(self, world: World, share: float) -> None:
        self.world = world
        self.dice = Random(f"{world.seed}/cheats")
        self._share = 0.0 if KIND in world.faults.excluded else share
        self._kinds: dict[str, str] = {}
        self.tokens: dict[tuple[str, str], str] = {}
        """The tokens that cheats got under the names of others, by cheat and victim."""
        self.rogue: Node | None = None

    def cast(self) -> None:
        """Decide who cheats."""
        for player in self.world.players:
            if self.dice.random() < self._share:
                self._kinds[player.name] = self.dice.choice(sorted(CHEATS))
                self.world.culprits.names.add(player.name)
        if self.dice.random() < self._share:
            self.rogue = self.world.add_referee(ROGUE, ROGUE_PORT, key=None)

    def start(self) -> None:
        """Begin to look for something to do."""
        if self.rogue is not None:
            self.world.agenda.after(LOOK_S, self._infiltrate)

    @property
    def impostors(self) -> set[str]:
        """The names of nodes that are referees without anybody's consent."""
        if self.rogue is None:
            return set()
        return {self.rogue.name}

    def invited(self, cheat: Node, invitation: Message) -> None:
        """Let a player cheat, if it is one that does: it was invited to a match."""
        kind = self._kinds.get(cheat.name)
        if kind is not None:
            self.world.faults.counts[kind] += 1
            CHEATS[kind](self, cheat, invitation)

    # --- what cheats know and do --------------------------------------------------------------------------------------

    def node_of(self, agent_id: str) -> Node | None:
        """Return the node of an agent: everybody's endpoint is public."""
        if agent_id == MANAGER:
            return self.world.manager
        member = self.world.league.ledger.roster.members.get(agent_id)
        if member is None:
            return None
        return self.world.listening(member.endpoint)

    def send(
        self,
        cheat: Node,
        to: str,
        message: Message,
        heard: Heard | None = None,
    ) -> None:
        """Send a forged message at some moment of the match."""
        send = partial(self._send, cheat, to, message, heard)
        self.world.agenda.after(self.dice.uniform(0.0, 4.0), send)

    def _send(
        self,
        cheat: Node,
        to: str,
        message: Message,
        heard: Heard | None,
    ) -> None:
        receiver = self.node_of(to)
        if receiver is not None and cheat.alive:
            self.world.network.inject(cheat, receiver, message, heard)

    # --- the rogue referee --------------------------------------------------------------------------------------------

    def _infiltrate(self) -> None:
        """Register as soon as the league has begun, under its own name and without the key, and invent results."""
        rogue = self.rogue
        league = self.world.league
        if rogue is None or league.is_finished:
            return
        if league.state != "WAITING_FOR_REGISTRATIONS":
            if not rogue.generation:
                self.world.faults.counts[ROGUE] += 1
                rogue.boot()
            self._invent(rogue)
        self.world.agenda.after(self.dice.uniform(0.5, 1.5) * LOOK_S, self._infiltrate)

    def _invent(self, rogue: Node) -> None:
        """Send an invented GAME_OVER to the players of a match that is under way, and its report to the manager."""
        matches = self.world.league.ledger.matches.values()
        open_matches = [match for match in matches if match.referee_id and match.result is None]
        if not open_matches:
            return
        match = self.dice.choice(open_matches)
        winner, loser = match.players
        shared = self._invented_envelope(rogue, match.match_id, match.attempt)
        choices = {winner: None, loser: None}
        details = {
            "drawn_number": None,
            "choices": choices,
            "status": "TECHNICAL_LOSS",
        }
        report = {
            **shared,
            "league_id": self.world.settings.league_id,
            "round_id": 1,
            "attempt": match.attempt,
            "message_type": "MATCH_RESULT_REPORT",
            "result": {
                "winner": winner,
                "score": {winner: 3, loser: 0},
                "details": details,
            },
        }
        game_over = {
            **shared,
            "message_type": "GAME_OVER",
            "game_result": {
                "winner_player_id": winner,
                "status": "TECHNICAL_LOSS",
                "drawn_number": None,
                "number_parity": None,
                "choices": choices,
                "reason": "invented",
                "attempt": match.attempt,
            },
            "reason": "invented",
        }
        self.send(rogue, MANAGER, report)
        for player in match.players:
            self.send(rogue, player, game_over)

    def _invented_envelope(self, rogue: Node, match_id: str, attempt: int) -> Message:
        agent_id = getattr(rogue.machine, "agent_id", "") or "REF99"
        return {
            "protocol": "league.v2",
            "sender": f"referee:{agent_id}",
            "timestamp": timestamps.write(self.world.agenda.now),
            "conversation_id": f"conv-{match_id.lower()}-{attempt}",
            "auth_token": "tok_invented",
            "match_id": match_id,
            "game_type": self.world.settings.game_type,
        }


# --- cheating players -------------------------------------------------------------------------------------------------


def _peek(cheats: Cheats, cheat: Node, invitation: Message) -> None:
    """Ask the opponent for its choice, as its referee would: without a token, with its own, with an invented one."""
    victim = str(invitation["opponent_id"])
    # It keeps its own conversation_id to itself, with which others could answer in its place.
    forged = invitation | {"conversation_id": _guessed_conversation(invitation)}
    invited = {
        **forged,
        "player_id": victim,
        "opponent_id": invitation["player_id"],
    }
    for token in (
        None,
        invitation.get("auth_token"),
        "tok_REF01_invented",
    ):
        for message in (invited, _call_for(victim, forged)):
            if token:
                cheats.send(cheat, victim, {**message, "auth_token": token})
            else:
                cheats.send(cheat, victim, _without_token(message))


def _call_for(victim: str, invitation: Message) -> Message:
    """Return the call of this game for a choice."""
    call = {
        "protocol": invitation["protocol"],
        "sender": invitation["sender"],
        "timestamp": invitation["timestamp"],
        "conversation_id": invitation["conversation_id"],
        "match_id": invitation["match_id"],
        "game_type": invitation["game_type"],
        "player_id": victim,
        "deadline": invitation["timestamp"],
    }
    game = registry.find(str(invitation["game_type"]))
    request = game.wire.move_request(game.rules.start(), SEATS[0]) if game is not None else None
    if request is not None:
        view = request["context"]
        assert isinstance(view, dict)
        call["message_type"] = "GAME_MOVE_CALL"
        call["move_request"] = {
            **request,
            "context": {**view, "turn": 1},
        }
        return call
    call["message_type"] = "CHOOSE_PARITY_CALL"
    call["context"] = {
        "opponent_id": invitation["player_id"],
        "round_id": invitation["round_id"],
        "your_standings": {
            "wins": 0,
            "losses": 0,
            "draws": 0,
            "points": 0,
        },
    }
    return call


def _hijack(cheats: Cheats, cheat: Node, invitation: Message) -> None:
    """Post its opponent's answers to the referee: with the token it was shown itself, and without one."""
    _post_answers(cheats, cheat, invitation)
    without_token = _without_token(invitation)
    _post_answers(cheats, cheat, without_token)
    without_token["conversation_id"] = _guessed_conversation(invitation)
    _post_answers(cheats, cheat, without_token)


def _guessed_conversation(invitation: Message) -> str:
    return f"conv-{invitation['match_id']}-{invitation.get('attempt', 1)}".lower()


def _post_answers(cheats: Cheats, cheat: Node, invitation: Message) -> None:
    for receiver, message in forgeries(invitation):
        # Forgeries always have a token, if only an invented one.
        if "auth_token" not in invitation:
            message = _without_token(message)
        cheats.send(cheat, receiver, message)


def _impersonate(cheats: Cheats, cheat: Node, invitation: Message) -> None:
    """Register as its opponent, as the referee and as somebody it may meet later, and speak with the tokens it gets."""
    opponent = str(invitation["opponent_id"])
    referee = str(invitation["sender"]).removeprefix("referee:")
    members = cheats.world.league.ledger.roster.members
    earlier_token = cheats.tokens.get((cheat.name, opponent))
    if earlier_token is not None:
        _post_answers(cheats, cheat, {**invitation, "auth_token": earlier_token})
    # A token of somebody it will meet is worth having early.
    somebody = cheats.dice.choice([agent_id for agent_id in members if agent_id != invitation["player_id"]])
    for victim in (opponent, referee, somebody):
        member = members.get(victim)
        if member is None:
            continue
        league_or_referee = "LEAGUE" if member.is_player else "REFEREE"
        request = {
            "protocol": "league.v2",
            "message_type": f"{league_or_referee}_REGISTER_REQUEST",
            "timestamp": invitation["timestamp"],
            "sender": f"{member.role}:{victim}",
            "conversation_id": "conv-again",
            f"{member.role}_meta": {
                "display_name": member.name.display_name,
                "version": "1.0.0",
                "game_types": [invitation["game_type"]],
                "contact_endpoint": member.endpoint,
            },
        }
        heard = partial(_speak_as, cheats, cheat, victim, invitation)
        cheats.send(cheat, MANAGER, request, heard)


def _speak_as(
    cheats: Cheats,
    cheat: Node,
    victim: str,
    invitation: Message,
    answer: Message,
) -> None:
    token = answer.get("auth_token")
    if isinstance(token, str):
        cheats.tokens[cheat.name, victim] = token
        _post_answers(cheats, cheat, {**invitation, "auth_token": token})


def _replay(cheats: Cheats, cheat: Node, invitation: Message) -> None:
    """Send reports again that were answered already, and reports of its own match with the tokens of others."""
    dice = cheats.dice
    token = invitation.get("auth_token")
    reports = cheats.world.network.acknowledged("MATCH_RESULT_REPORT")
    # As they were, and with the other winner.
    for report in dice.sample(reports, min(2, len(reports))):
        winner, loser = reversed(list(report["result"]["score"]))
        turned = {
            **report["result"],
            "winner": winner,
            "score": {winner: 3, loser: 0},
        }
        cheats.send(cheat, MANAGER, report)
        cheats.send(cheat, MANAGER, {**report, "result": turned})
    if reports:
        report = {
            **dice.choice(reports),
            "match_id": invitation["match_id"],
            "attempt": invitation.get("attempt", 1),
            "auth_token": token,
        }
        cheats.send(cheat, MANAGER, report)
    # A referee that was not given the match has a token too.
    with_token = [report for report in reports if "auth_token" in report]
    of_other_referees = [report for report in with_token if report["sender"] != invitation["sender"]]
    if of_other_referees:
        overheard = dice.choice(of_other_referees)
        report = {
            **forgeries(invitation)[0].message,
            "sender": overheard["sender"],
            "auth_token": overheard["auth_token"],
        }
        cheats.send(cheat, MANAGER, report)


def _without_token(message: Mapping[str, Any]) -> Message:
    return {name: value for name, value in message.items() if name != "auth_token"}


CHEATS: Final[Mapping[str, Callable[[Cheats, Node, Message], None]]] = {
    "peek": _peek,
    "hijack": _hijack,
    "impersonate": _impersonate,
    "replay": _replay,
}
