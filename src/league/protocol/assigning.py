"""How managers by others give a referee a match (spec section 13.4): one message a match, called by two names, or an
answer to its question. None of the documents' messages; ours sends them to those who know nothing else.
"""

from __future__ import annotations

from league.protocol.fields import Ordinal, Seconds, Text, Token, Url
from league.protocol.messages import LeagueQuery, Message, Request


class StartMatch(Request, kw_only=True, frozen=True, tag="START_MATCH"):
    """Who plays and where they live, in every spelling that referees look for."""

    league_id: Text
    round_id: Ordinal
    match_id: Text
    game_type: Text
    referee_id: Text
    referee_endpoint: Url
    attempt: Ordinal
    move_seconds: Seconds
    player_A_id: Text  # noqa: N815 - the announcement's spelling
    player_B_id: Text  # noqa: N815
    player_A_endpoint: Url  # noqa: N815
    player_B_endpoint: Url  # noqa: N815
    player_A_token: Token | None = None  # noqa: N815
    player_B_token: Token | None = None  # noqa: N815
    player_a_id: Text
    player_b_id: Text
    player_a: Text
    player_b: Text
    player_a_endpoint: Url
    player_b_endpoint: Url
    player1_id: Text
    player2_id: Text
    player1_endpoint: Url
    player2_endpoint: Url


class MatchAssignment(StartMatch, kw_only=True, frozen=True, tag="MATCH_ASSIGNMENT"):
    """The same under its other name."""


class GetAssignedMatches(Request, kw_only=True, frozen=True, tag="GET_ASSIGNED_MATCHES"):
    """What a referee asks a manager that tells it nothing by itself."""

    referee_id: Text
    league_id: Text | None = None


VERBS = {
    "START_MATCH": ("start_match",),
    "MATCH_ASSIGNMENT": ("assign_match", "match_assignment"),
    "GET_ASSIGNED_MATCHES": ("get_assigned_matches",),
}
"""The methods each is called by."""
REGISTRATIONS = "GET_REGISTRATIONS"
"""The LEAGUE_QUERY for the players' addresses, where a list of matches has none."""


def is_answered_freely(sent: Message) -> bool:
    """Is it a question whose answer no document describes?"""
    return isinstance(sent, GetAssignedMatches) or (isinstance(sent, LeagueQuery) and sent.query_type == REGISTRATIONS)
