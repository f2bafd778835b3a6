"""What a league waits for, in sentences: the page shows the first of them, `league watch` all."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

from league.manager.league_manager import LeagueManager
from league.manager.state.ledger import Ledger


def waiting_sentence(manager: LeagueManager) -> str:
    """Why nothing is played at the moment; empty while something is."""
    sentence = ""
    match manager.waiting:
        case "WAITING_FOR_REGISTRATIONS":
            sentence = _registrations(manager.ledger)
        case "PAUSED":
            sentence = "Paused by the operator."
        case "WAITING_FOR_PLAYERS":
            sentence = f"Waiting for players: {manager.waiting_reason}."
        case "WAITING_FOR_OPERATOR":
            sentence = f"Waiting for the operator: {'; '.join(_parked(manager.ledger))}."
        case "WAITING_FOR_REFEREE":
            sentence = "Waiting for a referee: none answers."
        case "WAITING_FOR_REPORT":
            sentence = f"Waiting for a report: {manager.waiting_reason}."
        case _:
            pass
    return sentence


def _parked(ledger: Ledger) -> Iterator[str]:
    """Why matches wait for the operator."""
    if ledger.in_play.parked:
        yield f"every attempt to play {', '.join(ledger.in_play.parked)} failed"


def _registrations(ledger: Ledger) -> str:
    settings = ledger.settings
    roster = ledger.roster
    players = f"{len(roster.of_role('player'))} of {settings.players} players"
    referees = f"{len(roster.of_role('referee'))} of {settings.referees} referees"
    sentence = f"{players} and {referees} have registered"
    applicants = sum(1 for _ in roster.applicants.waiting)
    if applicants:
        sentence += f", {applicants} wait for the operator's approval"
    if settings.start == "manual":
        sentence += "; the operator starts the league"
    elif settings.start_at is not None:
        sentence += f"; the league starts at {datetime.fromtimestamp(settings.start_at, UTC):%Y-%m-%d %H:%M UTC}"
    return f"{sentence}."


def awaited(manager: LeagueManager) -> Iterator[str]:
    """Everything the league waits for: why it stands still, agents that do not answer, and the matches in play."""
    sentence = waiting_sentence(manager)
    if sentence:
        yield sentence
    ledger = manager.ledger
    silent = [
        agent_id for agent_id in manager.not_answering() if not ledger.roster.members[agent_id].attendance.withdrawn
    ]
    if silent:
        yield f"Not answering: {', '.join(silent)}."
    for referee_id, matches in ledger.in_play.holdings.items():
        for match_id in matches:
            match = ledger.matches[match_id]
            sentence = f"{match_id}: {match.player_a} against {match.player_b}, with {referee_id}"
            waiting = [player for player in match.current.pauses if player not in match.current.allowed]
            if waiting:
                sentence += f"; it had to wait for {' and '.join(waiting)}"
            yield sentence
