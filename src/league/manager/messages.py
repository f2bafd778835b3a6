"""The manager's messages, written from the ledger: announcements, assignments, standings, bulletins."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from league.events import Bulletin, WalkoverDecided
from league.manager.context import ManagerPart
from league.manager.ledger import Ledger, ScheduledMatch
from league.manager.roster import Member
from league.protocol import tokens
from league.protocol.conventions import Convention
from league.protocol.messages import (
    LeagueCompleted,
    LeagueStandingsUpdate,
    Message,
    RoundAnnouncement,
    RoundCompleted,
)
from league.protocol.parts import AnnouncedMatch, Champion, FinalRow, Record, RoundSummary, StandingsRow

KEPT_MESSAGES = 8
USUAL = Convention.SPEC.value
"""The convention that everybody begins with anyway."""


def table(ledger: Ledger) -> list[StandingsRow]:
    """The standings, the first row first; every registered player is in them."""
    standings, members = ledger.standings, ledger.roster.members
    rows = []
    for rank, player in enumerate(standings.ranking(ledger.settings.tiebreakers), start=1):
        tally = standings.tallies[player]
        rows.append(
            StandingsRow(
                rank=rank,
                player_id=player,
                display_name=members[player].display_name,
                played=tally.played,
                wins=tally.wins,
                draws=tally.draws,
                losses=tally.losses,
                points=tally.points,
            )
        )
    return rows


@dataclass(slots=True)
class Messages(ManagerPart):
    """Messages to many are written once: the same object goes to all who get the same."""

    announced: dict[str, str] = field(default_factory=dict)
    """By match: the referee that its players were last told of."""
    _table: LeagueStandingsUpdate | None = None
    _bulletins: dict[Bulletin, Message] = field(default_factory=dict)

    # --- announcements and assignments --------------------------------------------------------------------------------

    def announcement(self, round_id: int, now: float) -> RoundAnnouncement:
        """A round for its players; matches that are not played are not in it."""
        matches = [
            self._announced(match)
            for match in self._ledger.matches_in(round_id)
            if not isinstance(match.result, WalkoverDecided)
        ]
        return self._round(round_id, matches, f"conv-round-{round_id}", now)

    def announcement_of(self, match: ScheduledMatch, now: float) -> RoundAnnouncement:
        """One match for its players, which were told of another referee."""
        return self._round(match.round_id, [self._announced(match)], f"conv-round-{match.round_id}", now)

    def is_known_to_players(self, match: ScheduledMatch) -> bool:
        """Can the players of this match know its referee? By the token it shows, or because they were told."""
        referee = self.context.member(match.referee_id or "")
        return referee.shows_derived_tokens or self.announced.get(match.match_id) == referee.agent_id

    def announcement_without_matches(self, round_id: int, now: float) -> RoundAnnouncement:
        """A round for a referee that has no match in it."""
        return self._round(round_id, [], f"conv-round-{round_id}", now)

    def assignment(self, referee: Member, matches: Sequence[ScheduledMatch], now: float) -> RoundAnnouncement:
        """A referee's own matches, with all it needs to play them (R-22, section 9)."""
        first = matches[0]
        conversation = f"conv-assign-{first.match_id.lower()}-{first.attempt}"
        return self._round(
            first.round_id, [self._announced_to_referee(referee, one) for one in matches], conversation, now
        )

    def _round(self, round_id: int, matches: list[AnnouncedMatch], conversation: str, now: float) -> RoundAnnouncement:
        return RoundAnnouncement(
            **self.context.sealed(now, conversation),
            league_id=self.context.league_id,
            round_id=round_id,
            matches=matches,
        )

    def _announced(self, match: ScheduledMatch) -> AnnouncedMatch:
        assert match.referee_id is not None, "announced before it was assigned"
        referee = self.context.member(match.referee_id)
        self.announced[match.match_id] = referee.agent_id
        return AnnouncedMatch(
            match_id=match.match_id,
            game_type=self._ledger.settings.game_type,
            player_A_id=match.player_a,
            player_B_id=match.player_b,
            referee_endpoint=referee.endpoint,
            referee_tokens=None if referee.shows_derived_tokens else list(referee.tokens.values()),
        )

    def _announced_to_referee(self, referee: Member, match: ScheduledMatch) -> AnnouncedMatch:
        members, settings = self._ledger.roster.members, self._ledger.settings
        a, b = members[match.player_a], members[match.player_b]
        a_replies = self._answers_of(a, referee, match, sorted(a.queries_only)) if a.queries_only else None
        b_replies = self._answers_of(b, referee, match, sorted(b.queries_only)) if b.queries_only else None
        return AnnouncedMatch(
            match_id=match.match_id,
            game_type=settings.game_type,
            player_A_id=match.player_a,
            player_B_id=match.player_b,
            referee_endpoint=referee.endpoint,
            referee_id=referee.agent_id,
            player_A_endpoint=a.endpoint,
            player_B_endpoint=b.endpoint,
            player_A_standings=self._record(a),
            player_B_standings=self._record(b),
            player_A_token=self.token_for(a, referee, match),
            player_B_token=self.token_for(b, referee, match),
            player_A_other_tokens=self.other_tokens_for(a, referee, match) if len(a.tokens) > 1 else None,
            player_B_other_tokens=self.other_tokens_for(b, referee, match) if len(b.tokens) > 1 else None,
            player_A_answers=self._answers_of(a, referee, match, a.full_standing),
            player_B_answers=self._answers_of(b, referee, match, b.full_standing),
            player_A_replies=a_replies,
            player_B_replies=b_replies,
            player_A_suspended=a.state == "SUSPENDED",
            player_B_suspended=b.state == "SUSPENDED",
            player_A_convention=None if a.convention == USUAL else a.convention,
            player_B_convention=None if b.convention == USUAL else b.convention,
            player_A_known_as=a.known_as or None,
            player_B_known_as=b.known_as or None,
            player_A_told=sorted(a.told) or None,
            player_B_told=sorted(b.told) or None,
            attempt=match.attempt,
            move_seconds=settings.move_seconds,
            retry_delays_s=list(settings.retry_delays_s),
            record_wanted=True,
        )

    def _record(self, player: Member) -> Record:
        tally = self._ledger.standings.tallies[player.agent_id]
        return Record(wins=tally.wins, losses=tally.losses, draws=tally.draws, points=tally.points)

    def token_for(self, player: Member, referee: Member, match: ScheduledMatch) -> str | None:
        return self._derived(player, player.serial, referee.agent_id, player.agent_id, match)

    def other_tokens_for(self, player: Member, referee: Member, match: ScheduledMatch) -> list[str] | None:
        """For a player that goes by another of its registrations than we think: the newest first."""
        serials = sorted((one for one in player.tokens if one != player.serial), reverse=True)
        found = [self._derived(player, one, referee.agent_id, player.agent_id, match) for one in serials]
        return [one for one in found if one] or None

    def _answers_of(
        self, player: Member, referee: Member, match: ScheduledMatch, serials: Collection[int]
    ) -> list[str]:
        """Digests of tokens this player may answer with: those of these registrations, and those derived from them."""
        digests = list(map(player.tokens.__getitem__, serials))
        for serial in serials:
            derived = self._derived(player, serial, player.agent_id, referee.agent_id, match)
            if derived is not None:
                digests.append(tokens.verifier(derived))
        return digests

    def _derived(self, player: Member, serial: int, sender: str, receiver: str, match: ScheduledMatch) -> str | None:
        """From one of the player's keys, if we have it."""
        key = self.context.key_of(player, serial)
        return key and self.context.derived(key, sender, receiver, match.match_id, match.attempt)

    # --- standings and bulletins --------------------------------------------------------------------------------------

    def standings(self, now: float) -> LeagueStandingsUpdate:
        """The table as it stands."""
        version, round_id = self._ledger.standings.version, max(self._ledger.standings.round_id, 1)
        if self._table is None or (self._table.version, self._table.round_id) != (version, round_id):
            self._table = LeagueStandingsUpdate(
                **self.context.sealed(now, f"conv-standings-{version}"),
                league_id=self.context.league_id,
                round_id=round_id,
                standings=table(self._ledger),
                version=version,
            )
        return self._table

    def bulletin(self, bulletin: Bulletin, now: float) -> Message:
        """The message a bulletin stands for; the final standings of a round are those of now."""
        if bulletin.kind == "final_standings":
            return self.standings(now)
        message = self._bulletins.get(bulletin)
        if message is None:
            message = self._bulletins[bulletin] = self._written(bulletin, now)
            if len(self._bulletins) > KEPT_MESSAGES:
                del self._bulletins[next(iter(self._bulletins))]
        return message

    def _written(self, bulletin: Bulletin, now: float) -> Message:
        if bulletin.kind == "round_announced":
            return self.announcement(bulletin.round_id, now)
        is_last = bulletin.kind == "league_completed"
        return self._league_completed(now) if is_last else self._round_completed(bulletin.round_id, now)

    def _round_completed(self, round_id: int, now: float) -> Message:
        counts = summary(self._ledger.matches_in(round_id))
        return RoundCompleted(
            **self.context.sealed(now, f"conv-round-{round_id}"),
            league_id=self.context.league_id,
            round_id=round_id,
            matches_completed=counts.total_matches,
            matches_played=counts.total_matches,
            next_round_id=round_id + 1 if round_id < len(self._ledger.rounds) else None,
            summary=counts,
        )

    def _league_completed(self, now: float) -> Message:
        rows = table(self._ledger)
        first = rows[0]
        return LeagueCompleted(
            **self.context.sealed(now, "conv-league-completed"),
            league_id=self.context.league_id,
            total_rounds=len(self._ledger.rounds),
            total_matches=len(self._ledger.matches),
            champion=Champion(player_id=first.player_id, display_name=first.display_name, points=first.points),
            final_standings=[FinalRow(**columns(row)) for row in rows],
        )


def columns(row: StandingsRow) -> dict[str, Any]:
    """A row by its columns (Any: names and numbers)."""
    return {name: getattr(row, name) for name in row.__struct_fields__}


def summary(matches: Iterable[ScheduledMatch]) -> RoundSummary:
    """How a round's matches ended. A walkover was not played: it stands beside the technical losses."""
    results = [match.result for match in matches if match.result is not None]
    counts = Counter("TECHNICAL_LOSS" if isinstance(one, WalkoverDecided) else one.status for one in results)
    return RoundSummary(
        total_matches=len(results),
        wins=counts["WIN"],
        draws=counts["DRAW"],
        technical_losses=counts["TECHNICAL_LOSS"],
    )
