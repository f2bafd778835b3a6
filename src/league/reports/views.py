"""A league as plain data, from a manager that is running or was replayed from its journal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from league.events import ResultAccepted, WalkoverDecided
from league.manager.league import LeagueManager
from league.manager.ledger import ScheduledMatch
from league.manager.roster import Member
from league.protocol.experiment import written

Object = dict[str, Any]
"""What becomes a JSON object (Any: its values are whatever JSON holds)."""

_AGENT = (
    *("agent_id", "role", "display_name", "version", "endpoint", "state"),
    *("game_types", "technical_losses", "convention"),
)
_STATUS = {"INIT": "registered", "REGISTERED": "registered", "ACTIVE": "playing", "SHUTDOWN": "finished"}
_REFUSED = ("at", "request", "role", "name", "endpoint", "match_id", "code", "detail")
_APPLICANT = ("applicant_id", "role", "display_name", "endpoint", "origin", "applied_at")


def league(manager: LeagueManager, journal_seq: int) -> Object:
    """The state of the league after that many events of its journal."""
    ledger = manager.ledger
    total = len(ledger.matches)
    return {
        "league_id": ledger.settings.league_id,
        "game_type": ledger.settings.game_type,
        "state": ledger.state,
        "waiting": manager.waiting,
        "waiting_reason": manager.waiting_reason,
        "round": ledger.current_round,
        "rounds": len(ledger.rounds),
        "matches_completed": total - ledger.undecided,
        "matches_total": total,
        "technical_losses": technical_losses(manager),
        "champion": ledger.champion,
        "journal_seq": journal_seq,
    }


def gauges(manager: LeagueManager) -> dict[str, float]:
    """The league in numbers, for /metrics; by their names there."""
    ledger, members = manager.ledger, manager.ledger.roster.members.values()
    total = len(ledger.matches)
    agents = Counter(f'agents{{role="{one.role}",state="{one.state}"}}' for one in members)
    return {
        **agents,
        "applicants": sum(1 for _ in ledger.roster.applicants.waiting),
        "matches": total,
        "matches_completed": total - ledger.undecided,
        "matches_open": sum(match.public_status == "RUNNING" for match in ledger.matches.values()),
        "round": ledger.current_round or 0,
        "rounds": len(ledger.rounds),
    }


def standings(manager: LeagueManager) -> Object:
    """The table and its version; how many losses of each player are technical ones; which results nothing proves."""
    players = manager.ledger.roster.of_role("player")
    return {
        "version": manager.ledger.standings.version,
        "standings": msgspec.to_builtins(manager.standings),
        "technical_losses": {one.agent_id: one.technical_losses for one in players},
        "unverified": unverified(manager),
    }


def unverified(manager: LeagueManager) -> list[str]:
    """The matches whose result rests on its referee's word (S-27)."""
    results = ((match_id, one.result) for match_id, one in manager.ledger.matches.items())
    return [match_id for match_id, one in results if isinstance(one, ResultAccepted) and not one.verified]


def schedule(manager: LeagueManager) -> Object:
    """All rounds with their matches, without choices."""
    ledger = manager.ledger
    return {
        "rounds": [
            {
                "round_id": round_id,
                "bye": one.bye,
                "finished": one.finished,
                "matches": [match_row(ledger.matches[match_id]) for match_id in one.matches],
            }
            for round_id, one in enumerate(ledger.rounds, start=1)
        ]
    }


def match_row(one: ScheduledMatch) -> Object:
    """A match in the schedule."""
    result = one.result
    return {
        "match_id": one.match_id,
        "round_id": one.round_id,
        "player_A_id": one.player_a,
        "player_B_id": one.player_b,
        "status": one.public_status,
        "referee_id": one.referee_id,
        "attempt": one.attempt,
        "winner": result.winner if result else None,
        "outcome": _outcome(one),
        "verified": result.verified if isinstance(result, ResultAccepted) else None,
    }


def _outcome(one: ScheduledMatch) -> str | None:
    if isinstance(one.result, WalkoverDecided):
        return "WALKOVER"
    return one.result.status if one.result else None


def match(manager: LeagueManager, match_id: str) -> Object | None:
    """One match with its result, if there is such a match."""
    found = manager.ledger.matches.get(match_id)
    if found is None:
        return None
    result = found.result
    shown: Object = {**match_row(found), "points": None, "details": None, "decided_at": None}
    if isinstance(result, ResultAccepted):
        shown |= {**fields(result, ("points", "details")), "decided_at": result.at}
    return shown


def agents(manager: LeagueManager) -> Object:
    """Every registered agent with its accepted deviations, every applicant that waits for approval or was
    rejected, and which registrations and reports were refused."""
    ledger = manager.ledger
    deviations: dict[str, list[Object]] = {}
    for agent_id, code, requirement in sorted(ledger.deviations):
        deviations.setdefault(agent_id, []).append({"code": code, "requirement": requirement})
    members, applicants = ledger.roster.members.values(), ledger.roster.applicants
    return {
        "agents": [
            {
                **fields(one, _AGENT),
                "status": status_of(one),
                "game_types": list(one.game_types),
                "deviations": deviations.get(one.agent_id, []),
                "contested": list(one.contested.values()),
                "conditions": [written(card) for card in one.conditions],
            }
            for one in members
        ],
        "not_answering": [
            {"agent_id": one, "since": since, "why": manager.probe_failures.get(one)}
            for one, since in manager.not_answering.items()
        ],
        "applicants": [fields(one, _APPLICANT) for one in applicants.waiting],
        "rejected": [fields(one, _APPLICANT) for one in applicants.rejected],
        "refused": [fields(one, _REFUSED) for one in ledger.refusals],
    }


PAGES: Mapping[str, Callable[[LeagueManager, int], Object]] = {
    "/api/league": league,
    "/api/standings": lambda manager, _: standings(manager),
    "/api/schedule": lambda manager, _: schedule(manager),
    "/api/agents": lambda manager, _: agents(manager),
}
"""What a manager shows at fixed paths, after that many events of its journal."""


def status_of(one: Member) -> str:
    """What a member does, in words. A referee is suspended because it does not answer, a player because it loses by
    faults of its own."""
    if one.withdrawn:
        return "withdrawn"
    if one.state == "SUSPENDED":
        return "not playing" if one.is_player else "not answering"
    return _STATUS[one.state]


def fields(one: object, names: Sequence[str]) -> Object:
    """These attributes of an object, by name."""
    return {name: getattr(one, name) for name in names}


def technical_losses(manager: LeagueManager) -> int:
    """Matches decided by somebody's fault."""
    results = (one.result for one in manager.ledger.matches.values())
    return sum(isinstance(one, ResultAccepted) and one.status == "TECHNICAL_LOSS" for one in results)
