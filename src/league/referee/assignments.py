"""From an announcement to matches of ours: which they are, whether they can be played, and what they are journalled as
(R-22, section 9.3)."""

from __future__ import annotations

import re
from collections.abc import Mapping

import msgspec

from league.events import MatchDropped, MatchTaken, PlayersLocated
from league.games import registry
from league.games.draw import SEED_BYTES
from league.protocol import tokens
from league.protocol.conventions import convention_of
from league.protocol.errors import PeerError
from league.protocol.messages import RoundAnnouncement
from league.protocol.parts import AnnouncedMatch, Record
from league.referee.context import RefereeContext
from league.referee.match import Match
from league.referee.records import ZEROS

TOKEN_BYTES = 32
_UNSAID = (None,) * len(ZEROS)
_LOCAL = frozenset({"localhost", "127.0.0.1", "[::1]", "0.0.0.0"})
_PLACE = re.compile(r"[Hh][Tt][Tt][Pp]://(?P<host>\[[^\]]*\]|[^:/?]+)(?::(?P<port>[0-9]+))?")


class Passes(msgspec.Struct, frozen=True):
    """What we show each player of a match (the first, or else another), and digests of what it may answer with; kept
    as a secret."""

    shown: tuple[tuple[str, ...], tuple[str, ...]] = ((), ())
    answers: tuple[tuple[str, ...], tuple[str, ...]] = ((), ())
    replies: tuple[tuple[str, ...], tuple[str, ...]] = ((), ())
    """Of tokens that are good only in the reply to a call."""


def passes_of(secrets: Mapping[str, str], name: str) -> Passes:
    kept = secrets.get(f"match/{name}")
    return Passes() if kept is None else msgspec.json.decode(kept, type=Passes)


def mine(announcement: RoundAnnouncement, context: RefereeContext) -> list[AnnouncedMatch]:
    """The matches in it that we are to play and do not know yet. PeerError, before anything is taken, for one that
    nobody could play."""
    new = [one for one in announcement.matches if _is_mine(one, context) and is_new(one, context)]
    for one in new:
        _check(one)
    return new


def _is_mine(one: AnnouncedMatch, context: RefereeContext) -> bool:
    membership = context.membership
    if one.referee_id is not None:
        return one.referee_id == membership.agent_id
    here = membership.meta.contact_endpoint
    return one.referee_endpoint == here or (not membership.derived_tokens and _is_same(one.referee_endpoint, here))


def _is_same(endpoint: str, here: str) -> bool:
    """Managers of others name this machine in words of their own; the port tells referees apart."""
    (host, port), (our_host, our_port) = place(endpoint), place(here)
    return port == our_port and (host == our_host or {host, our_host} <= _LOCAL)


def place(endpoint: str) -> tuple[str, str]:
    """Host and port."""
    found = _PLACE.match(endpoint)
    return (found["host"].lower(), found["port"] or "80") if found else ("", "")


def is_new(one: AnnouncedMatch, context: RefereeContext) -> bool:
    """Were we never given this attempt?"""
    return (one.attempt or 1) > context.docket.attempt_of(one.match_id)


def endpoints_in(one: AnnouncedMatch) -> dict[str, str]:
    """Where its players live, as far as it says so."""
    said = {one.player_A_id: one.player_A_endpoint, one.player_B_id: one.player_B_endpoint}
    return {player: endpoint for player, endpoint in said.items() if endpoint is not None}


def locate(match: Match, endpoints: Mapping[str, str], source: str, context: RefereeContext, now: float) -> bool:
    """Note where the players of a match live, if that was not known and now is, of both; True if it is news."""
    if match.is_located:
        return False
    taken = match.taken
    a, b = (home or endpoints.get(player, "") for player, home in zip(taken.players, taken.endpoints, strict=True))
    if not a or not b:
        return False
    context.happened(PlayersLocated(at=now, **match.named, endpoints=(a, b), source=source))
    return True


def move(match: Match, endpoints: Mapping[str, str], context: RefereeContext, now: float) -> None:
    """The manager says that a player lives elsewhere now than when the match was given to us."""
    taken = match.taken
    a, b = (endpoints.get(player) or home for player, home in zip(taken.players, taken.endpoints, strict=True))
    if match.is_located and (a, b) != taken.endpoints:
        context.happened(PlayersLocated(at=now, **match.named, endpoints=(a, b), source="the manager"))


