"""A script that plays a league: your own player and two built-in ones."""

from __future__ import annotations

import asyncio

import league


class Copycat(league.Player):
    """Repeats what its opponent chose in the last match."""

    def choose_parity(self, call: league.ChooseParityCall) -> league.Parity:
        last = self.history[-1].opponent_choice if self.history else None
        return "odd" if last == "odd" else "even"


async def main() -> None:
    mine = Copycat("Copycat")
    async with league.run(players=[mine, "random", "alternate"], referees=1, double=True) as running:
        print("the manager is at", running.manager)
        table = await running.finished()
    for row in table:
        print(row["rank"], row["display_name"], row["points"])
    print("Copycat played", len(mine.history), "matches")


if __name__ == "__main__":
    asyncio.run(main())
