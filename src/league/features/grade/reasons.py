"""The words for what a submission did wrong. Teachers sort and count by them, so each row has one of these."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

NO_PLAYER: Final = "no player.py"
IMPORT: Final = "import error"
EXCEPTION: Final = "exception"
ILLEGAL: Final = "illegal choice"
SLOW: Final = "too slow"
MEMORY: Final = "memory"
PROCESS: Final = "process or thread"
NETWORK: Final = "network"
OUTSIDE: Final = "outside its folder"
DIED: Final = "died"
NOT_REPEATABLE: Final = "not repeatable"
SOME_FAILED: Final = "some choices failed"
"""The only one that goes with the status `ok`."""

SAID_BY_RUNNER: Final = (IMPORT, EXCEPTION, ILLEGAL, MEMORY, PROCESS, NETWORK, OUTSIDE)
"""The reasons that the runner in the sandbox may give."""


@dataclass(eq=False)
class SubmissionFailed(Exception):  # noqa: N818 - something that happened in code of others, not an error of ours
    """What a submission did wrong."""

    reason: str
    """One of the words above."""
    text: str
    trace: str = ""
    """The traceback within its own files."""
    question: str = ""
    """What it was asked."""
    is_final: bool = True
    """It cannot be asked again."""

    def __str__(self) -> str:
        return f"{self.reason}: {self.text}"
