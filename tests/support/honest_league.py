"""A small league played honestly by hand: every journal and every message of it, as evidence for the promises.

Four players, two referees, three rounds. A script may let players fail, referees die, and an operator interfere; what
comes out is always honest. Tests plant their violations into a copy (`planted.py`).
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from typing import Any

from league import events as e
from league.promises.evidence import Evidence, Survival
from tests.support.honest_match import LEAGUE, LM, PLAYERS, REFEREES, Match, Matches, Object, Script

ROUNDS = (
    (("P01", "P04"), ("P02", "P03")),
    (("P01", "P03"), ("P04", "P02")),
    (("P01", "P02"), ("P03", "P04")),
)


def honest_league(**script: Any) -> Evidence:
    """The whole evidence of a league played by this script (`Script`)."""
    league = _League(Script(**script))
    league.play()
    return league.evidence()


class _League(Matches):
    def __init__(self, script: Script) -> None:
        super().__init__(script)
        self.results: dict[str, tuple[tuple[str, str], str | None, bool]] = {}
        """Match to its players, its winner, and whether it was a technical loss."""
        self.version = 0
        self.withdrawn: set[str] = set()

    def evidence(self) -> Evidence:
        faulty = {*self.script.silent.values(), *self.script.mute.values()}
        return Evidence(
            manager=tuple(self.manager),
            referees={one: tuple(journal) for one, journal in self.referees.items()},
            players={one: tuple(journal) for one, journal in self.players.items()},
            traffic=tuple(self.traffic),
            faulted=frozenset(player for players in faulty for player in players),
            survivals=(Survival(LM, 1_000.5, acknowledged=1, recovered=1), Survival("REF01", 1_001.5, 1, 2)),
            finished=True,
            stalled=False,
            bounds={"league_manager calls": (7, 90)},
            twin_digest=("0a", "0a"),
        )

    # --- the league ---------------------------------------------------------------------------------------------------

    def play(self) -> None:
        settings = e.LeagueSettings(
            league_id=LEAGUE, referees=2, game_type=self.script.game_type, rounds=self.script.rounds
        )
        self.happened(self.manager, e.LeagueCreated, settings=settings)
        for agent in (*REFEREES, *PLAYERS):
            self.register(agent)
        self.schedule()
        for round_id in range(1, (self.script.rounds or len(ROUNDS)) + 1):
            self.round(round_id)
        for match in self.matches():
            if match.match_id in self.script.voided:
                self.void(match)
        self.end()

    def register(self, agent: str) -> None:
        role, number = ("referee", 10 + int(agent[-2:])) if agent in REFEREES else ("player", int(agent[-2:]))
        about: Object = {
            "display_name": f"Agent {agent}",
            "version": "1.0.0",
            "game_types": [self.script.game_type],
            "contact_endpoint": f"http://10.0.0.{number}:8000/mcp",
        }
        if role == "referee":
            about["max_concurrent_matches"] = 2
        self.happened(
            self.manager,
            e.AgentRegistered,
            role=role,
            agent_id=agent,
            display_name=about["display_name"],
            version="1.0.0",
            endpoint=about["contact_endpoint"],
            origin=f"10.0.0.{number}",
            game_types=(self.script.game_type,),
            serial=1,
            verify=hashlib.sha256(agent.encode()).hexdigest(),
        )
        journal = self.referees.get(agent, self.players.get(agent, []))
        self.happened(journal, e.Enrolled, agent_id=agent, league_id=LEAGUE, serial=1, derived_tokens=True)
        kind = "REFEREE_REGISTER" if role == "referee" else "LEAGUE_REGISTER"
        accepted = {"message_type": f"{kind}_RESPONSE", "status": "ACCEPTED", f"{role}_id": agent, "reason": None}
        twice = {"delivered": 2, "answers": 2} if agent == "P03" else {}
        self.call(agent, LM, f"{kind}_REQUEST", {f"{role}_meta": about}, accepted, **twice)

    def matches(self, round_id: int | None = None) -> Iterable[Match]:
        for number, pairs in enumerate(ROUNDS[: self.script.rounds], start=1):
            for place, pair in enumerate(pairs, start=1):
                if round_id in (None, number):
                    yield Match(f"R{number}M{place}", number, pair, REFEREES[place - 1])

    def schedule(self) -> None:
        rounds = tuple(
            tuple(e.Pairing(one.match_id, *one.players) for one in self.matches(number))
            for number in range(1, len(ROUNDS[: self.script.rounds]) + 1)
        )
        self.happened(self.manager, e.LeagueStateChanged, state="CREATING_SCHEDULE")
        self.happened(self.manager, e.ScheduleMade, rounds=rounds, byes=(None,) * len(rounds))
        self.happened(self.manager, e.LeagueStateChanged, state="RUNNING_LEAGUE")

    def round(self, round_id: int) -> None:
        self.happened(self.manager, e.RoundOpened, round_id=round_id)
        matches = list(self.matches(round_id))
        for match in matches:
            self.happened(self.manager, e.MatchAssigned, referee_id=match.referee, **match.key)
        for player in self.staying():
            self.announce(player, round_id, matches)
        self.happened(self.manager, e.AssignmentsSent, round_id=round_id)
        for match in matches:
            if not self.walked_over(match):
                self.assigned(match)
        self.finish(round_id, matches)

    def staying(self) -> list[str]:
        return [player for player in PLAYERS if player not in self.withdrawn]

    def announce(self, to: str, round_id: int, matches: Sequence[Match]) -> None:
        announced = [
            {
                "match_id": match.match_id,
                "game_type": self.script.game_type,
                "player_A_id": match.players[0],
                "player_B_id": match.players[1],
                "referee_endpoint": f"http://10.0.0.1{match.referee[-1]}:8000/mcp",
            }
            for match in matches
        ]
        body = {"league_id": LEAGUE, "round_id": round_id, "matches": announced}
        ack = {"message_type": "ROUND_ANNOUNCEMENT_ACK", "status": "ACKNOWLEDGED", "round_id": round_id}
        self.call(LM, to, "ROUND_ANNOUNCEMENT", body, ack)

    def assigned(self, match: Match) -> None:
        """The referee is told, and plays, reports and is believed; or dies, and another one does."""
        self.announce(match.referee, match.round_id, [match])
        self.take(match)
        if match.match_id in self.script.lost and match.attempt == 1:
            self.now += 20
            self.happened(self.manager, e.MatchLost, why="silent", **match.key)
            other = Match(match.match_id, match.round_id, match.players, REFEREES[match.referee == "REF01"], 2)
            self.happened(self.manager, e.MatchAssigned, referee_id=other.referee, **other.key)
            self.assigned(other)
            return
        winner, technical = self.match(match)
        self.results[match.match_id] = (match.players, winner, technical)
        self.version += 1
        self.standings(match.round_id)

    def walked_over(self, match: Match) -> bool:
        gone = tuple(player for player in match.players if player in self.withdrawn)
        if not gone:
            return False
        winner = next(player for player in match.players if player not in gone)
        self.happened(self.manager, e.WalkoverDecided, match_id=match.match_id, winner=winner, withdrawn=gone)
        self.results[match.match_id] = (match.players, winner, True)
        self.version += 1
        return True

    def finish(self, round_id: int, matches: Sequence[Match]) -> None:
        self.happened(self.manager, e.RoundFinished, round_id=round_id)
        self.standings(round_id)
        ended = [self.results[match.match_id] for match in matches]
        technical = sum(one[2] for one in ended)
        draws = sum(one[1] is None and not one[2] for one in ended)
        total = len(ended)
        body = {
            "league_id": LEAGUE,
            "round_id": round_id,
            "matches_completed": total,
            "matches_played": total,
            "next_round_id": round_id + 1 if round_id < len(ROUNDS) else None,
            "summary": {
                "total_matches": total,
                "wins": total - draws - technical,
                "draws": draws,
                "technical_losses": technical,
            },
        }
        ack = {"message_type": "ROUND_COMPLETED_ACK", "status": "ACKNOWLEDGED", "round_id": round_id}
        for agent in (*self.staying(), *REFEREES):
            self.call(LM, agent, "ROUND_COMPLETED", dict(body), ack)
        self.ask_for_standings()
        if round_id == 1 and self.script.withdrawn:
            self.withdrawn.add(self.script.withdrawn)
            self.happened(self.manager, e.PlayerWithdrawn, agent_id=self.script.withdrawn, key="w1")

    def void(self, match: Match) -> None:
        self.happened(self.manager, e.ResultVoided, match_id=match.match_id, key=f"void {match.match_id}")
        del self.results[match.match_id]
        self.version += 1
        self.standings(match.round_id)
        again = Match(match.match_id, match.round_id, match.players, REFEREES[1], 2)
        self.happened(self.manager, e.MatchAssigned, referee_id=again.referee, **again.key)
        self.assigned(again)

    def end(self) -> None:
        table = self.table()
        champion = {name: table[0][name] for name in ("player_id", "display_name", "points")}
        self.happened(self.manager, e.LeagueFinished, champion=champion["player_id"])
        self.happened(self.manager, e.LeagueStateChanged, state="LEAGUE_COMPLETED")
        self.now += 1
        for agent in (*self.staying(), *REFEREES):
            body = {
                "league_id": LEAGUE,
                "total_rounds": len(ROUNDS),
                "total_matches": len(self.results),
                "champion": champion,
                "final_standings": table,
            }
            journal = self.referees.get(agent, self.players.get(agent, []))
            self.happened(journal, e.LeagueEnded, champion=champion["player_id"])
            ack = {"message_type": "LEAGUE_COMPLETED_ACK", "status": "ACKNOWLEDGED"}
            self.call(LM, agent, "LEAGUE_COMPLETED", body, ack)

    # --- the table ----------------------------------------------------------------------------------------------------

    def table(self) -> list[Object]:
        rows = {player: self.row(player) for player in PLAYERS}

        def order(player: str) -> tuple[int, ...]:
            row = rows[player]
            tied = {one for one in PLAYERS if rows[one]["points"] == row["points"] and rows[one]["wins"] == row["wins"]}
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
        return {
            "player_id": player,
            "display_name": f"Agent {player}",
            "played": len(own),
            "wins": wins,
            "draws": draws,
            "losses": len(own) - wins - draws,
            "points": 3 * wins + draws,
        }

    def standings(self, round_id: int) -> None:
        body = {"league_id": LEAGUE, "round_id": round_id, "standings": self.table(), "version": self.version}
        ack = {"message_type": "STANDINGS_UPDATE_ACK", "status": "ACKNOWLEDGED", "round_id": round_id}
        for player in self.staying():
            self.call(LM, player, "LEAGUE_STANDINGS_UPDATE", dict(body), ack)

    def ask_for_standings(self) -> None:
        for agent in ("P01", "REF01"):
            table = {"standings": self.table(), "current_round": 1}
            answer = {"message_type": "LEAGUE_QUERY_RESPONSE", "query_type": "GET_STANDINGS", "success": True}
            body = {"league_id": LEAGUE, "query_type": "GET_STANDINGS", "query_params": {}}
            self.call(agent, LM, "LEAGUE_QUERY", body, {**answer, "data": table, **table})
