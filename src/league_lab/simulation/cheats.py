"""Cheats of a simulated league: players that peek, hijack, impersonate or replay, and a rogue referee.

A cheat is a real player that sends forged requests besides. It has what it was sent, what is public (names, ids and
endpoints), and runs on the same machine as everybody else: its address proves nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from random import Random
from typing import TYPE_CHECKING, Any, Final

from league.games import registry
from league.games.contract import SEATS
from league.protocol import timestamps
from league.protocol.tokens import MANAGER
from league_lab.simulation.misbehaviour import forgeries

if TYPE_CHECKING:
    from league_lab.simulation.node import Node
    from league_lab.simulation.world import World

KIND: Final = "cheating"
ROGUE: Final = "rogue"
ROGUE_PORT: Final = 8099
LOOK_S: Final = 2.0
"""How often a rogue referee looks whether the league has begun, and what it could decide."""

Message = dict[str, Any]
"""A forged message (Any: JSON)."""


class Cheats:
    """Who cheats, and how. `share`: of the players, and of the leagues with a rogue referee."""

    def __init__(self, world: World, share: float) -> None:
        self.world = world
        self.dice = Random(f"{world.seed}/cheats")
        self._share = 0.0 if KIND in world.faults.excluded else share
        self._kinds: dict[str, str] = {}
        self.tokens: dict[tuple[str, str], str] = {}
        """What cheats got under the names of others, by cheat and victim."""
        self.rogue: Node | None = None

    def cast(self) -> None:
        """Decide who cheats."""
        for player in self.world.players:
            if self.dice.random() < self._share:
                self._kinds[player.name] = self.dice.choice(sorted(CHEATS))
                self.world.faulted.add(player.name)
        if self.dice.random() < self._share:
            self.rogue = self.world.add_referee(ROGUE, ROGUE_PORT, key=None)

    def start(self) -> None:
        if self.rogue is not None:
            self.world.agenda.after(LOOK_S, self._infiltrate)

    @property
    def impostors(self) -> set[str]:
        """The nodes of referees that nobody let in on purpose."""
        return {self.rogue.name} if self.rogue is not None else set()

    def invited(self, cheat: Node, invitation: Message) -> None:
        """A player was invited to a match: a cheat now knows when it is worth its while."""
        kind = self._kinds.get(cheat.name)
        if kind is not None:
            self.world.faults.seen[kind] += 1
            CHEATS[kind](self, cheat, invitation)

    # --- what cheats know and do --------------------------------------------------------------------------------------

    def node_of(self, agent_id: str) -> Node | None:
        """Everybody's endpoint is public."""
        if agent_id == MANAGER:
            return self.world.manager
        member = self.world.league.ledger.roster.members.get(agent_id)
        return self.world.listening(member.endpoint) if member is not None else None

    def send(self, cheat: Node, to: str, message: Message, heard: Callable[[Message], None] | None = None) -> None:
        """At some moment of the match."""
        self.world.agenda.after(self.dice.uniform(0.0, 4.0), partial(self._send, cheat, to, message, heard))

    def _send(self, cheat: Node, to: str, message: Message, heard: Callable[[Message], None] | None) -> None:
        receiver = self.node_of(to)
        if receiver is not None and cheat.alive:
            self.world.network.inject(cheat, receiver, message, heard)

    # --- the rogue referee --------------------------------------------------------------------------------------------

    def _infiltrate(self) -> None:
        """Registers as soon as the league has begun, under its own name and without the key, and invents results."""
        rogue, league = self.rogue, self.world.league
        if rogue is None or league.is_finished:
            return
        if league.state != "WAITING_FOR_REGISTRATIONS":
            if not rogue.generation:
                self.world.faults.seen[ROGUE] += 1
                rogue.boot()
            self._invent(rogue)
        self.world.agenda.after(self.dice.uniform(0.5, 1.5) * LOOK_S, self._infiltrate)

    def _invent(self, rogue: Node) -> None:
        """GAME_OVER to the players of a match that is under way, and its report."""
        ledger = self.world.league.ledger
        open_matches = [one for one in ledger.matches.values() if one.referee_id and one.result is None]
        if not open_matches:
            return
        match = self.dice.choice(open_matches)
        report, over = _invented(match.match_id, match.attempt, match.players, self.world, rogue)
        self.send(rogue, MANAGER, report)
        for player in match.players:
            self.send(rogue, player, over)


def _invented(
    match_id: str, attempt: int, players: tuple[str, str], world: World, rogue: Node
) -> tuple[Message, Message]:
    winner, loser = players
    agent_id = getattr(rogue.machine, "agent_id", "") or "REF99"
    shared = {
        "protocol": "league.v2",
        "sender": f"referee:{agent_id}",
        "timestamp": timestamps.write(world.agenda.now),
        "conversation_id": f"conv-{match_id.lower()}-{attempt}",
        "auth_token": "tok_invented",
        "match_id": match_id,
        "game_type": world.settings.game_type,
    }
    details = {"drawn_number": None, "choices": {winner: None, loser: None}, "status": "TECHNICAL_LOSS"}
    result = {"winner": winner, "score": {winner: 3, loser: 0}, "details": details}
    league = {"league_id": world.settings.league_id, "round_id": 1, "attempt": attempt}
    ended = {
        "winner_player_id": winner, "status": "TECHNICAL_LOSS", "drawn_number": None, "number_parity": None,
        "choices": {winner: None, loser: None}, "reason": "invented", "attempt": attempt,
    }  # fmt: skip
    report = {**shared, **league, "message_type": "MATCH_RESULT_REPORT", "result": result}
    return report, {**shared, "message_type": "GAME_OVER", "game_result": ended, "reason": "invented"}


