"""Where in its journal a league is looked at: as it is now, or as it was after one of its events."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from league.events import Event
from league_dashboard.history import Moment
from league_dashboard.league_view import LeagueView, league_view


@dataclass(frozen=True, slots=True)
class HistoryView:
    """What the page needs to lead to any other position. `seq` is None for the league as it is now."""

    rounds: int
    """So many are over: the league after each of them can be looked at."""
    last: int = field(compare=False)
    """Events of the journal. One more is no reason to send the piece again."""
    seq: int | None = None
    told: str = "As it is now."


def as_it_was(moment: Moment, rounds: int) -> LeagueView:
    """The league page of a moment; `rounds` are over by now."""
    event = moment.event
    when = f"{datetime.fromtimestamp(event.at, UTC):%Y-%m-%d %H:%M:%S} UTC"
    told = f"As it was after event {moment.seq} of {moment.last}, {when}: {_named(event)}."
    return replace(league_view(moment.manager), history=HistoryView(rounds, moment.last, moment.seq, told))


def _named(event: Event) -> str:
    """What happened, and to whom: ResultAccepted of a match is "result accepted, R1M1"."""
    words = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", type(event).__name__).lower()
    about = getattr(event, "match_id", None) or getattr(event, "agent_id", None)
    round_id = getattr(event, "round_id", None)
    return f"{words}, {about or f'round {round_id}'}" if about or round_id else words
