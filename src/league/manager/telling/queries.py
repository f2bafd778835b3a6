"""LEAGUE_QUERY: five questions about the league, answered from the ledger (spec section 11).

Third-party agents also ask what the documents define no message for (section 13.4): which matches a referee has, and
the table. No answer contains a secret: neither tokens nor choices of matches that are being played.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from msgspec import structs

from league.events import AgentRole, ResultAccepted
from league.machine import ADDRESS_QUERIES, Information, Inquiry
from league.manager.manager_context import ManagerPart
from league.manager.members.authentication import Authenticated, Authentication
from league.manager.staffing.dispatch import Dispatches
from league.manager.state.ledger import ScheduledMatch
from league.manager.state.roster import Member
from league.manager.telling.manager_messages import Messages, table
from league.protocol.errors import PeerError, Violation
from league.protocol.message.envelope import Unsealed, seal
from league.protocol.message.exchanges import EXCHANGES
from league.protocol.message.messages import LeagueQuery, LeagueQueryResponse
from league.protocol.message.parts import QueryError, QueryParams
from league.protocol.signing import tokens

Object = dict[str, Any]
_ROLES: tuple[AgentRole, ...] = ("player", "referee")
_NOT_STARTED = "there is no schedule yet: the league has not started"


@dataclass(slots=True)
class LeagueQueries(ManagerPart):
    """Answers any member, about anyone."""

    authentication: Authentication
    messages: Messages
    dispatches: Dispatches

    def answer(self, read: Unsealed, authenticated: Authenticated, now: float) -> LeagueQueryResponse:
        """Return the answer, which may say that there is none. PeerError refuses what names no question."""
        sender = authenticated.member
        try:
            self.context.check_league(read)
            if self._asks_for_addresses(read, sender):
                return self._registrations(read, sender, now)
            message = read.open()
            assert isinstance(message, LeagueQuery)
            params = message.query_params or QueryParams()
            data = _QUESTIONS[message.query_type](self, params, sender)
        except PeerError as error:
            return self._failure(read, error, now)
        return LeagueQueryResponse(
            **seal(tokens.MANAGER, now, message.conversation_id),
            query_type=message.query_type,
            success=True,
            data=data,
            standings=data.get("standings"),
            current_round=data.get("current_round"),
        )

    def _failure(self, read: Unsealed, error: PeerError, now: float) -> LeagueQueryResponse:
        query_type = read.field("query_type")
        conversation_id = read.field("conversation_id")
        # A response must name the question, and a message that is wrong as such gets an error instead.
        if not isinstance(query_type, str):
            raise error
        if read.violations and error.code == read.violations[0].code and _is_gross(read.violations[0]):
            raise error
        return LeagueQueryResponse(
            **seal(tokens.MANAGER, now, str(conversation_id)),
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

    def _standings(self, *_: object) -> Object:
        rows = [structs.asdict(row) for row in table(self._ledger)]
        return {"standings": rows, "current_round": self._ledger.current_round}

    def _schedule(self, params: QueryParams, sender: Member) -> Object:
        self._need_schedule()
        count = len(self._ledger.rounds)
        if params.round_id is None:
            round_ids = list(range(1, count + 1))
        elif params.round_id <= count:
            round_ids = [params.round_id]
        else:
            raise PeerError(
                "E008",
                f"there is no round {params.round_id}; the league has {count}",
            )
        return {"rounds": [{"round_id": round_id, "matches": self._round(round_id)} for round_id in round_ids]}

    def _round(self, round_id: int) -> list[Object]:
        game_type = self._ledger.settings.game_type
        return [
            {
                "match_id": match.match_id,
                "game_type": game_type,
                "player_A_id": match.player_a,
                "player_B_id": match.player_b,
                "referee_endpoint": self._referee_endpoint(match),
                "status": match.public_status,
                "winner": match.result.winner if match.result else None,
            }
            for match in self._ledger.matches_in(round_id)
        ]

    def _next_match(self, params: QueryParams, sender: Member) -> Object:
        player = self._player(params, sender)
        self._need_schedule()
        for match_id in self._ledger.matches_of[player.agent_id]:
            match = self._ledger.matches[match_id]
            if match.result is None:
                next_match = {
                    "match_id": match_id,
                    "round_id": match.round_id,
                    "opponent_id": match.opponent(player.agent_id),
                    "referee_endpoint": self._referee_endpoint(match),
                }
                return {"next_match": next_match}
        return {"next_match": None}

    def _player_stats(self, params: QueryParams, sender: Member) -> Object:
        player = self._player(params, sender)
        row = next(row for row in table(self._ledger) if row.player_id == player.agent_id)
        matches = [self._ledger.matches[match_id] for match_id in self._ledger.matches_of[player.agent_id]]
        current_round = self._ledger.current_round
        return {
            **structs.asdict(row),
            "technical_losses": player.attendance.technical_losses,
            "matches": [
                _played(match, player.agent_id)
                for match in matches
                if match.result is not None or match.round_id <= current_round
            ],
        }

    def _status(self, params: QueryParams, sender: Member) -> Object:
        ledger = self._ledger
        players = len(ledger.roster.roles.get("player", ()))
        return {
            "league_id": self._ledger.settings.league_id,
            "status": ledger.state,
            "current_round": ledger.current_round,
            "total_rounds": len(ledger.rounds),
            "players": players,
            "referees": len(ledger.roster.members) - players,
            "players_expected": ledger.settings.players,
            "referees_expected": ledger.settings.referees,
            "matches_completed": len(ledger.matches) - ledger.undecided,
            "total_matches": len(ledger.matches),
            "champion": ledger.champion,
            "your_state": sender.state,
            "withdrawn": sender.attendance.withdrawn,
        }

    # --- what third-party agents ask ----------------------------------------------------------------------------------

    def sender_of(self, inquiry: Inquiry, now: float) -> Member | None:
        """Return the sender of an inquiry, or None if anybody may ask it. Only a referee may ask for its matches."""
        if not self.context.accepts_deviations:
            raise PeerError(
                "E036",
                f"there is no method {inquiry.method!r} here",
                requirement="RPC.method",
            )
        # The table is no secret, and those who ask for it this way often have no token at hand.
        if inquiry.method == "get_standings":
            return None
        member = self.authentication.identify(inquiry.params, now)
        if member.is_player:
            raise PeerError("E032", "matches are assigned to referees")
        detail = f"{inquiry.method} is a method of no document"
        self.context.record(
            member.agent_id,
            [Violation("E036", "method", detail, "RPC.method", lenient=True)],
            now,
        )
        return member

    def inform(self, referee: Member | None, now: float) -> Information:
        """Return the table for everybody, or the matches that were dispatched to a referee and not reported yet."""
        if referee is None:
            return Information(self._standings())
        matches = self.dispatches.polled(referee, now)
        more = {"referee_endpoint": referee.endpoint, "status": "ASSIGNED"}
        return Information({"matches": [{**self.dispatches.giving.listed(match), **more} for match in matches]})

    def _asks_for_addresses(self, read: Unsealed, sender: Member) -> bool:
        """True for a query of no document by which referees look for the addresses of players."""
        is_address_query = not sender.is_player and read.field("query_type") in ADDRESS_QUERIES
        return is_address_query and self.context.accepts_deviations

    def _registrations(self, read: Unsealed, sender: Member, now: float) -> LeagueQueryResponse:
        """Return where all members are. The query says nothing else, so everything it lacks is recorded with it."""
        self.context.record(sender.agent_id, read.violations, now)
        data: Object = {}
        for role in _ROLES:
            members = self._ledger.roster.of_role(role)
            data[f"{role}s"] = [_registered(member) for member in members if not member.attendance.withdrawn]
        return LeagueQueryResponse(
            **seal(tokens.MANAGER, now, str(read.field("conversation_id"))),
            query_type=str(read.field("query_type")),
            success=True,
            data=data,
        )

    # --- what they need -----------------------------------------------------------------------------------------------

    def _need_schedule(self) -> None:
        if not self._ledger.rounds:
            raise PeerError("E030", _NOT_STARTED)

    def _player(self, params: QueryParams, sender: Member) -> Member:
        """Return the player that the query is about: the sender if none is named."""
        if params.player_id is None and not sender.is_player:
            raise PeerError(
                "E003",
                "a referee must say which player it asks about",
                {"field": "query_params.player_id"},
            )
        player_id = sender.agent_id if params.player_id is None else params.player_id
        member = self._ledger.roster.members.get(player_id)
        if member is None or not member.is_player:
            raise PeerError(
                "E005",
                f"there is no player {player_id[:80]}",
                {"player_id": player_id[:80]},
            )
        return member

    def _referee_endpoint(self, match: ScheduledMatch) -> str | None:
        return self.context.member(match.referee_id).endpoint if match.referee_id else None

    def _protest(self, params: QueryParams, sender: Member) -> Object:
        """Acknowledge what players of 0.3.0 send; protests have no consequences any more (spec section 13)."""
        return {"match_id": params.match_id, "recorded": False}


_QUESTIONS: Mapping[str, Callable[[LeagueQueries, QueryParams, Member], Object]] = {
    "GET_STANDINGS": LeagueQueries._standings,
    "GET_SCHEDULE": LeagueQueries._schedule,
    "GET_NEXT_MATCH": LeagueQueries._next_match,
    "GET_PLAYER_STATS": LeagueQueries._player_stats,
    "GET_STATUS": LeagueQueries._status,
    "PROTEST": LeagueQueries._protest,
}


def _registered(member: Member) -> Object:
    """Return a member for a referee that looks for its address, in several spellings. It contains no token."""
    return {
        f"{member.role}_id": member.agent_id,
        "display_name": member.name.display_name,
        "version": member.version,
        "contact_endpoint": member.endpoint,
        "endpoint": member.endpoint,
        "game_types": list(member.game_types),
        "state": member.state,
    }


def _is_gross(worst: Violation) -> bool:
    """True if a field of the message itself is wrong. Errors in `query_type` and `query_params` get an answer."""
    return worst.code != "E029" and not worst.path.startswith("query_params")


def _played(match: ScheduledMatch, player: str) -> Object:
    """Return one match of a player. An unfinished one shows neither outcome nor choices."""
    opponent = match.opponent(player)
    choices = match.result.details.get("choices") if isinstance(match.result, ResultAccepted) else None
    if not isinstance(choices, dict):
        choices = {}
    return {
        "match_id": match.match_id,
        "opponent_id": opponent,
        "outcome": _outcome(match, player),
        "choice": choices.get(player),
        "opponent_choice": choices.get(opponent),
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
