"""One match played honestly by hand, with all that referee, players and manager write down and say."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from league import events as e
from league.games import even_odd, rock_paper_scissors
from league.games.contract import SEATS
from league.promises.evidence import Exchanged
from league.protocol.timestamps import write
from league.referee import draw

Object = dict[str, Any]
LEAGUE = "spring"
LM = "league_manager"
PLAYERS = ("P01", "P02", "P03", "P04")
REFEREES = ("REF01", "REF02")
CHOICES = {"P01": "even", "P02": "odd", "P03": "even", "P04": "odd"}
SHAPES = {"P01": "rock", "P02": "paper", "P03": "scissors", "P04": "rock"}


@dataclass(frozen=True)
class Script:
    """What does not go the usual way, by match id or agent."""

    game_type: str = "even_odd"
    silent: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Match to the players that never answer the invitation."""
    mute: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Match to the players that join and never choose."""
    slips: frozenset[str] = frozenset()
    """Matches in which the second player first chooses nonsense."""
    lost: frozenset[str] = frozenset()
    """Matches whose first referee dies before it reports."""
    voided: frozenset[str] = frozenset()
    """Matches the operator voids after their round; they are played again."""
    withdrawn: str | None = None
    """A player withdrawn after the first round."""
    rounds: int | None = None
    """Only the first so many rounds."""


@dataclass
class Match:
    """A match on its way."""

    match_id: str
    round_id: int
    players: tuple[str, str]
    referee: str
    attempt: int = 1

    @property
    def seed(self) -> str:
        return hashlib.sha256(f"{self.match_id}/{self.attempt}".encode()).hexdigest()

    @property
    def conversation(self) -> str:
        return f"conv-{self.match_id.lower()}-{self.attempt}"

    @property
    def key(self) -> dict[str, Any]:
        return {"match_id": self.match_id, "attempt": self.attempt}


class Recorder:
    """The journals of everybody, and the calls between them."""

    def __init__(self, script: Script) -> None:
        self.script = script
        self.now = 1_000.0
        self.manager: list[e.Event] = []
        self.referees: dict[str, list[e.Event]] = {one: [] for one in REFEREES}
        self.players: dict[str, list[e.Event]] = {one: [] for one in PLAYERS}
        self.traffic: list[Exchanged] = []

    def happened(self, journal: list[e.Event], kind: type[e.Event], **fields: Any) -> None:
        journal.append(kind(at=self.now, **fields))

    def envelope(self, kind: str, sender: str, conversation: str) -> Object:
        word = sender if sender == LM else f"{'referee' if sender in REFEREES else 'player'}:{sender}"
        return {
            "message_type": kind,
            "protocol": "league.v2",
            "sender": word,
            "timestamp": write(self.now),
            "conversation_id": conversation,
        }

    def call(self, sender: str, to: str, kind: str, body: Object, answer: Object | None, **more: Any) -> None:
        """A call, with its answer a tenth of a second later; None: it never came."""
        conversation = body.pop("conversation", f"conv-{kind.lower()}")
        message = {**self.envelope(kind, sender, conversation), **body}
        seen: dict[str, Any] = {"delivered": 1, "answers": 1, "outcome": "answered"}
        if answer is None:
            seen = {"delivered": 0, "answers": 0, "outcome": "lost"}
        else:
            seen["answered_at"] = self.now + 0.1
            seen["answer"] = {**self.envelope(answer["message_type"], to, conversation), **answer}
        self.traffic.append(Exchanged(self.now, sender, to, message, **{**seen, **more}))
        self.now += 0.2


class Matches(Recorder):
    """How matches are played."""

    def match(self, match: Match) -> tuple[str | None, bool]:
        """The winner, and whether it was a technical loss."""
        journal = self.referees[match.referee]
        self.happened(journal, e.MatchBegun, **match.key)
        absent = self.script.silent.get(match.match_id, ())
        self.invite(journal, match, absent)
        made, faults = ([], absent) if absent else self.choose(journal, match)
        winner = self.decide(journal, match, made, faults)
        return winner, bool(faults)

    def take(self, match: Match) -> None:
        record = {"wins": 0, "losses": 0, "draws": 0, "points": 0}
        self.happened(
            self.referees[match.referee],
            e.MatchTaken,
            league_id=LEAGUE,
            round_id=match.round_id,
            game_type=self.script.game_type,
            players=match.players,
            endpoints=("http://10.0.0.1:8000/mcp", "http://10.0.0.2:8000/mcp"),
            records=(record, record),
            seed=match.seed,
            **match.key,
        )

    def invite(self, journal: list[e.Event], match: Match, absent: Sequence[str]) -> None:
        for player, other, role in zip(match.players, match.players[::-1], ("PLAYER_A", "PLAYER_B"), strict=True):
            body = {
                "conversation": match.conversation,
                "league_id": LEAGUE,
                "round_id": match.round_id,
                "game_type": self.script.game_type,
                "role_in_match": role,
                "opponent_id": other,
                "player_id": player,
                "draw_commitment": draw.commitment(bytes.fromhex(match.seed), LEAGUE, match.match_id, match.attempt),
                **match.key,
            }
            if player in absent:
                self.call(match.referee, player, "GAME_INVITATION", body, None)
                self.fault(journal, match, player, "join", 0)
                continue
            self.happened(
                self.players[player],
                e.InvitationAnswered,
                player_id=player,
                game_type=self.script.game_type,
                opponent_id=other,
                role=role,
                accepted=True,
                round_id=match.round_id,
                referee_id=match.referee,
                conversation_id=match.conversation,
                **match.key,
            )
            self.call(match.referee, player, "GAME_INVITATION", body, self.joins(match, player))
            self.happened(journal, e.PlayerJoined, player_id=player, **match.key)

    def joins(self, match: Match, player: str) -> Object:
        ack = {"message_type": "GAME_JOIN_ACK", "match_id": match.match_id, "player_id": player}
        return {**ack, "arrival_timestamp": write(self.now), "accept": True}

    def fault(self, journal: list[e.Event], match: Match, player: str, phase: str, turn: int) -> None:
        why = {"code": "E001", "detail": "no answer in time"}
        self.happened(journal, e.PlayerFaulted, player_id=player, phase=phase, turn=turn, **why, **match.key)
        error: Object = {
            "conversation": match.conversation,
            "match_id": match.match_id,
            "error_code": "E001",
            "affected_player": player,
            "player_id": player,
        }
        ack = {"message_type": "GAME_ERROR_ACK", "status": "ACKNOWLEDGED"}
        self.call(match.referee, player, "GAME_ERROR", error, ack)

    def choose(self, journal: list[e.Event], match: Match) -> tuple[list[dict[str, str]], tuple[str, ...]]:
        """The choices of each turn, and who failed to make one."""
        made: list[dict[str, str]] = []
        faults: tuple[str, ...] = ()
        for turn in self.turns(match):
            chosen: dict[str, str] = {}
            # The second player is asked before and after the first has chosen.
            self.ask(match, match.players[1], turn, made)
            for player in match.players:
                self.ask(match, player, turn, made)
                if player in self.script.mute.get(match.match_id, ()):
                    faults = (*faults, player)
                    self.fault(journal, match, player, "move", turn)
                    continue
                if player == match.players[1] and match.match_id in self.script.slips:
                    self.slip(journal, match, player, turn, made)
                chosen[player] = self.choice(player)
                move = {"turn": turn, "choice": chosen[player]}
                self.happened(self.players[player], e.ChoiceGiven, referee_id=match.referee, **move, **match.key)
                self.now += 1
                self.happened(journal, e.MoveMade, player_id=player, **move, **match.key)
            made.append(chosen)
            if faults:
                break
        return made, faults

    def turns(self, match: Match) -> Sequence[int]:
        """Everybody always shows the same shape: two throws decide, or three draws."""
        if self.script.game_type == "even_odd":
            return (1,)
        return (1, 2, 3) if SHAPES[match.players[0]] == SHAPES[match.players[1]] else (1, 2)

    def choice(self, player: str) -> str:
        return (CHOICES if self.script.game_type == "even_odd" else SHAPES)[player]

    def ask(self, match: Match, player: str, turn: int, made: Sequence[Mapping[str, str]]) -> None:
        """A call whose answer is recorded as a mere acknowledgement: the choice itself is in the journals."""
        body: Object = {
            "conversation": match.conversation,
            "match_id": match.match_id,
            "player_id": player,
            "game_type": self.script.game_type,
            "deadline": write(self.now + 30),
        }
        other = match.players[1 - match.players.index(player)]
        if self.script.game_type == "even_odd":
            standings = {"wins": 0, "losses": 0, "draws": 0, "points": 0}
            body["context"] = {"opponent_id": other, "round_id": match.round_id, "your_standings": standings}
            answer: Object = {"message_type": "CHOOSE_PARITY_RESPONSE", "parity_choice": CHOICES[player]}
            kind = "CHOOSE_PARITY_CALL"
        else:
            throws = [{"you": one[player], "opponent": one[other]} for one in made]
            context = {"turn": turn, "best_of": 3, "throws": throws}
            options = {"move_type": "throw", "valid_options": ["rock", "paper", "scissors"], "context": context}
            body["move_request"] = options
            answer = {
                "message_type": "GAME_MOVE_RESPONSE",
                "move_data": {"move_type": "throw", "choice": SHAPES[player]},
            }
            kind = "GAME_MOVE_CALL"
        self.call(match.referee, player, kind, body, {**answer, "match_id": match.match_id, "player_id": player})

    def slip(
        self, journal: list[e.Event], match: Match, player: str, turn: int, made: Sequence[Mapping[str, str]]
    ) -> None:
        """A nonsensical choice, its correction called for, in the time in which the opponent's choice is secret."""
        given = {"turn": turn, "referee_id": match.referee}
        self.happened(self.players[player], e.ChoiceGiven, choice="maybe", **given, **match.key)
        why = {"phase": "move", "turn": turn, "code": "E004", "detail": "'maybe' is neither", "left": 2}
        self.happened(journal, e.WrongAnswer, player_id=player, **why, **match.key)
        error: Object = {
            "conversation": match.conversation,
            "match_id": match.match_id,
            "error_code": "E004",
            "affected_player": player,
            "player_id": player,
            "context": {"invalid_choice": "maybe", "valid_choices": ["even", "odd"]},
        }
        self.happened(self.players[player], e.ChoiceRefused, code="E004", **given, **match.key)
        self.call(
            match.referee, player, "GAME_ERROR", error, {"message_type": "GAME_ERROR_ACK", "status": "ACKNOWLEDGED"}
        )
        self.ask(match, player, turn, made)

    def decide(
        self, journal: list[e.Event], match: Match, made: list[dict[str, str]], faults: Sequence[str]
    ) -> str | None:
        number = None
        if self.script.game_type == "even_odd" and not faults:
            number = draw.number(bytes.fromhex(match.seed), LEAGUE, match.match_id, match.attempt)
            self.happened(journal, e.NumberDrawn, number=number, **match.key)
        winner = self.winner(match, made, number, faults)
        status = "TECHNICAL_LOSS" if faults else "WIN" if winner else "DRAW"
        points = {player: 3 if player == winner else int(status == "DRAW") for player in match.players}
        details = self.details(match, made, number, status, faults)
        shown = {**details, "winner_player_id": winner, "reason": "as it happened", "attempt": match.attempt}
        shown.pop("faults", None)
        told = {"status": status, "winner": winner, "points": points, "reason": "as it happened"}
        self.happened(journal, e.MatchDecided, **told, game_result=shown, details=details, **match.key)
        for player in match.players:
            self.game_over(match, player, shown)
        self.report(journal, match, status, winner, points, details)
        return winner

    def winner(self, match: Match, made: list[dict[str, str]], number: int | None, faults: Sequence[str]) -> str | None:
        if faults:
            return next((player for player in match.players if player not in faults), None)
        game = even_odd.GAME if number is not None else rock_paper_scissors.GAME
        state = game.rules.start()
        for turn in made:
            state = game.rules.play(state, {seat: turn[match.players[seat]] for seat in SEATS})
        if number is not None:
            state = game.rules.draw(state, number)
        outcome = game.rules.outcome(state)
        assert outcome is not None
        return None if outcome.winner is None else match.players[outcome.winner]

    def details(
        self, match: Match, made: list[dict[str, str]], number: int | None, status: str, faults: Sequence[str]
    ) -> Object:
        last = {player: choice for turn in made for player, choice in turn.items()}
        details: Object = {
            "status": status,
            "choices": {player: last.get(player) for player in match.players},
            "draw_seed": match.seed,
        }
        if self.script.game_type == "even_odd":
            parity = None if number is None else ("even", "odd")[number % 2]
            details |= {"drawn_number": number, "number_parity": parity}
        else:
            details["moves"] = made
        if faults:
            details["faults"] = dict.fromkeys(faults, "E001")
        return details

    def game_over(self, match: Match, player: str, shown: Object) -> None:
        ended = {"game_type": self.script.game_type, "opponent_id": "", "status": shown["status"]}
        ended["referee_id"] = match.referee
        winner = shown["winner_player_id"]
        self.happened(self.players[player], e.GameEnded, **ended, winner=winner, game_result=shown, **match.key)
        body = {
            "conversation": match.conversation,
            "match_id": match.match_id,
            "game_type": self.script.game_type,
            "game_result": shown,
            "reason": "as it happened",
        }
        ack = {"message_type": "GAME_OVER_ACK", "status": "ACKNOWLEDGED", "match_id": match.match_id}
        self.call(match.referee, player, "GAME_OVER", body, ack)

    def report(
        self,
        journal: list[e.Event],
        match: Match,
        status: str,
        winner: str | None,
        points: dict[str, int],
        details: Object,
    ) -> None:
        body = {
            "conversation": match.conversation,
            "league_id": LEAGUE,
            "round_id": match.round_id,
            "game_type": self.script.game_type,
            "result": {"winner": winner, "score": points, "details": details},
            **match.key,
        }
        ack: Object = {"message_type": "MATCH_RESULT_ACK", "status": "ACCEPTED"}
        ack |= {"match_id": match.match_id, "round_id": match.round_id}
        twice = {"delivered": 2, "answers": 2} if match.match_id == "R1M2" else {}
        told: Object = {"status": status, "winner": winner, "points": points, "details": details, "verified": True}
        told |= {"referee_id": match.referee, "reported_at": write(self.now)}
        self.happened(self.manager, e.ResultAccepted, **told, **match.key)
        self.call(match.referee, LM, "MATCH_RESULT_REPORT", body, ack, **twice)
        self.happened(journal, e.ReportSettled, answer="ACCEPTED", **match.key)
