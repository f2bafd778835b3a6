"""The options of a referee."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from league.hosting.options import DEFAULTS, FLAG, HOMES, KEY_VARIABLE, TEXT, WHOLE, MemberOptions, option


@dataclass(frozen=True, slots=True, kw_only=True, repr=False, eq=False)
class RefereeOptions(MemberOptions):
    """The options of a referee."""

    role: ClassVar[str] = "referee"
    usual_port: ClassVar[int] = 8001
    useful: ClassVar[tuple[str, ...]] = ("manager", "port", "name", "max_concurrent_matches", "journal")

    game: str = option(TEXT, DEFAULTS.game_type, "the game to play", placeholder="NAME")
    enrolment_key: str = option(
        TEXT,
        "",
        f"the key to register with (default: {KEY_VARIABLE}, or the key kept by a manager on this machine)",
        variable=KEY_VARIABLE,
        placeholder="KEY",
    )
    state: str = option(TEXT, "", "the folder where the manager keeps its enrolment key", placeholder="DIR")
    max_concurrent_matches: int = option(
        WHOLE,
        DEFAULTS.max_concurrent_matches_limit,
        "how many matches to run at once",
        least=1,
        most=64,  # the protocol's bound; importing it would slow down every command
    )
    ask_standings: bool = option(FLAG, False, "ask the manager for the table once a round, as the demo's referees do")
    player_addresses: tuple[tuple[str, str], ...] = option(
        HOMES,
        (),
        "where a player is, such as P01=http://127.0.0.1:8101, if the manager does not say; may be repeated",
        flag_name="player",
    )
    draw_as: str = option(
        TEXT,
        "auto",
        "the winner of a draw in reports to managers by others: null, DRAW, TIE or any word; auto: find out",
        placeholder="WORD",
    )
    trust: Literal["tokens", "class"] = option(
        TEXT,
        "tokens",
        "what proves under a manager by others who sent an answer: tokens and the conversation_id of the call; or, for "
        "players that show neither, also the address it came from",
        choices=("tokens", "class"),
    )
    agents_config: str = option(
        TEXT,
        "config/agents/agents_config.json",
        "a file that says where players are, if the manager does not",
        placeholder="FILE",
    )
