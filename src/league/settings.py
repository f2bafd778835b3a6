"""The settings of a league, which travel in its journal."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct


class LeagueSettings(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a league is played by; fixed when its journal is made."""

    league_id: str
    game_type: str = "even_odd"
    players: int = 4
    referees: int = 1
    max_referees: int = 10
    double: bool = False
    rounds: int | None = None
    start: Literal["when-full", "manual", "at"] = "when-full"
    start_at: float | None = None
    """When the league starts, with `start` "at": seconds since the epoch."""
    profile: Literal["compat", "strict"] = "compat"
    move_seconds: float = 30.0
    retry_delays_s: tuple[float, ...] = (2.0, 2.0, 2.0)
    announcement_wait_s: float = 1.0
    announcement_lead_s: float = 0.0
    standings_interval_s: float = 1.0
    start_match_after_s: float = 15.0
    """How long a referee by others may take to report before it is given a match in another way."""
    referee_patience_s: float | None = None
    """The same for one that acknowledged the announcement in the words of the documents; None: the longest match."""
    outage_minutes: float = 10.0
    """How long the league is held in one round while many players are gone at once; 0: never."""
    unique_names: bool = True
    late_referees: bool = True
    late: Literal["admit", "refuse"] = "refuse"
    """Players that come when the league has started: admitted ones play what they missed in extra rounds."""
    max_concurrent_matches_limit: int = 10
    tiebreakers: tuple[str, ...] = ("points", "wins", "draws", "head_to_head")
    enrolment: Literal["guarded", "open", "key", "approve"] = "guarded"
    """Who may register: "guarded" lets players in, and referees as section 7.2 says."""
