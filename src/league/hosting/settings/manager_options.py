"""The options of a manager."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from league.hosting.settings.options import (
    ADDRESSES,
    FLAG,
    KEY_VARIABLE,
    NAMES,
    NUMBER,
    NUMBERS,
    REACH,
    SECONDS,
    SHARED,
    TEXT,
    WHOLE,
    RoleOptions,
    league_setting,
    option,
)
from league.settings import HOUSE


@dataclass(frozen=True, slots=True, kw_only=True, repr=False, eq=False)
class ManagerOptions(RoleOptions):
    """The options of a manager."""

    role: ClassVar[str] = "manager"
    usual_port: ClassVar[int] = 8000
    useful: ClassVar[tuple[str, ...]] = ("players", "referees", "game", "port", "journal")

    players: int = league_setting("players", WHOLE, "how many players the league has", least=2)
    referees: int = league_setting(
        "referees", WHOLE, "how many referees must be registered before the league starts", least=1
    )
    game: str = league_setting("game_type", TEXT, "the game to play", placeholder="NAME")
    league_id: str = league_setting(
        "league_id", TEXT, "the league's id (default: made from the date)", placeholder="ID"
    )
    title: str = league_setting(
        "title", TEXT, "show this title on pages and in the terminal instead of the league's id"
    )
    rounds: int | None = league_setting("rounds", WHOLE, "play only this many rounds of the schedule", least=1)
    double: bool = league_setting("double", FLAG, "let every pair meet twice")
    start: str = league_setting(
        "start",
        TEXT,
        "when the league starts: when-full, manual, or a time such as 18:30",
        placeholder="when-full|manual|TIME",
    )
    late: Literal["admit", "refuse"] = league_setting(
        "late",
        TEXT,
        "players that come after the start: admit them (they play missed matches in extra rounds) or refuse them",
        choices=("admit", "refuse"),
    )
    preset: Literal["local", "official"] = league_setting(
        "announcement_lead_s",
        TEXT,
        "local: quick; official: a minute between announcement and play",
        default="local",
        choices=("local", "official"),
    )
    move_seconds: float = league_setting("move_seconds", SECONDS, "how long a player may think about a move", least=0.1)
    fallback: Literal["allow", "refuse"] = league_setting(
        "fallback",
        TEXT,
        "choices that a player's language model did not make: allow and mark them, or let the player lose the match",
        choices=("allow", "refuse"),
    )
    outage_minutes: float = league_setting(
        "outage_minutes",
        NUMBER,
        "how long matches wait in all for a player while a third are silent (0: no match ever waits)",
        least=0,
        placeholder="MINUTES",
    )
    endpoints: tuple[str, ...] = league_setting(
        "endpoints",
        REACH,
        "how far away agents may be, each at the address it registers from; and networks (10.1.0.0/16), HOST or "
        "HOST:PORT where they may also be, wherever they register from",
    )
    trust: Literal["tokens", "class"] = league_setting(
        "trust",
        TEXT,
        "what proves who sent a report or an answer: tokens only; or, for agents that show none, also the address it "
        "came from (with --endpoints local or lan)",
        choices=("tokens", "class"),
    )
    enrolment: Literal["open", "key", "approve"] | None = league_setting(
        "enrolment",
        TEXT,
        "who may register: anybody; referees with the key only; or agents that the operator approves (default: all "
        "players, on this machine as many referees as the start needs, and later ones with the key or approval)",
        default=None,
        choices=("open", "key", "approve"),
    )
    enrolment_key: str = option(
        TEXT,
        "",
        "the key that referees register with (default: a new one, which the manager keeps)",
        variable=KEY_VARIABLE,
        only_in_file=True,
    )
    state: str = option(
        TEXT,
        "",
        "keep admin token and enrolment key in this folder (default: the journal's folder)",
        placeholder="DIR",
    )
    managers: tuple[str, ...] = option(
        ADDRESSES,
        (),
        "another address of this manager, or one of its standby: members are told, and the manager answers to its "
        "name; may be repeated",
    )
    max_referees: int = option(
        WHOLE, HOUSE.max_referees, "accept at most this many referees", least=1, only_in_file=True
    )
    shared: str | None = option(
        TEXT, None, f'{SHARED} (default: the journal\'s folder; "": nowhere)', placeholder="DIR"
    )
    """None: in the folder of the journal; "": nowhere."""
    announcement_lead_s: float | None = league_setting(
        "announcement_lead_s",
        SECONDS,
        "seconds between announcement and play",
        default=None,
        least=0,
        only_in_file=True,
    )
    retry_delays_s: tuple[float, ...] = league_setting(
        "retry_delays_s", NUMBERS, "pauses before the retries of a call", least=0, only_in_file=True
    )
    standings_interval_s: float = option(
        SECONDS,
        HOUSE.standings_interval_s,
        "least time between two standings updates",
        least=0,
        only_in_file=True,
    )
    unique_names: bool = option(FLAG, HOUSE.unique_names, "names must be unique", only_in_file=True)
    tiebreakers: tuple[str, ...] = league_setting(
        "tiebreakers", NAMES, "the criteria that sort the table, in order", only_in_file=True
    )
