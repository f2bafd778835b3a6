"""LEAGUE_QUERY: five questions about the league, answered from the ledger (spec section 11); and what agents by others
ask that is no message of the documents (section 13.4): which matches a referee has, and the table. Nothing of it is a
secret: neither tokens nor choices of matches that are being played.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from league.events import AgentRole, ResultAccepted
from league.machine import ADDRESS_QUERIES, Information, Inquiry
from league.manager.authentication import Authentication
from league.manager.context import ManagerPart
from league.manager.dispatch import Dispatches
from league.manager.ledger import ScheduledMatch
from league.manager.messages import Messages, columns, table
from league.manager.roster import Member
from league.protocol.envelope import Unsealed
from league.protocol.errors import PeerError, Violation
from league.protocol.exchanges import EXCHANGES
from league.protocol.messages import LeagueQuery, LeagueQueryResponse
from league.protocol.parts import QueryError, QueryParams

Object = dict[str, Any]
_ROLES: tuple[AgentRole, ...] = ("player", "referee")
_NOT_STARTED = "there is no schedule yet: the league has not started"


@dataclass(slots=True)
class LeagueQueries(ManagerPart):
    """Answers whoever is registered, about anyone."""

    authentication: Authentication
    messages: Messages
    dispatches: Dispatches

    def answer(self, read: Unsealed, asking: Member, now: float) -> LeagueQueryResponse:
        """The answer, be it that there is none; PeerError for what does not even name a question."""
        try:
            self.context.check_league(read)
            if self._asks_for_addresses(read, asking):
                return self._registrations(read, asking, now)
            message = read.open()
            assert isinstance(message, LeagueQuery)
            data = _QUESTIONS[message.query_type](self, message.query_params or QueryParams(), asking)
        except PeerError as error:
            return self._failure(read, error, now)
        return LeagueQueryResponse(
            **self.context.sealed(now, message.conversation_id),
            query_type=message.query_type,
            success=True,
            data=data,
            standings=data.get("standings"),
            current_round=data.get("current_round"),
        )

    def _failure(self, read: Unsealed, error: PeerError, now: float) -> LeagueQueryResponse:
        worst = read.violations[0] if read.violations else None
        query_type, conversation_id = read.field("query_type"), read.field("conversation_id")
        if not isinstance(query_type, str) or (worst is not None and error.code == worst.code and _is_gross(worst)):
            raise error
        return LeagueQueryResponse(
            **self.context.sealed(now, str(conversation_id)),
            query_type=query_type,
            success=False,
            error=QueryError(
                error_code=error.code,
                error_name=error.row.name,
                error_description=error.detail,
                rpc_code=error.row.number(EXCHANGES["LEAGUE_QUERY"].family),
            ),
        )

    # --- the questions ------------------------------------------------------------------------------------------------

    def _standings(self, params: QueryParams, asking: Member) -> Object:
        return {"standings": [columns(one) for one in table(self._ledger)], "current_round": self._ledger.current_round}

    def _schedule(self, params: QueryParams, asking: Member) -> Object:
        self._need_schedule()
        asked = params.round_id
        if asked is not None and asked > len(self._ledger.rounds):
            raise PeerError("E008", f"there is no round {asked}; the league has {len(self._ledger.rounds)}")
        numbers = range(1, len(self._ledger.rounds) + 1) if asked is None else [asked]
        return {"rounds": [{"round_id": one, "matches": self._round(one)} for one in numbers]}

    def _round(self, round_id: int) -> list[Object]:
        game_type = self._ledger.settings.game_type
        return [
            {
                "match_id": match.match_id,
                "game_type": game_type,
                "player_A_id": match.player_a,
                "player_B_id": match.player_b,
                "referee_endpoint": self._referee_endpoint(match),
                "status": _STATUS.get(match.status, "SCHEDULED"),
                "winner": match.result.winner if match.result else None,
            }
            for match in self._ledger.matches_in(round_id)
        ]

    def _next_match(self, params: QueryParams, asking: Member) -> Object:
        player = self._player(params, asking)
        self._need_schedule()
        for match_id in self._ledger.matches_of[player.agent_id]:
            match = self._ledger.matches[match_id]
            if match.result is None:
                found = {
                    "match_id": match_id,
                    "round_id": match.round_id,
                    "opponent_id": match.opponent(player.agent_id),
                    "referee_endpoint": self._referee_endpoint(match),
                }
                return {"next_match": found}
        return {"next_match": None}

    def _player_stats(self, params: QueryParams, asking: Member) -> Object:
        player = self._player(params, asking)
        row = next(columns(one) for one in table(self._ledger) if one.player_id == player.agent_id)
        matches = (self._ledger.matches[match_id] for match_id in self._ledger.matches_of[player.agent_id])
        opened = [one for one in matches if one.result is not None or one.round_id <= self._ledger.current_round]
        return {
            **row,
            "technical_losses": player.technical_losses,
            "matches": [_played(match, player.agent_id) for match in opened],
        }

    def _status(self, params: QueryParams, asking: Member) -> Object:
        ledger = self._ledger
        players = len(ledger.roster.roles.get("player", ()))
        return {
            "league_id": self.context.league_id,
            "status": ledger.state,
            "current_round": ledger.current_round,
            "total_rounds": len(ledger.rounds),
            "players": players,
            "referees": len(ledger.roster.members) - players,
            "matches_completed": len(ledger.matches) - ledger.undecided,
            "total_matches": len(ledger.matches),
            "champion": ledger.champion,
            "your_state": asking.state,
            "withdrawn": asking.withdrawn,
        }

    # --- what agents by others ask ------------------------------------------------------------------------------------

    def asker(self, inquiry: Inquiry, now: float) -> Member | None:
        """Who asks, if that matters: only a referee itself may ask for its matches, whoever else may know its id."""
        if not self.context.accepts_deviations:
            raise PeerError("E036", f"there is no method {inquiry.method!r} here", requirement="RPC.method")
        if inquiry.method == "get_standings":
            return None
        member = self.authentication.identify(inquiry.params, now)
        if member.is_player:
            raise PeerError("E032", "matches are assigned to referees")
        detail = f"{inquiry.method} is a method of no document"
        self.context.record(member.agent_id, [Violation("E036", "method", detail, "RPC.method", lenient=True)], now)
        return member

    def inform(self, asker: Member | None, now: float) -> Information:
        """The table for everybody; for a referee what was dispatched to it and it has not reported."""
        if asker is None:
            rows = [columns(row) for row in table(self._ledger)]
            return Information({"standings": rows, "current_round": self._ledger.current_round})
        matches = self.dispatches.polled(asker, now)
        more = {"referee_endpoint": asker.endpoint, "status": "ASSIGNED"}
        return Information({"matches": [{**self.dispatches.giving.listed(one), **more} for one in matches]})

    def _asks_for_addresses(self, read: Unsealed, asking: Member) -> bool:
        """A query of no document; who plays no match needs no addresses."""
        is_asked = not asking.is_player and read.field("query_type") in ADDRESS_QUERIES
        return is_asked and self.context.accepts_deviations

    def _registrations(self, read: Unsealed, asking: Member, now: float) -> LeagueQueryResponse:
        """Where everybody lives. It is all that such a query says: whatever else it lacks is recorded with it."""
        self.context.record(asking.agent_id, read.violations, now)
        data: Object = {
            f"{role}s": [_registered(one) for one in self._ledger.roster.of_role(role) if not one.withdrawn]
            for role in _ROLES
        }
        conversation, asked = (str(read.field(name)) for name in ("conversation_id", "query_type"))
        return LeagueQueryResponse(**self.context.sealed(now, conversation), query_type=asked, success=True, data=data)

    # --- what they need -----------------------------------------------------------------------------------------------

    def _need_schedule(self) -> None:
        if not self._ledger.rounds:
            raise PeerError("E030", _NOT_STARTED)

    def _player(self, params: QueryParams, asking: Member) -> Member:
        """The player asked about: the asking one if none is named."""
        if params.player_id is None and not asking.is_player:
            raise PeerError(
                "E003", "a referee must say which player it asks about", {"field": "query_params.player_id"}
            )
        player_id = asking.agent_id if params.player_id is None else params.player_id
        member = self._ledger.roster.members.get(player_id)
        if member is None or not member.is_player:
            raise PeerError("E005", f"there is no player {player_id[:80]}", {"player_id": player_id[:80]})
        return member

    def _referee_endpoint(self, match: ScheduledMatch) -> str | None:
        return self.context.member(match.referee_id).endpoint if match.referee_id else None


_QUESTIONS: Mapping[str, Callable[[LeagueQueries, QueryParams, Member], Object]] = {
    "GET_STANDINGS": LeagueQueries._standings,
    "GET_SCHEDULE": LeagueQueries._schedule,
    "GET_NEXT_MATCH": LeagueQueries._next_match,
    "GET_PLAYER_STATS": LeagueQueries._player_stats,
    "GET_STATUS": LeagueQueries._status,
}
_STATUS = {"ASSIGNED": "RUNNING", "COMPLETED": "COMPLETED", "PARKED": "PARKED"}


def _registered(member: Member) -> Object:
    """A member for a referee that looks for its address, in whatever words; no token is in it."""
    return {
        f"{member.role}_id": member.agent_id,
        "display_name": member.display_name,
        "version": member.version,
        "contact_endpoint": member.endpoint,
        "endpoint": member.endpoint,
        "game_types": list(member.game_types),
        "state": member.state,
    }


def _is_gross(worst: Violation) -> bool:
    """A field of the message itself is wrong: only failures in `query_params` and of `query_type` are answers."""
    return worst.code != "E029" and not worst.path.startswith("query_params")


def _played(match: ScheduledMatch, player: str) -> Object:
    """One match of a player; an unfinished one shows neither outcome nor choices."""
    opponent = match.opponent(player)
    choices = match.result.details.get("choices") if isinstance(match.result, ResultAccepted) else None
    shown = choices if isinstance(choices, dict) else {}
    return {
        "match_id": match.match_id,
        "opponent_id": opponent,
        "outcome": _outcome(match, player),
        "choice": shown.get(player),
        "opponent_choice": shown.get(opponent),
    }


def _outcome(match: ScheduledMatch, player: str) -> str | None:
    result = match.result
    if result is None:
        return None
    if result.winner == player:
        return "WIN"
    if not isinstance(result, ResultAccepted):
        return "WALKOVER"
    if result.status == "TECHNICAL_LOSS":
        return "TECHNICAL_LOSS"
    return "DRAW" if result.winner is None else "LOSS"
