"""The position in its journal at which a league is shown: as it is now, or as it was after one of its events."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from league.events import Event
from league.features.dashboard.league_history import Moment
from league.features.dashboard.views.league_view import LeagueView, league_view


@dataclass(frozen=True, slots=True)
class HistoryView:
    """The links to all other positions. `seq` is None for the league as it is now."""

    rounds: int
    """The number of finished rounds: there is a link to the league after each of them."""
    last: int = field(compare=False)
    """The number of events in the journal. A new event is no reason to send the piece again."""
    seq: int | None = None
    sentence: str = "As it is now."


def as_it_was(moment: Moment, rounds: int) -> LeagueView:
    """The league page of a moment; `rounds` are over by now."""
    event = moment.event
    when = f"{datetime.fromtimestamp(event.at, UTC):%Y-%m-%d %H:%M:%S} UTC"
    sentence = f"As it was after event {moment.seq} of {moment.last}, {when}: {_named(event)}."
    history = HistoryView(rounds, moment.last, moment.seq, sentence)
    return replace(league_view(moment.manager), history=history)


def _named(event: Event) -> str:
    """The event and what it is about: ResultAccepted of a match is "result accepted, R1M1"."""
    # Events are named in the past tense, so their names can be read as they are.
    words = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", type(event).__name__).lower()
    for name in ("match_id", "agent_id"):
        subject = getattr(event, name, None)
        if subject:
            return f"{words}, {subject}"
    round_id = getattr(event, "round_id", None)
    if round_id:
        return f"{words}, round {round_id}"
    return words
