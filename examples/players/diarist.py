"""Play Even/Odd and keep a diary of errors and the result: python diarist.py --manager http://127.0.0.1:8000/mcp

Hooks may be slow, may be `async` and may raise exceptions. Nobody waits for them, and you see their exceptions in full.
"""

from pathlib import Path

from league import ChooseParityCall, LeagueResult, Parity, Player, ReceivedError, serve

DIARY = Path("diary.txt")


class Diarist(Player):
    """Always chooses even, except in its first answer, which is wrong so that the diary has an error."""

    has_erred = False

    def choose_parity(self, call: ChooseParityCall) -> Parity:
        if not self.has_erred:
            self.has_erred = True
            return "Even"  # type: ignore[return-value]
        return "even"

    def on_error(self, error: ReceivedError) -> None:
        self.write(f"{error.match_id or 'the league'}: {error.code} {error.name}: {error.detail}")

    async def on_league_over(self, result: LeagueResult) -> None:
        self.write(f"The champion is {result.champion_name} with {result.champion_points} points.")
        for row in result.table:
            self.write(f"{row.rank:>3}  {row.player_id:<6}{row.points:>3}{'  (me)' if row == result.mine else ''}")

    def write(self, line: str) -> None:
        with DIARY.open("a", encoding="utf-8") as diary:
            print(line, file=diary)


if __name__ == "__main__":
    serve(Diarist(name="Diarist"))
