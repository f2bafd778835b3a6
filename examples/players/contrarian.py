"""A very short player: python contrarian.py --manager http://127.0.0.1:8000/mcp"""

from league import ChooseParityCall, Parity, Player, serve


class Contrarian(Player):
    """Even/Odd: chooses the parity that the last number did not have."""

    def choose_parity(self, call: ChooseParityCall) -> Parity:
        last = self.history[-1].number_parity if self.history else "odd"
        return "even" if last == "odd" else "odd"


if __name__ == "__main__":
    serve(Contrarian(name="Contrarian"))  # --manager, --port, … come from the command line