def renew(one: AnnouncedMatch, match: Match, context: RefereeContext) -> bool:
    """The manager shows other tokens for a match that we have, since a player goes by another one than it thought;
    True if they are new to us."""
    if one.attempt != match.attempt or one.player_A_token is None or one.player_B_token is None:
        return False
    passes = _passes(one, context)
    if passes == passes_of(context.secrets, match.name):
        return False
    context.keep_secret(f"match/{match.name}", msgspec.json.encode(passes).decode())
    return True


def _check(one: AnnouncedMatch) -> None:
    if registry.find(one.game_type) is None:
        games = list(registry.known())
        told = "; ".join([f"{one.game_type[:80]!r} is not played here", *registry.problems()])
        raise PeerError("E027", told, {"supported_games": games})


def take(
    announcement: RoundAnnouncement, one: AnnouncedMatch, round_name: str, context: RefereeContext, now: float
) -> MatchDropped | None:
    """Journal a match, with its seed; the tokens stay beside the journal. An older attempt is dropped first."""
    older = context.docket.open.get(one.match_id)
    dropped = None
    attempt = one.attempt or 1
    if older is not None:
        dropped = MatchDropped(at=now, **older.named, why=f"attempt {attempt} was assigned")
        context.happened(dropped)
    seed = context.chance(SEED_BYTES).hex()
    passes = msgspec.json.encode(_passes(one, context)).decode()
    context.keep_secret(f"match/{one.match_id}/{attempt}", passes)
    context.happened(_taken(announcement, one, round_name, context, seed, now))
    return dropped


def _taken(
    announcement: RoundAnnouncement,
    one: AnnouncedMatch,
    round_name: str,
    context: RefereeContext,
    seed: str,
    now: float,
) -> MatchTaken:
    return MatchTaken(
        at=now,
        league_id=announcement.league_id,
        round_id=announcement.round_id,
        match_id=one.match_id,
        attempt=one.attempt or 1,
        game_type=one.game_type,
        players=(one.player_A_id, one.player_B_id),
        endpoints=(one.player_A_endpoint or "", one.player_B_endpoint or ""),
        records=(_record(one.player_A_standings), _record(one.player_B_standings)),
        conventions=(
            convention_of(one.player_A_convention).value,
            convention_of(one.player_B_convention).value,
        ),
        known_as=(one.player_A_known_as or "", one.player_B_known_as or ""),
        told=(tuple(one.player_A_told or ()), tuple(one.player_B_told or ())),
        suspended=(bool(one.player_A_suspended), bool(one.player_B_suspended)),
        move_seconds=one.move_seconds or context.settings.move_seconds,
        retry_delays_s=_delays(one, context),
        seed=seed,
        round_name=round_name,
        record_wanted=bool(one.record_wanted),
    )


def _delays(one: AnnouncedMatch, context: RefereeContext) -> tuple[float, ...]:
    """The pauses before retries: the league's, or else ours."""
    return context.settings.retries.delays_s if one.retry_delays_s is None else tuple(one.retry_delays_s)


def _record(record: Record | None) -> dict[str, int]:
    """Empty where the manager said nothing."""
    if record is None:
        return {}
    wins, losses, draws, points = said = record.wins, record.losses, record.draws, record.points
    if said == _UNSAID:
        return {}
    return {"wins": wins or 0, "losses": losses or 0, "draws": draws or 0, "points": points or 0}


def _passes(one: AnnouncedMatch, context: RefereeContext) -> Passes:
    shown_to_a = (one.player_A_token or _made(context), *(one.player_A_other_tokens or ()))
    shown_to_b = (one.player_B_token or _made(context), *(one.player_B_other_tokens or ()))
    answers = (tuple(one.player_A_answers or ()), tuple(one.player_B_answers or ()))
    replies = (tuple(one.player_A_replies or ()), tuple(one.player_B_replies or ()))
    return Passes((shown_to_a, shown_to_b), answers, replies)


def _made(context: RefereeContext) -> str:
    """Another's manager: a player can only see that all our calls show the same. So it is what nobody else is shown,
    neither its opponent nor the manager."""
    return tokens.mint(context.membership.agent_id, context.chance(TOKEN_BYTES))
