"""An answer that only its address shows to be the player's (`--trust class`, spec section 9.7)."""

from __future__ import annotations

from collections.abc import Sequence

from league.machine import Acknowledged, Content
from league.protocol.errors import PeerError, Violation
from league.referee.questions.answer_reading import Valid


def is_empty(content: Content | None) -> bool:
    """True for an empty 2xx, by which a player says that its answer comes as a request."""
    return isinstance(content, Acknowledged) and content.is_empty


class AnswerByAddress:
    """The answer by its address to one question. It counts if the call was answered with an empty 2xx (T-04)."""

    def __init__(self) -> None:
        self.answer: Valid | None = None
        self.deviations: Sequence[Violation] = ()
        """Those of the answer. They are recorded if it counts."""
        self.counts = False
        """True when it settles the question."""

    def offer(self, answer: Valid, deviations: Sequence[Violation], player_id: str) -> PeerError | None:
        """Take the first answer; return why another one does not count."""
        if self.answer is not None and self.answer.choice != answer.choice:
            return PeerError("E012", f"it shows no token, and {player_id}'s address gave another answer before")
        self.answer = answer
        self.deviations = deviations
        return None

    def count(self, content: Content | None) -> bool:
        """Let the answer count if this is how the call was answered. True if it does."""
        if self.answer is None or not is_empty(content):
            return False
        self.counts = True
        return True
