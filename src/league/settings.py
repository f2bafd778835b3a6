"""The settings of a league, which are part of its journal."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct


class LeagueSettings(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The settings of a league, fixed when its journal is created.

    A new setting needs a default that means what leagues did before: journals without it are replayed, too.
    """

    league_id: str
    title: str = ""
    """What people call the league; pages and terminals show it in place of the id."""
    game_type: str = "even_odd"
    players: int = 4
    referees: int = 1
    max_referees: int = 10
    double: bool = False
    rounds: int | None = None
    start: Literal["when-full", "manual", "at"] = "when-full"
    start_at: float | None = None
    """Seconds since the epoch at which the league starts, if `start` is "at"."""
    profile: Literal["compat", "strict"] = "compat"
    move_seconds: float = 30.0
    retry_delays_s: tuple[float, ...] = (2.0, 2.0, 2.0)
    announcement_wait_s: float = 1.0
    announcement_lead_s: float = 0.0
    standings_interval_s: float = 1.0
    start_match_after_s: float = 15.0
    """How long a referee by others may take to report before the manager gives it the match in another way."""
    referee_patience_s: float | None = None
    """The same for a referee that acknowledged the announcement as documented; None: as long as the longest match."""
    outage_minutes: float = 10.0
    """How long the league waits in one round while many players are gone at once; 0: it never waits."""
    draw: Literal["auto", "shared", "referee"] = "referee"
    """The referee draws alone, or together with the manager; "auto" shares the draws of referees that came in openly
    (spec section 12.1)."""
    outage_share: float = 1 / 3
    """The share of players, at least three of them, that must be gone at once for the league to wait. It also waits
    for half of them, at least two."""
    unique_names: bool = True
    late_referees: bool = True
    late: Literal["admit", "refuse"] = "refuse"
    """What to do with players that come after the start; admitted players catch up in extra rounds."""
    fallback: Literal["allow", "refuse"] = "allow"
    """What becomes of a choice that a language model should have made and did not: with "refuse", the player loses."""
    max_concurrent_matches_limit: int = 10
    tiebreakers: tuple[str, ...] = ("points", "wins", "draws", "head_to_head")
    enrolment: Literal["guarded", "open", "key", "approve"] = "guarded"
    """Which agents may register. "guarded" admits all players, and referees by the rules of section 7.2."""
    open_referees: int | None = None
    """How many referees may register openly on this machine before the start; None: as many as the start needs."""
    # The operator may change these three: EndpointsChanged and TrustChanged then have the new values.
    trust: Literal["tokens", "class"] = "tokens"
    """What proves who sent a report or an answer: a token only, or in a class also the address it came from."""
    endpoints: Literal["local", "lan", "public"] = "local"
    """How far away agents may be."""
    allow_endpoint: tuple[str, ...] = ()
    """Networks and hosts where agents may be, too."""

    @property
    def shown_title(self) -> str:
        """The title, or the id of a league without one."""
        return self.title or self.league_id
