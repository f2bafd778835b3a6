"""Play Even/Odd by the table: python climber.py --manager http://127.0.0.1:8000/mcp

Equal choices are a draw and give each player 1 point; different choices give 3 points or none. So the leader wants
draws, and the players behind do not. `self.standings` is the latest table, `self.round` the current round.
"""

from league import Player, Round, Standings, Turn, serve

OTHER = {"even": "odd", "odd": "even"}


class Climber(Player):
    """Copies the opponent's last choice while leading, and does the opposite while behind."""

    def move(self, turn: Turn) -> str:
        seen = [match.opponent_choice for match in self.history if match.opponent_id == turn.opponent_id]
        last = seen[-1] if seen and seen[-1] in OTHER else turn.options[turn.chance[0] % len(turn.options)]
        return last if self.leads() else OTHER[last]

    def leads(self) -> bool:
        mine = self.standings.mine if self.standings else None
        return mine is not None and mine.rank == 1

    def on_round(self, announced: Round) -> None:
        mine = announced.mine
        against = f"you play {mine.opponent_id} in {mine.match_id}" if mine else "you rest"
        print(f"round {announced.round_id} has {len(announced)} matches: {against}")

    def on_standings(self, standings: Standings) -> None:
        if standings.mine is not None:
            print(f"after round {standings.round_id}: rank {standings.mine.rank} with {standings.mine.points} points")


if __name__ == "__main__":
    serve(Climber(name="Climber"))