# --- cheating players -------------------------------------------------------------------------------------------------


def _peek(cheats: Cheats, cheat: Node, invitation: Message) -> None:
    """Asks the opponent for its choice, as its referee would: with no token, with its own, with an invented one. It
    keeps its conversation_id to itself: whoever knew that could answer in its place."""
    victim = str(invitation["opponent_id"])
    forged = invitation | {"conversation_id": _guessed_conversation(invitation)}
    invited = {**forged, "player_id": victim, "opponent_id": invitation["player_id"]}
    for token in (None, invitation.get("auth_token"), "tok_REF01_invented"):
        for asked in (invited, _call_for(victim, forged)):
            cheats.send(cheat, victim, asked | {"auth_token": token} if token else _without_token(asked))


def _call_for(victim: str, invitation: Message) -> Message:
    """The call of this game for a choice."""
    shared = {
        name: invitation[name]
        for name in ("protocol", "sender", "timestamp", "conversation_id", "match_id", "game_type")
    } | {"player_id": victim, "deadline": invitation["timestamp"]}
    game = registry.find(str(invitation["game_type"]))
    request = game.wire.move_request(game.rules.start(), SEATS[0]) if game is not None else None
    if request is not None:
        view = request["context"]
        assert isinstance(view, dict)
        return {**shared, "message_type": "GAME_MOVE_CALL", "move_request": {**request, "context": {**view, "turn": 1}}}
    context = {"opponent_id": invitation["player_id"], "round_id": invitation["round_id"],
               "your_standings": {"wins": 0, "losses": 0, "draws": 0, "points": 0}}  # fmt: skip
    return {**shared, "message_type": "CHOOSE_PARITY_CALL", "context": context}


def _hijack(cheats: Cheats, cheat: Node, invitation: Message) -> None:
    """Posts its opponent's answers to the referee: with the token it was shown itself, and with none."""
    _post_answers(cheats, cheat, invitation)
    _post_answers(cheats, cheat, _without_token(invitation))
    guessed = {"conversation_id": _guessed_conversation(invitation)}
    _post_answers(cheats, cheat, _without_token(invitation) | guessed)


def _guessed_conversation(invitation: Message) -> str:
    return f"conv-{invitation['match_id']}-{invitation.get('attempt', 1)}".lower()


def _post_answers(cheats: Cheats, cheat: Node, invitation: Message) -> None:
    for to, forged in forgeries(invitation):
        cheats.send(cheat, to, forged if "auth_token" in invitation else _without_token(forged))


def _impersonate(cheats: Cheats, cheat: Node, invitation: Message) -> None:
    """Registers under the name and endpoint of its opponent, of the referee and of somebody it may meet later, and
    speaks with what it gets, and with what it got before."""
    opponent, members = str(invitation["opponent_id"]), cheats.world.league.ledger.roster.members
    earlier = cheats.tokens.get((cheat.name, opponent))
    if earlier is not None:
        _post_answers(cheats, cheat, {**invitation, "auth_token": earlier})
    somebody = cheats.dice.choice([one for one in members if one != invitation["player_id"]])
    for victim in (opponent, str(invitation["sender"]).removeprefix("referee:"), somebody):
        member = members.get(victim)
        if member is None:
            continue
        word = "LEAGUE" if member.is_player else "REFEREE"
        meta = {
            "display_name": member.display_name,
            "version": "1.0.0",
            "game_types": [invitation["game_type"]],
            "contact_endpoint": member.endpoint,
        }
        request = {
            "protocol": "league.v2", "message_type": f"{word}_REGISTER_REQUEST", "timestamp": invitation["timestamp"],
            "sender": f"{member.role}:{victim}", "conversation_id": "conv-again", f"{member.role}_meta": meta,
        }  # fmt: skip
        cheats.send(cheat, MANAGER, request, partial(_speak_as, cheats, cheat, victim, invitation))


def _speak_as(cheats: Cheats, cheat: Node, victim: str, invitation: Message, answer: Message) -> None:
    token = answer.get("auth_token")
    if isinstance(token, str):
        cheats.tokens[cheat.name, victim] = token
        _post_answers(cheats, cheat, {**invitation, "auth_token": token})


def _replay(cheats: Cheats, cheat: Node, invitation: Message) -> None:
    """Sends reports again that were answered already, as they were and with another winner, and reports of its match:
    with the token it was shown, and as a referee that was not given the match."""
    reports = cheats.world.network.acknowledged("MATCH_RESULT_REPORT")
    for report in cheats.dice.sample(reports, min(2, len(reports))):
        score = report["result"]["score"]
        winner, loser = reversed(list(score))
        turned = {**report["result"], "winner": winner, "score": {winner: 3, loser: 0}}
        cheats.send(cheat, MANAGER, report)
        cheats.send(cheat, MANAGER, {**report, "result": turned})
    if reports:
        own = {"match_id": invitation["match_id"], "attempt": invitation.get("attempt", 1)}
        cheats.send(cheat, MANAGER, cheats.dice.choice(reports) | own | {"auth_token": invitation.get("auth_token")})
    others = [one for one in reports if one["sender"] != invitation["sender"]]
    if others:
        overheard, (_, report) = cheats.dice.choice(others), forgeries(invitation)[0]
        cheats.send(cheat, MANAGER, report | {name: overheard[name] for name in ("sender", "auth_token")})


def _without_token(message: Mapping[str, Any]) -> Message:
    return {name: value for name, value in message.items() if name != "auth_token"}


CHEATS: Final[Mapping[str, Callable[[Cheats, Node, Message], None]]] = {
    "peek": _peek,
    "hijack": _hijack,
    "impersonate": _impersonate,
    "replay": _replay,
}
