"""What the parts of a referee share: settings, its matches, who it is to its manager, and the step being built."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from league.calling.delivery import Policy
from league.calling.role import Context
from league.events import PlayerDeviated
from league.machine import Content, Failure, Information, Inquiry, Refusal
from league.membership import Membership
from league.protocol.errors import ERRORS, PeerError, Violation
from league.protocol.message.envelope import Profile, Unsealed
from league.protocol.message.exchanges import EXCHANGES, RetrySchedule
from league.protocol.message.messages import (
    GameError,
    LeagueErrorReply,
    MatchResultReport,
    Message,
    RoundAnnouncement,
)
from league.protocol.signing import tokens
from league.referee.match import Docket, Match, Opening

LONGEST_DETAIL = 300
UNREAD = frozenset({"E034", "E035", "E037"})
"""Errors of an unreadable answer, which acknowledges nothing."""


@dataclass(frozen=True, slots=True)
class RefereeSettings:
    """The settings of a referee. `retries` and `move_seconds` are for managers that do not say how often a player is
    asked again, and how long a choice may take; `ask_standings`: ask for the table once a round, even if the assignment
    has all we need of it. `players` and `agents_config`, which reads the file of that name anew, have addresses of
    players that no manager tells us."""

    profile: Profile = "compat"
    retries: RetrySchedule = EXCHANGES["GAME_INVITATION"].retries
    move_seconds: float = EXCHANGES["CHOOSE_PARITY_CALL"].limit_s
    ask_standings: bool = False
    players: Mapping[str, str] = field(default_factory=dict)
    agents_config: Callable[[], Information | Refusal] | None = None
    draw_as: str | None = None
    """The winner of a draw in reports to third-party managers; "null" for none, None to find out."""
    trusts_addresses: bool = False
    """`--trust class` of a referee whose manager derives no tokens, so that it cannot say what proves an answer."""
    opening: Opening = lambda _: ()

    @property
    def is_strict(self) -> bool:
        """True if only messages of the documents are understood, and nothing is tried beyond them."""
        return self.profile == "strict"


class Guest:
    """What a referee does beyond the documents under a third-party manager. This one does nothing."""

    def __init__(self, *_: object) -> None:
        pass

    @property
    def trouble(self) -> str:
        """Say why a match cannot be played yet, for people."""
        return ""

    def begin(self, now: float) -> None:
        """We have become a member, or are one again."""

    def seek(self, now: float) -> None:
        """A match may have come without its players' addresses."""

    def heard(self, message: Message, now: float) -> None:
        """Our manager has sent a message by itself."""

    def may_begin(self, match: Match) -> bool:
        """Return whether it is time for a match."""
        return True

    def awaits(self, player_id: str, now: float) -> bool:
        """True if a player that refuses connections loses nothing by it yet."""
        return False

    def end(self) -> None:
        """The league is over for us."""

    def read_assignment(self, inquiry: Inquiry, now: float) -> Unsealed:
        """Read a match that we are given in another way than by announcement, as an announcement."""
        raise PeerError("E036", f"there is no method {inquiry.method!r} here", requirement="RPC.method")

    def assigned(self, method: str, now: float) -> None:
        """A match was taken that came by this method."""

    def report(self, report: MatchResultReport, round_name: str) -> GuestReport | None:
        """Return the conversation about a report; None if the manager is ours, and reads what the documents say."""
        return None


class GuestReport(Protocol):
    """One report to a third-party manager, until the manager's answer ends it."""

    failure: Failure | None
    """How the last call failed; None while the manager was only busy."""
    outcome: str
    """How the report ended, if not by an answer to it."""

    def begin(self, then: Callable[[float], None], now: float) -> None:
        """Go on when it is this report's turn, and when it is noted what is counted before it."""

    def end(self) -> None:
        """The report is settled, or dropped."""

    def message(self) -> Message:
        """Write the report for the next call."""

    def is_refused_for_winner(self, content: Content) -> bool:
        """True if another word is to be tried at once."""

    def accepted(self) -> None:
        """The manager took the report."""

    def verify(self, then: Callable[[tuple[str, ...], float], None], now: float) -> None:
        """Go on with what the manager's table has instead of the result, if it differs."""

    @property
    def policy(self) -> Policy:
        """How long an answer is waited for."""

    def failed(
        self,
        busy_s: float,
        counted: Callable[[float], None],
        again: Callable[[float], None],
        now: float,
    ) -> None:
        """The report got no answer, or one that says nothing: say later whether it was counted, or is to be sent
        again. `busy_s`: how long a busy manager wants to be left alone."""


@dataclass(slots=True)
class RefereeContext(Context):
    """The shared parts of a referee: `docket` holds all matches, `membership` who we are and who our manager is,
    `guest` speaks with third-party managers."""

    settings: RefereeSettings
    docket: Docket
    membership: Membership = field(init=False)
    guest: Guest = field(init=False)
    report_troubles: dict[str, str] = field(default_factory=dict)
    """By match: why the manager does not have its report yet."""

    def record(
        self,
        match: Match,
        player_id: str,
        deviations: Iterable[Violation],
        now: float,
    ) -> list[Violation]:
        """Record a player's deviations, once per player and kind; return those that are new."""
        new = []
        for deviation in deviations:
            kind = (player_id, deviation.code, deviation.requirement)
            if kind in self.docket.deviations:
                continue
            self.happened(
                PlayerDeviated(
                    at=now,
                    **match.named,
                    player_id=player_id,
                    code=deviation.code,
                    requirement=deviation.requirement,
                    detail=quotable(deviation.detail),
                )
            )
            new.append(deviation)
        return new


Take = Callable[[RoundAnnouncement, float, str], None]
"""Opens the matches of an announcement, whose round may have a name."""
OpenGuest = Callable[[RefereeContext, Take, Callable[[float], None]], Guest]
"""Makes a guest of a referee. The last argument begins matches whose players were found."""


def quotable(detail: str) -> str:
    """Return a third-party text as we keep and repeat it: short, on one line, and without tokens."""
    text = tokens.hidden_in(detail)
    # Nearly all texts are printable; in the others a control character is shown as its escape.
    if not text.isprintable():
        text = "".join(char if char.isprintable() else ascii(char)[1:-1] for char in text)
    if len(text) <= LONGEST_DETAIL:
        return text
    return text[: LONGEST_DETAIL - 1] + "…"


def error_in(content: Content | None) -> str | None:
    """Return the error code of an answer that acknowledges nothing; any other is an acknowledgement (R-04)."""
    if isinstance(content, Refusal):
        return content.code
    if not isinstance(content, Unsealed):
        return None
    if isinstance(content.message, LeagueErrorReply | GameError):
        code = content.message.error_code
        if code in ERRORS:
            return code
        # A code outside the catalogue is an error all the same.
        return "E099"
    for violation in content.violations:
        if violation.code in UNREAD:
            return violation.code
    return None
