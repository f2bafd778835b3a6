"""The settings of a league, which are part of its journal."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct


class LeagueSettings(Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """The settings of a league, fixed when its first agent registers.

    A new setting needs a default that means what leagues did before: journals without it are replayed, too. A setting
    that goes is named in `storage.retired`.
    """

    league_id: str
    title: str = ""
    """What people call the league; pages and terminals show it in place of the id."""
    game_type: str = "even_odd"
    players: int = 4
    referees: int = 1
    double: bool = False
    rounds: int | None = None
    start: Literal["when-full", "manual"] | float = "when-full"
    """A number is the time at which the league starts, in seconds since the epoch."""
    profile: Literal["compat", "strict"] = "compat"
    move_seconds: float = 30.0
    retry_delays_s: tuple[float, ...] = (2.0, 2.0, 2.0)
    announcement_lead_s: float = 0.0
    outage_minutes: float = 10.0
    """How many minutes in all matches wait for a player while many players are silent; 0: no match waits."""
    late: Literal["admit", "refuse"] = "refuse"
    """What to do with players that come after the start; admitted players catch up in extra rounds."""
    fallback: Literal["allow", "refuse"] = "allow"
    """What becomes of a choice that a language model should have made and did not: with "refuse", the player loses."""
    tiebreakers: tuple[str, ...] = ("points", "wins", "draws", "head_to_head")
    enrolment: Literal["guarded", "open", "key", "approve"] = "guarded"
    """Which agents may register. "guarded" admits all players, and referees by the rules of section 7.2."""
    # The operator may change these two later: SettingsChanged then has the new values.
    trust: Literal["tokens", "class"] = "tokens"
    """What proves who sent a report or an answer: a token only, or in a class also the address it came from."""
    endpoints: tuple[str, ...] = ("local",)
    """Where agents may be: "local", "lan" or "public", then networks and hosts where they may be, too."""

    @property
    def shown_title(self) -> str:
        """The title, or the id of a league without one."""
        return self.title or self.league_id

    @property
    def start_at(self) -> float | None:
        """The time at which the league starts; None if it does not start at a time."""
        return None if isinstance(self.start, str) else self.start

    @property
    def announcement_wait_s(self) -> float:
        """How long a round waits for players that do not answer its announcement."""
        return min(max(1.0, self.announcement_lead_s / 6), 10.0)


class HouseRules(Struct, frozen=True, kw_only=True):
    """Rules of a manager that no result depends on. They are in no journal: each start may have others."""

    max_referees: int = 10
    open_referees: int | None = None
    """How many referees may register openly on this machine before the start; None: as many as the start needs."""
    unique_names: bool = True
    standings_interval_s: float = 1.0


HOUSE = HouseRules()
"""The usual ones."""
