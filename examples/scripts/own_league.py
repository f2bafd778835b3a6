"""A league of one's own player and two that are built in, in one script."""

from __future__ import annotations

import asyncio

import league


class Copycat(league.Player):
    """Says what its opponent said in the last match."""

    def choose_parity(self, call: league.ChooseParityCall) -> league.Parity:
        said = self.history[-1].opponent_choice if self.history else None
        return "odd" if said == "odd" else "even"


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
