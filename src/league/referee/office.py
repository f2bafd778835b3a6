"""What the parts of a referee share: settings, calls, the step being built, and who we are."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from league.enrolment import Enrolment
from league.events import Event
from league.machine import Address, Chance
from league.protocol.envelope import Profile, seal
from league.protocol.exchanges import EXCHANGES, Repetition
from league.referee.calls import Calls
from league.referee.docket import Docket

LONGEST_DETAIL = 300


@dataclass(frozen=True, slots=True)
class RefereeSettings:
    """`move_seconds` is for managers that do not say how long a choice may take."""

    profile: Profile = "compat"
    retries: Repetition = EXCHANGES["GAME_INVITATION"].repetition
    move_seconds: float = EXCHANGES["CHOOSE_PARITY_CALL"].limit_s


@dataclass(frozen=True, slots=True)
class Office:
    """`happened`, `cancel` and `keep_secret` write into the step the machine is building."""

    settings: RefereeSettings
    docket: Docket
    enrolment: Enrolment
    calls: Calls
    secrets: Mapping[str, str]
    chance: Chance
    happened: Callable[[Event], None]
    cancel: Callable[[str], None]
    keep_secret: Callable[[str, str], None]

    @property
    def manager(self) -> Address:
        return self.enrolment.manager

    def sealed(self, now: float, conversation_id: str) -> dict[str, Any]:
        """The envelope of a message of ours (Any: as `seal` has it)."""
        return seal(self.enrolment.sender, now, conversation_id)


def shortened(detail: str) -> str:
    """What others wrote may be long; what we keep and repeat of it is not."""
    return detail if len(detail) <= LONGEST_DETAIL else detail[: LONGEST_DETAIL - 1] + "…"
