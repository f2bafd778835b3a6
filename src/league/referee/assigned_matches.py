"""Finds our matches in an announcement, checks that they can be played, and journals them (R-22, section 9.3).

The manager may say more about a match that we have: other tokens, or other addresses. A match is taken once per
attempt; a newer attempt drops the older one. What must never happen: a token in the journal. Tokens stay beside it, as
secrets.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

import msgspec

from league.events import AssignmentCompleted, MatchDropped, MatchTaken
from league.games import registry
from league.games.draw import SEED_BYTES
from league.protocol.conventions import convention_of
from league.protocol.errors import PeerError
from league.protocol.message.messages import RoundAnnouncement
from league.protocol.message.parts import AnnouncedMatch, Record
from league.protocol.signing import tokens
from league.referee.match import Match
from league.referee.records import ZEROS
from league.referee.referee_context import RefereeContext

TOKEN_BYTES = 32
TRUST_CLASS = "class"
_NO_COUNTS = (None,) * len(ZEROS)
_LOCAL = frozenset({"localhost", "127.0.0.1", "[::1]", "0.0.0.0"})
_PLACE = re.compile(r"[Hh][Tt][Tt][Pp]://(?P<host>\[[^\]]*\]|[^:/?]+)(?::(?P<port>[0-9]+))?")


PerSeat = tuple[tuple[str, ...], tuple[str, ...]]
"""Texts for each of the two players."""


class Passes(msgspec.Struct, frozen=True):
    """The tokens we show each player of a match (the first, or else another), and digests of those it may answer with;
    kept as a secret."""

    shown: PerSeat = ((), ())
    answers: PerSeat = ((), ())
    replies: PerSeat = ((), ())
    """Digests of tokens that are good only in the reply to a call."""


class HostAndPort(NamedTuple):
    """Where an agent listens; both empty if its endpoint is no URL."""

    host: str
    port: str


def passes_of(secrets: Mapping[str, str], name: str) -> Passes:
    secret = secrets.get(f"match/{name}")
    if secret is None:
        return Passes()
    return msgspec.json.decode(secret, type=Passes)


def new_matches(announcement: RoundAnnouncement, context: RefereeContext) -> list[AnnouncedMatch]:
    """Return the matches that we are to play and do not know yet. PeerError, before anything is taken, for one that
    nobody could play."""
    ours = [announced for announced in announcement.matches if _is_ours(announced, context)]
    new = [announced for announced in ours if is_new(announced, context)]
    for announced in new:
        _check(announced)
    return new


def _is_ours(announced: AnnouncedMatch, context: RefereeContext) -> bool:
    membership = context.membership
    if announced.referee_id is not None:
        return announced.referee_id == membership.agent_id
    here = membership.meta.contact_endpoint
    if announced.referee_endpoint == here:
        return True
    # Our own managers repeat the endpoint as we registered it.
    return not membership.agreement.derived_tokens and is_same(announced.referee_endpoint, here)


def is_same(endpoint: str, here: str) -> bool:
    """Are these the same agent? Third-party managers write this machine's name in their own way."""
    theirs = place(endpoint)
    ours = place(here)
    # The port tells referees on one machine apart.
    if theirs.port != ours.port:
        return False
    return theirs.host == ours.host or {theirs.host, ours.host} <= _LOCAL


def place(endpoint: str) -> HostAndPort:
    """Return the host and the port of an endpoint."""
    parts = _PLACE.match(endpoint)
    if parts is None:
        return HostAndPort("", "")
    return HostAndPort(parts["host"].lower(), parts["port"] or "80")


def is_new(announced: AnnouncedMatch, context: RefereeContext) -> bool:
    """Were we never given this attempt?"""
    return (announced.attempt or 1) > context.docket.attempt_of(announced.match_id)


def endpoints_in(announced: AnnouncedMatch) -> dict[str, str]:
    """Return the addresses of its players, as far as it has them."""
    endpoints = {
        announced.player_A_id: announced.player_A_endpoint,
        announced.player_B_id: announced.player_B_endpoint,
    }
    return {player: endpoint for player, endpoint in endpoints.items() if endpoint is not None}


def has_standings(announced: AnnouncedMatch) -> bool:
    """Does the announcement have the records of both players?"""
    return announced.player_A_standings is not None and announced.player_B_standings is not None


def locate(
    match: Match,
    endpoints: Mapping[str, str],
    source: str,
    context: RefereeContext,
    now: float,
) -> bool:
    """Journal the addresses of a match's players as soon as both are known; True if this is news."""
    if match.is_located:
        return False
    player_a, player_b = match.taken.players
    home_a, home_b = match.taken.endpoints
    home_a = home_a or endpoints.get(player_a, "")
    home_b = home_b or endpoints.get(player_b, "")
    if not home_a or not home_b:
        return False
    context.happened(
        AssignmentCompleted(
            at=now,
            **match.named,
            endpoints=(home_a, home_b),
            source=source,
        )
    )
    return True


def move(
    match: Match,
    endpoints: Mapping[str, str],
    context: RefereeContext,
    now: float,
) -> None:
    """Journal that a player has another address now than when the match was given to us."""
    player_a, player_b = match.taken.players
    home_a, home_b = match.taken.endpoints
    homes = (
        endpoints.get(player_a) or home_a,
        endpoints.get(player_b) or home_b,
    )
    if match.is_located and homes != match.taken.endpoints:
        context.happened(
            AssignmentCompleted(
                at=now,
                **match.named,
                endpoints=homes,
                source="the manager",
            )
        )


