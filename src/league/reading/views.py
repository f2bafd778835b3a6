"""A league as plain data, from a manager that is running or was replayed from its journal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from league.events import ResultAccepted, WalkoverDecided
from league.manager.league_manager import LeagueManager
from league.manager.state.ledger import ScheduledMatch
from league.manager.state.roster import Member
from league.protocol.message.experiment import written
from league.reading import endings
from league.reading.awaited import awaited

Object = dict[str, Any]
"""A JSON object (Any: its values are whatever JSON holds)."""

_STATUS = {"INIT": "registered", "REGISTERED": "registered", "ACTIVE": "playing", "SHUTDOWN": "finished"}
_REFUSED = ("at", "request", "role", "name", "endpoint", "match_id", "code", "detail")
_APPLICANT = ("applicant_id", "role", "display_name", "endpoint", "origin", "applied_at")


def league(manager: LeagueManager, journal_seq: int) -> Object:
    """The state of the league after this many events of its journal."""
    ledger = manager.ledger
    total = len(ledger.matches)
    return {
        "league_id": ledger.settings.league_id,
        "title": ledger.settings.title,
        "manager_key": ledger.manager_key,
        "game_type": ledger.settings.game_type,
        "state": ledger.state,
        "waiting": manager.waiting,
        "waiting_reason": manager.waiting_reason,
        "awaited": list(awaited(manager)),
        "round": ledger.current_round,
        "rounds": len(ledger.rounds),
        "matches_completed": total - ledger.undecided,
        "matches_total": total,
        "technical_losses": ledger.sums.technical_losses,
        "champion": ledger.champion,
        "journal_seq": journal_seq,
        "head": msgspec.to_builtins(manager.journal_head()),
    }


def gauges(manager: LeagueManager) -> dict[str, float]:
    """The league in numbers, by their names in /metrics."""
    ledger = manager.ledger
    members = ledger.roster.members.values()
    total = len(ledger.matches)
    agents = Counter(f'agents{{role="{member.role}",state="{member.state}"}}' for member in members)
    return {
        **agents,
        "applicants": sum(1 for _ in ledger.roster.applicants.waiting),
        "matches": total,
        "matches_completed": total - ledger.undecided,
        "matches_open": sum(match.public_status == "RUNNING" for match in ledger.matches.values()),
        "round": ledger.current_round or 0,
        "rounds": len(ledger.rounds),
    }


# --- table and schedule -----------------------------------------------------------------------------------------------


def standings(manager: LeagueManager) -> Object:
    """The table and its version, the technical losses of each player, the results by word, what else the table does not
    say, and how the league ended."""
    players = manager.ledger.roster.of_role("player")
    return {
        "version": manager.ledger.standings.version,
        "standings": msgspec.to_builtins(manager.standings),
        "technical_losses": {player.agent_id: player.attendance.technical_losses for player in players},
        "by_word": list(manager.ledger.sums.by_word),
        "notes": list(endings.notes(manager)),
        "ending": endings.ending(manager),
    }


def schedule(manager: LeagueManager) -> Object:
    """All rounds with their matches, without choices."""
    ledger = manager.ledger
    return {
        "rounds": [
            {
                "round_id": round_id,
                "bye": round_.bye,
                "finished": round_.finished,
                "matches": [match_row(ledger.matches[match_id]) for match_id in round_.matches],
            }
            for round_id, round_ in enumerate(ledger.rounds, start=1)
        ]
    }


def match_row(match: ScheduledMatch) -> Object:
    """A match in the schedule."""
    result = match.result
    return {
        "match_id": match.match_id,
        "round_id": match.round_id,
        "player_A_id": match.player_a,
        "player_B_id": match.player_b,
        "status": match.public_status,
        "referee_id": match.referee_id,
        "attempt": match.attempt,
        "winner": result.winner if result else None,
        "outcome": _outcome(match),
        "evidence": match.basis.evidence if match.basis else None,
    }


def _refused_about(manager: LeagueManager, match_id: str) -> list[Object]:
    """The refused reports about a match, and the refused answers in it."""
    refusals = [refusal for refusal in manager.ledger.irregularities.refusals if refusal.match_id == match_id]
    return [fields(refusal, (*_REFUSED, "attempt")) for refusal in refusals]


def _outcome(match: ScheduledMatch) -> str | None:
    if isinstance(match.result, WalkoverDecided):
        return "WALKOVER"
    return match.result.status if match.result else None


def match(manager: LeagueManager, match_id: str) -> Object | None:
    """A match with its result; None if there is no such match."""
    scheduled = manager.ledger.matches.get(match_id)
    if scheduled is None:
        return None
    row = match_row(scheduled)
    # A walkover has neither points nor details: nobody played.
    row |= {"points": None, "details": None, "decided_at": None, "corrected": []}
    basis = scheduled.basis
    row |= {
        "unsigned": list(basis.unsigned) if basis else [],
        "doubt": basis.doubt if basis else "",
    }
    row["refused"] = _refused_about(manager, match_id)
    result = scheduled.result
    if isinstance(result, ResultAccepted):
        row |= {"points": result.points, "details": result.details, "decided_at": result.at}
        row["corrected"] = list(result.corrected)
    return row


# --- agents -----------------------------------------------------------------------------------------------------------


def agents(manager: LeagueManager) -> Object:
    """Every registered agent with its accepted deviations, every applicant that waits for approval or was rejected, and
    all refused registrations, reports and answers."""
    ledger = manager.ledger
    # The ledger has one set of deviations for all agents; here each agent gets its own.
    deviations: dict[str, list[Object]] = {}
    for agent_id, code, requirement in sorted(ledger.irregularities.deviations):
        deviations.setdefault(agent_id, []).append({"code": code, "requirement": requirement})
    applicants = ledger.roster.applicants
    return {
        "agents": [
            {
                "agent_id": member.agent_id,
                "role": member.role,
                "display_name": member.name.display_name,
                "version": member.version,
                "endpoint": member.endpoint,
                "state": member.state,
                "game_types": list(member.game_types),
                "technical_losses": member.attendance.technical_losses,
                "convention": member.convention,
                "shown_name": ledger.roster.shown_name(member),
                "status": status_of(member),
                "deviations": deviations.get(member.agent_id, []),
                "contested": list(member.credentials.contested.values()),
                "max_concurrent_matches": member.as_referee.capacity if member.role == "referee" else None,
                "conditions": [written(card) for card in member.conditions],
                "findings": manager.findings_about(member),
                "in_trouble": member.probed.in_trouble,
            }
            for member in ledger.roster.members.values()
        ],
        "not_answering": [
            {"agent_id": agent_id, "since": since, "why": manager.probe_failures.get(agent_id)}
            for agent_id, since in manager.not_answering().items()
        ],
        "applicants": [fields(applicant, _APPLICANT) for applicant in applicants.waiting],
        "approved": [fields(applicant, _APPLICANT) for applicant in applicants.approved],
        "rejected": [fields(applicant, _APPLICANT) for applicant in applicants.rejected],
        "refused": [fields(refusal, _REFUSED) for refusal in ledger.irregularities.refusals],
    }


PAGES: Mapping[str, Callable[[LeagueManager, int], Object]] = {
    "/api/league": league,
    "/api/standings": lambda manager, _: standings(manager),
    "/api/schedule": lambda manager, _: schedule(manager),
    "/api/agents": lambda manager, _: agents(manager),
}
"""The documents that a manager shows at fixed paths, after this many events of its journal."""


def status_of(member: Member) -> str:
    """The state of a member in words.

    A referee is suspended because it does not answer, a player because it loses matches by its own fault.
    """
    if member.attendance.withdrawn:
        return "withdrawn"
    if member.state == "SUSPENDED":
        return "not playing" if member.is_player else "not answering"
    return _STATUS[member.state]


def fields(row: object, names: Sequence[str]) -> Object:
    """These attributes of an object, by name."""
    return {name: getattr(row, name) for name in names}
