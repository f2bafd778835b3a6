"""Play Even/Odd and ask the manager first: python scout.py --manager http://127.0.0.1:8000/mcp

The manager answers queries: use `await self.query(...)` in an `async` method and `self.query_sync(...)` elsewhere.
"""

from collections import Counter

from league import LeagueQueryError, LeagueResult, Player, Round, Turn, serve

OTHER = {"even": "odd", "odd": "even"}


class Scout(Player):
    """Looks up the choices of this opponent in all its matches so far, and does the opposite."""

    async def move(self, turn: Turn) -> str:
        try:
            stats = await self.query("GET_PLAYER_STATS", player_id=turn.opponent_id)
        except LeagueQueryError as error:
            print(f"no statistics of {turn.opponent_id}: {error}")
            stats = {}
        chosen = Counter(match["choice"] for match in stats.get("matches", []) if match["choice"] in OTHER)
        likely = max(chosen, key=lambda choice: chosen[choice], default=turn.options[0])
        return OTHER[likely]

    def on_round(self, announced: Round) -> None:
        status = self.query_sync("GET_STATUS")  # not an async method
        print(f"round {announced.round_id} of {status['total_rounds']}")

    async def on_league_over(self, result: LeagueResult) -> None:
        stats = await self.query("GET_PLAYER_STATS")  # your own, because there is no player_id
        print(f"rank {result.rank} with {result.points} points; {stats['technical_losses']} technical losses")


if __name__ == "__main__":
    serve(Scout(name="Scout"))