def renew(announced: AnnouncedMatch, match: Match, context: RefereeContext) -> bool:
    """Take over the tokens that the manager now shows for a match that we have; True if they are new to us."""
    # It shows others when a player turns out to go by another of its registrations.
    if announced.attempt != match.attempt or announced.player_A_token is None or announced.player_B_token is None:
        return False
    passes = _passes(announced, context)
    if passes == passes_of(context.secrets, match.name):
        return False
    context.keep_secret(f"match/{match.name}", msgspec.json.encode(passes).decode())
    return True


def _check(announced: AnnouncedMatch) -> None:
    if registry.find(announced.game_type) is None:
        games = list(registry.known())
        problem = f"{announced.game_type[:80]!r} is not played here"
        # The game may be installed, and broken.
        problems = "; ".join([problem, *registry.problems()])
        raise PeerError("E027", problems, {"supported_games": games})


def take_announcement(
    announcement: RoundAnnouncement,
    announced: AnnouncedMatch,
    round_name: str,
    context: RefereeContext,
    now: float,
) -> MatchDropped | None:
    """Journal a match, with its seed; the tokens stay beside the journal. An older attempt is dropped first."""
    older = context.docket.open.get(announced.match_id)
    dropped = None
    # Third-party managers do not count attempts.
    attempt = announced.attempt or 1
    if older is not None:
        dropped = MatchDropped(at=now, **older.named, why=f"attempt {attempt} was assigned")
        context.happened(dropped)
    seed = context.chance(SEED_BYTES).hex()
    passes = msgspec.json.encode(_passes(announced, context)).decode()
    context.keep_secret(f"match/{announced.match_id}/{attempt}", passes)
    context.happened(_taken(announcement, announced, round_name, context, seed, now))
    return dropped


def _taken(
    announcement: RoundAnnouncement,
    announced: AnnouncedMatch,
    round_name: str,
    context: RefereeContext,
    seed: str,
    now: float,
) -> MatchTaken:
    return MatchTaken(
        at=now,
        league_id=announcement.league_id,
        round_id=announcement.round_id,
        match_id=announced.match_id,
        attempt=announced.attempt or 1,
        game_type=announced.game_type,
        players=(announced.player_A_id, announced.player_B_id),
        endpoints=(
            announced.player_A_endpoint or "",
            announced.player_B_endpoint or "",
        ),
        records=(
            _record(announced.player_A_standings),
            _record(announced.player_B_standings),
        ),
        conventions=(
            convention_of(announced.player_A_convention).value,
            convention_of(announced.player_B_convention).value,
        ),
        known_as=(
            announced.player_A_known_as or "",
            announced.player_B_known_as or "",
        ),
        told=(
            tuple(announced.player_A_told or ()),
            tuple(announced.player_B_told or ()),
        ),
        suspended=(
            bool(announced.player_A_suspended),
            bool(announced.player_B_suspended),
        ),
        move_seconds=announced.move_seconds or context.settings.move_seconds,
        retry_delays_s=_delays(announced, context),
        seed=seed,
        round_name=round_name,
        record_wanted=bool(announced.record_wanted),
        trusts_addresses=_trusts_addresses(announced, context),
        fallbacks_refused=bool(announced.fallbacks_refused),
        share_commitment=announced.share_commitment or "",
        signs=(bool(announced.player_A_signs), bool(announced.player_B_signs)),
    )


def _trusts_addresses(announced: AnnouncedMatch, context: RefereeContext) -> bool:
    """Return whether an answer may count by its address: the league decides, or else our operator."""
    if context.membership.agreement.derived_tokens:
        return announced.trust == TRUST_CLASS
    return context.settings.trusts_addresses


def _delays(announced: AnnouncedMatch, context: RefereeContext) -> tuple[float, ...]:
    """Return the pauses before retries: the league's, or else ours."""
    if announced.retry_delays_s is None:
        return context.settings.retries.delays_s
    return tuple(announced.retry_delays_s)


def _record(record: Record | None) -> dict[str, int]:
    """Return a record by its columns, empty if the manager left it out."""
    if record is None:
        return {}
    counts = (record.wins, record.losses, record.draws, record.points)
    if counts == _NO_COUNTS:
        return {}
    return {name: count or 0 for name, count in zip(ZEROS, counts, strict=True)}


def _passes(announced: AnnouncedMatch, context: RefereeContext) -> Passes:
    """Collect the tokens of a match."""
    shown_to_a = (
        announced.player_A_token or _new_token(context),
        *(announced.player_A_other_tokens or ()),
    )
    shown_to_b = (
        announced.player_B_token or _new_token(context),
        *(announced.player_B_other_tokens or ()),
    )
    answers = (
        tuple(announced.player_A_answers or ()),
        tuple(announced.player_B_answers or ()),
    )
    replies = (
        tuple(announced.player_A_replies or ()),
        tuple(announced.player_B_replies or ()),
    )
    return Passes((shown_to_a, shown_to_b), answers, replies)


def _new_token(context: RefereeContext) -> str:
    """Return a token for a player to which a third-party manager gave none."""
    # The player can only see that all our calls show the same token. So nobody else is shown it, neither its opponent
    # nor the manager.
    return tokens.mint(context.membership.agent_id, context.chance(TOKEN_BYTES))
