"""A small league played honestly by hand: every journal and every message of it, as evidence for the promises.

Four players, two referees, three rounds. A script may let players fail, referees die, and an operator interfere; what
comes out is always honest. Tests plant their violations into a copy (`planted.py`).
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from league import events as e
from league.features.audit.promises.grounds.event_log import EventLog
from league.features.audit.promises.grounds.evidence import Evidence, RecordedCall, Recovery, SimulatorFacts
from league.games import draw, even_odd, rock_paper_scissors
from league.games.contract import SEATS
from league.protocol.timestamps import write

Object = dict[str, Any]
LEAGUE = "spring"
LM = "league_manager"
PLAYERS = ("P01", "P02", "P03", "P04")
REFEREES = ("REF01", "REF02")
ROUNDS = (
    (("P01", "P04"), ("P02", "P03")),
    (("P01", "P03"), ("P04", "P02")),
    (("P01", "P02"), ("P03", "P04")),
)
CHOICES = {"P01": "even", "P02": "odd", "P03": "even", "P04": "odd"}
SHAPES = {"P01": "rock", "P02": "paper", "P03": "scissors", "P04": "rock"}
TWICE = {"delivered": 2, "answers": 2}
NOTHING_YET = {"wins": 0, "losses": 0, "draws": 0, "points": 0}
NO_ANSWER = {"code": "E001", "detail": "no answer in time"}
OPTIONS = ("rock", "paper", "scissors")


def honest_league(**script: Any) -> Evidence:
    """The whole evidence of a league played by this script (`Script`)."""
    league = _League(Script(**script))
    league.play()
    return league.evidence()


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
    game_type: str
    attempt: int = 1

    @property
    def seed(self) -> str:
        return hashlib.sha256(f"{self.match_id}/{self.attempt}".encode()).hexdigest()

    @property
    def key(self) -> Object:
        return {"match_id": self.match_id, "attempt": self.attempt}

    @property
    def place(self) -> Object:
        return {"league_id": LEAGUE, "round_id": self.round_id, "game_type": self.game_type}

    @property
    def said(self) -> Object:
        """What every message about it says."""
        conversation = f"conv-{self.match_id.lower()}-{self.attempt}"
        return {"conversation_id": conversation, "match_id": self.match_id}

    @property
    def announced(self) -> Object:
        a, b = self.players
        home = f"http://10.0.0.1{self.referee[-1]}:8000/mcp"
        match = {"match_id": self.match_id, "game_type": self.game_type, "referee_endpoint": home}
        return {**match, "player_A_id": a, "player_B_id": b}

    def other(self, player: str) -> str:
        return self.players[1 - self.players.index(player)]


class _League:
    def __init__(self, script: Script) -> None:
        self.script = script
        self.now = 1_000.0
        self.journals: dict[str, list[e.Event]] = {one: [] for one in (LM, *REFEREES, *PLAYERS)}
        self.traffic: list[RecordedCall] = []
        self.results: dict[str, tuple[tuple[str, str], str | None, bool]] = {}
        """Match to its players, its winner, and whether it was a technical loss."""
        self.version = 0
        self.withdrawn: set[str] = set()

    def evidence(self) -> Evidence:
        faulty = {*self.script.silent.values(), *self.script.mute.values()}
        journals = {one: EventLog(journal) for one, journal in self.journals.items()}
        return Evidence(
            manager=journals[LM],
            referees={one: journals[one] for one in REFEREES},
            players={one: journals[one] for one in PLAYERS},
            traffic=tuple(self.traffic),
            finished=True,
            simulator=SimulatorFacts(
                faulted=frozenset(player for players in faulty for player in players),
                recoveries=(Recovery(LM, 1_000.5, acknowledged=1, recovered=1), Recovery("REF01", 1_001.5, 1, 2)),
                downtimes={},
                stalled=False,
                bounds={"league_manager calls": (7, 90)},
                twin_digest=("0a", "0a"),
            ),
        )

    def happened(self, agent: str, kind: type[e.Event], **fields: Any) -> None:
        self.journals[agent].append(kind(at=self.now, **fields))

    def call(self, sender: str, to: str, kind: str, body: Object, answer: Object | None = None, **more: Any) -> None:
        """A call, with its answer a tenth of a second later; without a type it is an acknowledgement."""
        talk = body.get("conversation_id", f"conv-{kind.lower()}")
        if answer is None or "message_type" not in answer:
            answer = {"message_type": f"{kind}_ACK", "status": "ACKNOWLEDGED", **(answer or {})}
        if more.get("outcome") != "lost":
            more |= {"answered_at": self.now + 0.1, "answer": {**self.envelope(to, talk), **answer}}
        message = {**self.envelope(sender, talk), "message_type": kind, **body}
        self.traffic.append(RecordedCall(self.now, sender, to, message, **more))
        self.now += 0.2

    def envelope(self, sender: str, conversation: str) -> Object:
        role = "" if sender == LM else "referee:" if sender in REFEREES else "player:"
        said = {"protocol": "league.v2", "sender": role + sender, "timestamp": write(self.now)}
        return {**said, "conversation_id": conversation}

    # --- the league ---------------------------------------------------------------------------------------------------

    def play(self) -> None:
        script = self.script
        settings = e.LeagueSettings(league_id=LEAGUE, referees=2, game_type=script.game_type, rounds=script.rounds)
        self.happened(LM, e.LeagueCreated, settings=settings)
        for agent in (*REFEREES, *PLAYERS):
            self.register(agent)
        self.schedule()
        for round_id in range(1, (script.rounds or len(ROUNDS)) + 1):
            self.round(round_id)
        for match in self.matches():
            if match.match_id in script.voided:
                self.void(match)
        self.end()

    def register(self, agent: str) -> None:
        role, number = ("referee", 10 + int(agent[-2:])) if agent in REFEREES else ("player", int(agent[-2:]))
        home, games = f"http://10.0.0.{number}:8000/mcp", (self.script.game_type,)
        about: Object = {"display_name": f"Agent {agent}", "version": "1.0.0"}
        known = {"serial": 1, "verify": hashlib.sha256(agent.encode()).hexdigest(), "origin": f"10.0.0.{number}"}
        self.happened(
            LM, e.AgentRegistered, role=role, agent_id=agent, endpoint=home, game_types=games, **known, **about
        )
        self.happened(agent, e.Registered, agent_id=agent, league_id=LEAGUE, serial=1, derived_tokens=True)
        about |= {"game_types": list(games), "contact_endpoint": home}
        if role == "referee":
            about["max_concurrent_matches"] = 2
        kind = "REFEREE_REGISTER" if role == "referee" else "LEAGUE_REGISTER"
        accepted = {"message_type": f"{kind}_RESPONSE", "status": "ACCEPTED", f"{role}_id": agent, "reason": None}
        self.call(agent, LM, f"{kind}_REQUEST", {f"{role}_meta": about}, accepted, **(TWICE if agent == "P03" else {}))

    def matches(self, round_id: int | None = None) -> Iterable[Match]:
        for number, pairs in enumerate(ROUNDS[: self.script.rounds], start=1):
            for place, pair in enumerate(pairs, start=1):
                if round_id in (None, number):
                    yield Match(f"R{number}M{place}", number, pair, REFEREES[place - 1], self.script.game_type)

    def schedule(self) -> None:
        rounds = tuple(
            tuple(e.Pairing(one.match_id, *one.players) for one in self.matches(number))
            for number in range(1, len(ROUNDS[: self.script.rounds]) + 1)
        )
        self.happened(LM, e.LeagueStateChanged, state="CREATING_SCHEDULE")
        self.happened(LM, e.ScheduleMade, rounds=rounds, byes=(None,) * len(rounds))
        self.happened(LM, e.LeagueStateChanged, state="RUNNING_LEAGUE")

    def round(self, round_id: int) -> None:
        self.happened(LM, e.RoundOpened, round_id=round_id)
        matches = list(self.matches(round_id))
        for match in matches:
            self.happened(LM, e.MatchAssigned, referee_id=match.referee, **match.key)
        for player in self.staying():
            self.announce(player, round_id, matches)
        self.happened(LM, e.AssignmentsSent, round_id=round_id)
        for match in matches:
            if not self.walked_over(match):
                self.assigned(match)
        self.finish(round_id, matches)

    def staying(self) -> list[str]:
        return [player for player in PLAYERS if player not in self.withdrawn]

    def announce(self, to: str, round_id: int, matches: Sequence[Match]) -> None:
        announced = [match.announced for match in matches]
        body = {"league_id": LEAGUE, "round_id": round_id, "matches": announced}
        self.call(LM, to, "ROUND_ANNOUNCEMENT", body, {"round_id": round_id})

    def assigned(self, match: Match) -> None:
        """The referee is told, and plays, reports and is believed; or dies, and another one does."""
        self.announce(match.referee, match.round_id, [match])
        self.take(match)
        if match.match_id in self.script.lost and match.attempt == 1:
            self.now += 20
            self.happened(LM, e.MatchLost, why="silent", **match.key)
            self.again(match, REFEREES[match.referee == "REF01"])
            return
        winner, technical = self.match(match)
        self.counts(match, winner, technical)
        self.standings(match.round_id)

    def again(self, match: Match, referee: str) -> None:
        other = replace(match, referee=referee, attempt=2)
        self.happened(LM, e.MatchAssigned, referee_id=referee, **other.key)
        self.assigned(other)

    def counts(self, match: Match, winner: str | None, technical: bool) -> None:
        self.results[match.match_id] = (match.players, winner, technical)
        self.version += 1

    def walked_over(self, match: Match) -> bool:
        gone = tuple(player for player in match.players if player in self.withdrawn)
        if gone:
            winner = match.other(gone[0])
            self.happened(LM, e.WalkoverDecided, match_id=match.match_id, winner=winner, withdrawn=gone)
            self.counts(match, winner, technical=True)
        return bool(gone)

    def finish(self, round_id: int, matches: Sequence[Match]) -> None:
        self.happened(LM, e.RoundFinished, round_id=round_id)
        self.standings(round_id)
        ended = [self.results[match.match_id] for match in matches]
        total, technical = len(ended), sum(one[2] for one in ended)
        draws = sum(one[1] is None and not one[2] for one in ended)
        summary = {"total_matches": total, "wins": total - draws - technical, "draws": draws}
        body = {"league_id": LEAGUE, "round_id": round_id, "matches_completed": total, "matches_played": total}
        body |= {"next_round_id": round_id + 1 if round_id < len(ROUNDS) else None}
        body |= {"summary": {**summary, "technical_losses": technical}}
        for agent in (*self.staying(), *REFEREES):
            self.call(LM, agent, "ROUND_COMPLETED", dict(body), {"round_id": round_id})
        self.ask_for_standings()
        if round_id == 1 and self.script.withdrawn:
            self.withdrawn.add(self.script.withdrawn)
            self.happened(LM, e.OrderCarriedOut, order="withdraw", target=self.script.withdrawn, key="w1")

    def void(self, match: Match) -> None:
        self.happened(LM, e.ResultVoided, match_id=match.match_id, key=f"void {match.match_id}")
        del self.results[match.match_id]
        self.version += 1
        self.standings(match.round_id)
        self.again(match, REFEREES[1])

    def end(self) -> None:
        table = self.table()
        champion = {name: table[0][name] for name in ("player_id", "display_name", "points")}
        self.happened(LM, e.LeagueFinished, champion=champion["player_id"])
        self.happened(LM, e.LeagueStateChanged, state="LEAGUE_COMPLETED")
        self.now += 1
        totals = {"total_rounds": len(ROUNDS), "total_matches": len(self.results)}
        for agent in (*self.staying(), *REFEREES):
            self.happened(agent, e.LeagueEnded, champion=champion["player_id"])
            body = {"league_id": LEAGUE, **totals, "champion": champion, "final_standings": table}
            self.call(LM, agent, "LEAGUE_COMPLETED", body)

    # --- the table ----------------------------------------------------------------------------------------------------

    def table(self) -> list[Object]:
        rows = {player: self.row(player) for player in PLAYERS}

        def order(player: str) -> tuple[int, ...]:
            row = rows[player]
            tied = {one for one in PLAYERS if all(rows[one][name] == row[name] for name in ("points", "wins"))}
            among = sum(
                3 if winner == player else 1
                for players, winner, technical in self.results.values()
                if set(players) <= tied and player in players and (winner == player or (not winner and not technical))
            )
            return -row["points"], -row["wins"], -among, int(player[1:])

        return [{"rank": rank, **rows[player]} for rank, player in enumerate(sorted(PLAYERS, key=order), start=1)]

    def row(self, player: str) -> Object:
        own = [one for one in self.results.values() if player in one[0]]
        wins = sum(winner == player for _, winner, _ in own)
        draws = sum(winner is None and not technical for _, winner, technical in own)
        tally = {"played": len(own), "wins": wins, "draws": draws, "losses": len(own) - wins - draws}
        return {"player_id": player, "display_name": f"Agent {player}", **tally, "points": 3 * wins + draws}

    def standings(self, round_id: int) -> None:
        body = {"league_id": LEAGUE, "round_id": round_id, "standings": self.table(), "version": self.version}
        ack = {"message_type": "STANDINGS_UPDATE_ACK", "status": "ACKNOWLEDGED", "round_id": round_id}
        for player in self.staying():
            self.call(LM, player, "LEAGUE_STANDINGS_UPDATE", dict(body), ack)

    def ask_for_standings(self) -> None:
        for agent in ("P01", "REF01"):
            table = {"standings": self.table(), "current_round": 1}
            query = {"query_type": "GET_STANDINGS"}
            answer: Object = {"message_type": "LEAGUE_QUERY_RESPONSE", **query, "success": True, "data": table, **table}
            self.call(agent, LM, "LEAGUE_QUERY", {"league_id": LEAGUE, **query, "query_params": {}}, answer)

    # --- a match ------------------------------------------------------------------------------------------------------

    def take(self, match: Match) -> None:
        homes = ("http://10.0.0.1:8000/mcp", "http://10.0.0.2:8000/mcp")
        known = {"players": match.players, "records": (NOTHING_YET, NOTHING_YET), "endpoints": homes}
        self.happened(match.referee, e.MatchTaken, seed=match.seed, **known, **match.place, **match.key)

    def match(self, match: Match) -> tuple[str | None, bool]:
        """The winner, and whether it was a technical loss."""
        self.happened(match.referee, e.MatchBegun, **match.key)
        absent = self.script.silent.get(match.match_id, ())
        self.invite(match, absent)
        made, faults = ([], absent) if absent else self.choose(match)
        return self.decide(match, made, faults), bool(faults)

    def invite(self, match: Match, absent: Sequence[str]) -> None:
        commitment = draw.commitment(bytes.fromhex(match.seed), LEAGUE, match.match_id, match.attempt)
        for player, role in zip(match.players, ("PLAYER_A", "PLAYER_B"), strict=True):
            seat = {"game_type": match.game_type, "opponent_id": match.other(player), "player_id": player}
            body = {**match.said, **match.key, **match.place, **seat}
            body |= {"role_in_match": role, "draw_commitment": commitment}
            if player in absent:
                self.call(match.referee, player, "GAME_INVITATION", body, delivered=0, answers=0, outcome="lost")
                self.fault(match, player, "join", 0)
                continue
            seat |= {"role": role, "referee_id": match.referee, "conversation_id": match.said["conversation_id"]}
            self.happened(player, e.InvitationAnswered, accepted=True, round_id=match.round_id, **seat, **match.key)
            ack = {"message_type": "GAME_JOIN_ACK", "match_id": match.match_id, "player_id": player, "accept": True}
            ack["arrival_timestamp"] = write(self.now)
            self.call(match.referee, player, "GAME_INVITATION", body, ack)
            self.happened(match.referee, e.PlayerJoined, player_id=player, **match.key)

    def fault(self, match: Match, player: str, phase: str, turn: int) -> None:
        where = {"player_id": player, "phase": phase, "turn": turn}
        self.happened(match.referee, e.PlayerFaulted, **where, **NO_ANSWER, **match.key)
        self.error(match, player, "E001")

    def error(self, match: Match, player: str, code: str, **more: Any) -> None:
        body = {**match.said, "error_code": code, "affected_player": player, "player_id": player, **more}
        self.call(match.referee, player, "GAME_ERROR", body)

    def choose(self, match: Match) -> tuple[list[dict[str, str]], tuple[str, ...]]:
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
                    self.fault(match, player, "move", turn)
                    continue
                if player == match.players[1] and match.match_id in self.script.slips:
                    self.slip(match, player, turn, made)
                chosen[player] = self.choices[player]
                move = {"turn": turn, "choice": chosen[player]}
                self.happened(player, e.ChoiceGiven, referee_id=match.referee, **move, **match.key)
                self.now += 1
                self.happened(match.referee, e.MoveMade, player_id=player, **move, **match.key)
            made.append(chosen)
            if faults:
                break
        return made, faults

    @property
    def choices(self) -> Mapping[str, str]:
        return CHOICES if self.script.game_type == "even_odd" else SHAPES

    def turns(self, match: Match) -> Sequence[int]:
        """Everybody always shows the same shape: two throws decide, or three draws."""
        if match.game_type == "even_odd":
            return (1,)
        return (1, 2, 3) if SHAPES[match.players[0]] == SHAPES[match.players[1]] else (1, 2)

    def ask(self, match: Match, player: str, turn: int, made: Sequence[Mapping[str, str]]) -> None:
        """A call whose answer is recorded as a mere acknowledgement: the choice itself is in the journals."""
        other = match.other(player)
        body = {**match.said, "player_id": player, "game_type": match.game_type}
        body["deadline"] = write(self.now + 30)
        answer: Object = {"match_id": match.match_id, "player_id": player}
        if match.game_type == "even_odd":
            body["context"] = {"opponent_id": other, "round_id": match.round_id, "your_standings": NOTHING_YET}
            kind, answer["parity_choice"] = "CHOOSE_PARITY", CHOICES[player]
        else:
            throws = [{"you": one[player], "opponent": one[other]} for one in made]
            context = {"turn": turn, "best_of": 3, "throws": throws}
            body["move_request"] = {"move_type": "throw", "valid_options": [*OPTIONS], "context": context}
            kind, answer["move_data"] = "GAME_MOVE", {"move_type": "throw", "choice": SHAPES[player]}
        self.call(match.referee, player, f"{kind}_CALL", body, {**answer, "message_type": f"{kind}_RESPONSE"})

    def slip(self, match: Match, player: str, turn: int, made: Sequence[Mapping[str, str]]) -> None:
        """A nonsensical choice, its correction called for, in the time in which the opponent's choice is secret."""
        given = {"turn": turn, "referee_id": match.referee}
        self.happened(player, e.ChoiceGiven, choice="maybe", **given, **match.key)
        why = {"phase": "move", "turn": turn, "code": "E004", "detail": "'maybe' is neither", "left": 2}
        self.happened(match.referee, e.WrongAnswer, player_id=player, **why, **match.key)
        self.happened(player, e.ChoiceRefused, code="E004", **given, **match.key)
        context = {"invalid_choice": "maybe", "valid_choices": ["even", "odd"]}
        self.error(match, player, "E004", context=context)
        self.ask(match, player, turn, made)

    def decide(self, match: Match, made: list[dict[str, str]], faults: Sequence[str]) -> str | None:
        number = None
        if match.game_type == "even_odd" and not faults:
            number = draw.number(bytes.fromhex(match.seed), LEAGUE, match.match_id, match.attempt)
            self.happened(match.referee, e.NumberDrawn, number=number, **match.key)
        winner = self.winner(match, made, number, faults)
        status = "TECHNICAL_LOSS" if faults else "WIN" if winner else "DRAW"
        points = {player: 3 if player == winner else int(status == "DRAW") for player in match.players}
        told: Object = {"status": status, "winner": winner, "points": points}
        details = self.details(match, made, number, status, faults)
        shown = {**details, "winner_player_id": winner, "reason": "as it happened", "attempt": match.attempt}
        shown.pop("faults", None)
        known = {"reason": "as it happened", "game_result": shown, "details": details}
        self.happened(match.referee, e.MatchDecided, **told, **known, **match.key)
        for player in match.players:
            self.game_over(match, player, shown)
        self.report(match, {**told, "details": details})
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
        choices = {player: last.get(player) for player in match.players}
        details: Object = {"status": status, "choices": choices, "draw_seed": match.seed}
        if match.game_type == "even_odd":
            parity = None if number is None else ("even", "odd")[number % 2]
            details |= {"drawn_number": number, "number_parity": parity}
        else:
            details["moves"] = made
        return {**details, "faults": dict.fromkeys(faults, "E001")} if faults else details

    def game_over(self, match: Match, player: str, shown: Object) -> None:
        told = {"game_type": match.game_type, "game_result": shown}
        ended = {"opponent_id": "", "status": shown["status"], "winner": shown["winner_player_id"]}
        self.happened(player, e.GameEnded, referee_id=match.referee, **ended, **told, **match.key)
        body = {**match.said, **told, "reason": "as it happened"}
        self.call(match.referee, player, "GAME_OVER", body, {"match_id": match.match_id})

    def report(self, match: Match, told: Object) -> None:
        result = {"winner": told["winner"], "score": told["points"], "details": told["details"]}
        where = {"match_id": match.match_id, "round_id": match.round_id}
        body = {**match.said, **match.key, **match.place}
        accepted = {"verified": True, "referee_id": match.referee, "reported_at": write(self.now)}
        self.happened(LM, e.ResultAccepted, **told, **accepted, **match.key)
        ack = {"message_type": "MATCH_RESULT_ACK", "status": "ACCEPTED", **where}
        more = TWICE if match.match_id == "R1M2" else {}
        self.call(match.referee, LM, "MATCH_RESULT_REPORT", {**body, "result": result}, ack, **more)
        self.happened(match.referee, e.ReportSettled, answer="ACCEPTED", **match.key)
