"""The options of a referee."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from league.hosting.settings.options import DEFAULTS, FLAG, HOMES, KEY_VARIABLE, TEXT, WHOLE, MemberOptions, option

ASK_VARIABLE = "LEAGUE_ASK_STANDINGS"


@dataclass(frozen=True, slots=True, kw_only=True, repr=False, eq=False)
class RefereeOptions(MemberOptions):
    """The options of a referee."""

    role: ClassVar[str] = "referee"
    usual_port: ClassVar[int] = 8001
    useful: ClassVar[tuple[str, ...]] = ("manager", "port", "name", "max_concurrent_matches", "journal")

    game: str = option(TEXT, DEFAULTS.game_type, "the game to play (default: the league's)", placeholder="NAME")
    enrolment_key: str = option(
        TEXT,
        "",
        "the key to register with (default: the key kept by a manager on this machine)",
        variable=KEY_VARIABLE,
        only_in_file=True,
    )
    state: str = option(TEXT, "", "the folder where the manager keeps its enrolment key", placeholder="DIR")
    max_concurrent_matches: int = option(
        WHOLE,
        10,
        "how many matches to run at once",
        least=1,
        most=64,  # the protocol's bounds; importing them would slow down every command
    )
    ask_standings: bool = option(
        FLAG,
        False,
        "ask the manager for the table once a round, as the demo's referees do",
        variable=ASK_VARIABLE,
        only_in_file=True,
    )
    player_addresses: tuple[tuple[str, str], ...] = option(
        HOMES,
        (),
        "where a player is, such as P01=http://127.0.0.1:8101, if the manager does not say; may be repeated",
        flag_name="player",
    )
    draw_as: str = option(
        TEXT,
        "auto",
        "the winner of a draw in reports to third-party managers: null, DRAW, TIE or any word; auto: find out",
        placeholder="WORD",
    )
    trust: Literal["tokens", "class"] = option(
        TEXT,
        "tokens",
        "what proves under a third-party manager who sent an answer: tokens and the conversation_id of the call; or, "
        "for players that show neither, also the address it came from",
        choices=("tokens", "class"),
    )
