"""Asking for matches where the manager gives none by itself (spec section 13.5): `get_assigned_matches`, and
GET_REGISTRATIONS for addresses. Never under our manager, which announces, and never again where somebody else's did.

What is asked and answered is lost in a crash; the matches that were taken are not.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from league.machine import Failure, Information, Letter, Outgoing, Refusal, Undelivered
from league.protocol.assigning import REGISTRATIONS, GetAssignedMatches
from league.protocol.errors import PeerError, Violation
from league.protocol.exchanges import EXCHANGES
from league.protocol.messages import LeagueQuery, Message, RoundAnnouncement
from league.protocol.parts import QueryParams
from league.referee import assignments, offers
from league.referee.offers import Fields
from league.referee.office import Office

POLL_AFTER_S: Final = 3.0
"""So long a new member waits for matches before it asks for them."""
POLL_S: Final = 3.0
IN_VAIN: Final = 10
"""After so many questions in a row that brought nothing, the next is asked later."""
POLL_SLOWLY_S: Final = 15.0
_METHOD: Final = "get_assigned_matches"
_MATCHES: Final = ("matches", "assigned_matches", "assignments")
_PLAYERS: Final = ("players", "registrations", "registered_players")
_WRAPPERS: Final = ("data", "result", "registrations")
_DONE: Final = frozenset({"COMPLETED", "COMPLETE", "DONE", "FINISHED", "ENDED", "REPORTED", "CANCELLED", "CANCELED"})


class Polling:
    """One call at a time, and none while a match is open. `take` opens what was found like any announcement."""

    def __init__(self, office: Office, take: Callable[[RoundAnnouncement, float], None]) -> None:
        self._office, self._take = office, take
        self._polls = 0
        self._in_vain = 0
        self._key = ""
        """The call under way."""
        self._homeless: list[Fields] = []
        """Matches that wait for their players' addresses: then the call under way asks for those."""

    def begin(self, now: float) -> None:
        """We have become a member, or are one again."""
        self.end()
        enrolment = self._office.enrolment
        is_guest = enrolment.is_enrolled and not enrolment.derived_tokens
        if is_guest and self._office.settings.profile == "compat" and self._office.docket.state != "SHUTDOWN":
            self._in_vain = 0
            self._office.calls.wake(self, now + POLL_AFTER_S)

    def end(self) -> None:
        """Matches come by themselves, or none will come: ask no more in this membership."""
        self._office.calls.let_sleep(self)
        if self._key:
            self._office.cancel(self._key)
            self._close()

    # --- calls --------------------------------------------------------------------------------------------------------

    def due(self, now: float) -> None:
        if self._office.docket.open:
            self._again(now)
            return
        self._polls += 1
        self._in_vain += 1
        enrolment = self._office.enrolment
        message = GetAssignedMatches(
            **self._envelope(now), referee_id=enrolment.agent_id, league_id=enrolment.league_id or None
        )
        self._call(f"assigned/{self._polls}", message, now)

    def _ask_for_addresses(self, now: float) -> None:
        message = LeagueQuery(
            **self._envelope(now),
            league_id=self._office.enrolment.league_id or offers.UNNAMED_LEAGUE,
            query_type=REGISTRATIONS,
            query_params=QueryParams(),
        )
        self._call(f"addresses/{self._polls}", message, now)

    def _envelope(self, now: float) -> dict[str, Any]:
        """Any: as `seal` has it."""
        return self._office.sealed(now, f"conv-{self._office.enrolment.agent_id}-poll-{self._polls}".lower())

    def _call(self, key: str, message: Message, now: float) -> None:
        self._key = key
        deadline = now + EXCHANGES["LEAGUE_QUERY"].limit_s
        self._office.calls.call(Outgoing(key, (self._office.manager,), message, deadline), self)

    def _close(self) -> list[Fields]:
        """Nothing is under way any more; the matches that waited for it."""
        self._office.calls.forget([self._key])
        homeless, self._homeless, self._key = self._homeless, [], ""
        return homeless

    def _again(self, now: float, at_least: float = 0.0) -> None:
        pause = POLL_SLOWLY_S if self._in_vain >= IN_VAIN else POLL_S
        self._office.calls.wake(self, now + max(pause, at_least))

    # --- answers ------------------------------------------------------------------------------------------------------

    def answered(self, letter: Letter, now: float) -> None:
        homeless = self._close()
        content = letter.content
        told = content.data if isinstance(content, Information) else {}
        if isinstance(content, Information):
            self._office.enrolment.accepted()
        elif isinstance(content, Refusal):
            self._office.enrolment.refused(content.code, now)
            if not content.understood and not homeless:
                return
        if homeless:
            self._look_at(homeless, _homes_in(told), now)
        else:
            self._homeless = self._look_at(_listed(told, _MATCHES), None, now)
        if self._homeless:
            self._ask_for_addresses(now)
        else:
            self._again(now)

    def failed(self, failed: Undelivered, now: float) -> None:
        homeless = self._close()
        if failed.failure is not Failure.NOT_UNDERSTOOD or homeless:
            self._again(now, failed.retry_after or 0.0)

    def _look_at(self, listed: list[Fields], homes: dict[str, str] | None, now: float) -> list[Fields]:
        """Take what is new and ours. Those to come back to when the addresses are known."""
        homeless = []
        for one in listed:
            try:
                if self._is_wanted(one) and not self._is_taken(one, homes, now):
                    homeless.append(one)
            except PeerError as error:
                clause = error.requirement or "ROUND_ANNOUNCEMENT.matches"
                odd = Violation(error.code, "matches", error.detail, clause, lenient=True)
                self._office.enrolment.deviated((odd,), now)
        return homeless

    def _is_wanted(self, given: Fields) -> bool:
        """Some list matches of everybody, and those of long ago."""
        fields = offers.all_of(given)
        referee_id, status = fields.get("referee_id"), fields.get("status")
        is_done = isinstance(status, str) and status.upper() in _DONE
        return not is_done and referee_id in (None, self._office.enrolment.agent_id)

    def _is_taken(self, given: Fields, homes: dict[str, str] | None, now: float) -> bool:
        """False if it must be known first where its players live. PeerError for what nobody could play."""
        if homes:
            given = {**given, "player_endpoints": {**homes, **offers.endpoints_in(offers.all_of(given))}}
        announcement = offers.announcement_in(given, self._office.enrolment, now).open()
        assert isinstance(announcement, RoundAnnouncement)
        (match,) = announcement.matches
        if not assignments.is_new(match, self._office):
            return True
        if homes is None and None in (match.player_A_endpoint, match.player_B_endpoint):
            return False
        self._take(announcement, now)
        self._in_vain = 0
        self._office.enrolment.deviated((offers.oddity(_METHOD),), now)
        return True


def _listed(told: Fields, names: tuple[str, ...]) -> list[Fields]:
    """The objects in the first list of such a name, in the answer or in what it is wrapped in."""
    places = [told, *(inner for one in _WRAPPERS if isinstance(inner := told.get(one), dict))]
    # A wrapper may hold nothing but the list.
    found = [place.get(name) for place in places for name in (*names, "result", "data")]
    rows = next((one for one in found if isinstance(one, list)), [])
    return [one for one in rows if isinstance(one, dict)]


def _homes_in(told: Fields) -> dict[str, str]:
    """Where the players of an answer live."""
    return dict(home for one in _listed(told, _PLAYERS) if (home := offers.home_in(one)) is not None)
