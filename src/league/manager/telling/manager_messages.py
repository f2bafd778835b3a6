"""The manager's messages, written from the ledger: announcements, assignments, standings, bulletins.

A message to many members is written once: the same object goes to all of them, and is encoded once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from msgspec import structs

from league.events import Bulletin, WalkoverDecided
from league.manager.manager_context import ManagerPart
from league.manager.state.ledger import Ledger, ScheduledMatch, SignedStatement
from league.manager.state.roster import Member
from league.protocol.conventions import Convention
from league.protocol.message.envelope import seal
from league.protocol.message.messages import (
    LeagueCompleted,
    LeagueStandingsUpdate,
    Message,
    RoundAnnouncement,
    RoundCompleted,
)
from league.protocol.message.parts import (
    AnnouncedMatch,
    Champion,
    FinalRow,
    Head,
    Record,
    RoundSummary,
    StandingsRow,
)
from league.protocol.signing import tokens

MAX_BULLETINS = 8
USUAL = Convention.SPEC.value
"""The convention that everybody begins with anyway."""


def table(ledger: Ledger) -> list[StandingsRow]:
    """Return the standings, the first row first. Every registered player has a row."""
    standings = ledger.standings
    roster = ledger.roster
    rows = []
    for rank, player in enumerate(standings.ranking(ledger.settings.tiebreakers), start=1):
        rows.append(
            StandingsRow(
                rank=rank,
                player_id=player,
                display_name=roster.shown_name(roster.members[player]),
                **structs.asdict(standings.tallies[player]),
            )
        )
    return rows


@dataclass(slots=True)
class Messages(ManagerPart):
    """Writes messages."""

    announced: dict[str, tuple[str, int]] = field(default_factory=dict)
    """For each match the referee that its players were last told of."""
    _table: LeagueStandingsUpdate | None = None
    _final_table: LeagueStandingsUpdate | None = None
    _bulletins: dict[Bulletin, Message] = field(default_factory=dict)

    # --- announcements and assignments --------------------------------------------------------------------------------

    def announcement(self, round_id: int, now: float) -> RoundAnnouncement:
        """Return a round for its players, without matches that are not played."""
        matches = [
            self._announced(match)
            for match in self._ledger.matches_in(round_id)
            if not isinstance(match.result, WalkoverDecided)
        ]
        return self._round(round_id, matches, f"conv-round-{round_id}", now)

    def announcement_of(self, match: ScheduledMatch, now: float) -> RoundAnnouncement:
        """Return one match for its players, which were told of another referee."""
        return self._round(
            match.round_id,
            [self._announced(match)],
            f"conv-round-{match.round_id}-{match.match_id.lower()}",
            now,
        )

    def is_known_to_players(self, match: ScheduledMatch) -> bool:
        """True if the players of a match know its referee, by the token it shows or because they were told; and those
        that sign know the promise of this attempt."""
        referee = self.context.member(match.referee_id or "")
        if match.current.keys:
            return self.announced.get(match.match_id) == (referee.agent_id, match.attempt)
        is_told = self.announced.get(match.match_id, ("", 0))[0] == referee.agent_id
        return referee.as_referee.shows_derived_tokens or is_told

    def announcement_without_matches(self, round_id: int, now: float) -> RoundAnnouncement:
        """Return a round for a referee that has no match in it."""
        return self._round(round_id, [], f"conv-round-{round_id}", now)

    def assignment(self, referee: Member, matches: Sequence[ScheduledMatch], now: float) -> RoundAnnouncement:
        """Return a referee's own matches, with all it needs to play them (R-22, section 9)."""
        first = matches[0]
        conversation = f"conv-assign-{first.match_id.lower()}-{first.attempt}"
        announced = [self._announced_to_referee(referee, match) for match in matches]
        return self._round(first.round_id, announced, conversation, now)

    def _round(
        self,
        round_id: int,
        matches: list[AnnouncedMatch],
        conversation: str,
        now: float,
    ) -> RoundAnnouncement:
        return RoundAnnouncement(
            **seal(tokens.MANAGER, now, conversation),
            league_id=self._ledger.settings.league_id,
            round_id=round_id,
            matches=matches,
        )

    def _announced(self, match: ScheduledMatch) -> AnnouncedMatch:
        assert match.referee_id is not None, "announced before it was assigned"
        referee = self.context.member(match.referee_id)
        self.announced[match.match_id] = (referee.agent_id, match.attempt)
        names: list[str | None] = [None, None]
        if match.round_id == 1:
            # Nobody has a table yet.
            names = [self.context.member(player_id).name.display_name for player_id in match.players]
        return AnnouncedMatch(
            match_id=match.match_id,
            game_type=self._ledger.settings.game_type,
            player_A_id=match.player_a,
            player_B_id=match.player_b,
            player_A_name=names[0],
            player_B_name=names[1],
            referee_endpoint=referee.endpoint,
            referee_tokens=None
            if referee.as_referee.shows_derived_tokens
            else list(referee.credentials.tokens.values()),
            attempt=match.attempt if match.current.keys else None,
            share_commitment=(match.current.keys and match.current.share_commitment) or None,
        )

    def _announced_to_referee(self, referee: Member, match: ScheduledMatch) -> AnnouncedMatch:
        settings = self._ledger.settings
        return AnnouncedMatch(
            match_id=match.match_id,
            game_type=settings.game_type,
            referee_endpoint=referee.endpoint,
            referee_id=referee.agent_id,
            **self._about_player("A", self.context.member(match.player_a), referee, match),
            **self._about_player("B", self.context.member(match.player_b), referee, match),
            attempt=match.attempt,
            move_seconds=settings.move_seconds,
            retry_delays_s=list(settings.retry_delays_s),
            record_wanted=True,
            trust=None if settings.trust == "tokens" else settings.trust,
            fallbacks_refused=True if settings.fallback == "refuse" else None,
            share_commitment=match.current.share_commitment or None,
        )

    def _about_player(self, seat: str, player: Member, referee: Member, match: ScheduledMatch) -> dict[str, Any]:
        """Return what a referee must know of a player (Any: fields of many types)."""
        # Most players have one token and no deviation. What says nothing is left out of the message.
        other_tokens = None
        if len(player.credentials.tokens) > 1:
            other_tokens = self.other_tokens_for(player, referee, match)
        replies = None
        if player.credentials.queries_only:
            replies = self._answers_of(player, referee, match, sorted(player.credentials.queries_only))
        about = {
            "id": player.agent_id,
            "endpoint": player.endpoint,
            "standings": self._record(player),
            "token": self.token_for(player, referee, match),
            "other_tokens": other_tokens,
            "answers": self._answers_of(player, referee, match, player.credentials.full_standing),
            "replies": replies,
            "suspended": player.state == "SUSPENDED",
            "convention": None if player.convention == USUAL else player.convention,
            "known_as": player.name.known_as or None,
            # A player may be held to a token that it never got: then its referee must ask before it loses.
            "signs": (bool(player.credentials.public_key) and referee.as_referee.asks_before_losses) or None,
            "told": sorted(player.told.deviations) or None,
        }
        return {f"player_{seat}_{name}": value for name, value in about.items()}

    def _record(self, player: Member) -> Record:
        tally = self._ledger.standings.tallies[player.agent_id]
        return Record(
            wins=tally.wins,
            losses=tally.losses,
            draws=tally.draws,
            points=tally.points,
        )

    def token_for(self, player: Member, referee: Member, match: ScheduledMatch) -> str | None:
        return self._derived(player, player.credentials.serial, referee.agent_id, player.agent_id, match)

    def other_tokens_for(self, player: Member, referee: Member, match: ScheduledMatch) -> list[str] | None:
        """Return tokens for a player that goes by another of its registrations than we think, the newest first."""
        other_tokens = []
        for serial in sorted(player.credentials.tokens, reverse=True):
            if serial != player.credentials.serial:
                token = self._derived(player, serial, referee.agent_id, player.agent_id, match)
                if token:
                    other_tokens.append(token)
        return other_tokens or None

    def _answers_of(
        self,
        player: Member,
        referee: Member,
        match: ScheduledMatch,
        serials: Collection[int],
    ) -> list[str]:
        """Return digests of the tokens this player may answer with: those of these registrations, and those derived
        from them."""
        digests = list(map(player.credentials.tokens.__getitem__, serials))
        for serial in serials:
            derived = self._derived(player, serial, player.agent_id, referee.agent_id, match)
            if derived is not None:
                digests.append(tokens.verifier(derived))
        return digests

    def _derived(
        self,
        player: Member,
        serial: int,
        sender: str,
        receiver: str,
        match: ScheduledMatch,
    ) -> str | None:
        """Return a token derived from one of the player's keys, if we have it."""
        key = self.context.key_of(player, serial)
        return key and self.context.derived(key, sender, receiver, match.match_id, match.attempt)

    # --- standings and bulletins --------------------------------------------------------------------------------------

    def standings(self, now: float) -> LeagueStandingsUpdate:
        """Return the table as it stands."""
        version = self._ledger.standings.version
        round_id = max(self._ledger.standings.round_id, 1)
        # The round tells the final table of a round from the last update before it, which may have the same version.
        if self._table is None or self._table.version != version or self._table.round_id != round_id:
            self._table = LeagueStandingsUpdate(
                **seal(tokens.MANAGER, now, f"conv-standings-{version}"),
                league_id=self._ledger.settings.league_id,
                round_id=round_id,
                standings=table(self._ledger),
                version=version,
            )
        return self._table

    def bulletin(self, bulletin: Bulletin, now: float) -> Message:
        """Return the message that a bulletin stands for. The final standings of a round are those of now."""
        if bulletin.kind == "final_standings":
            return self._final(self.standings(now))
        message = self._bulletins.get(bulletin)
        if message is None:
            message = self._written(bulletin, now)
            self._bulletins[bulletin] = message
            # Only members that lag far behind need older ones, and those are written again.
            if len(self._bulletins) > MAX_BULLETINS:
                del self._bulletins[next(iter(self._bulletins))]
        return message

    def _final(self, standings: LeagueStandingsUpdate) -> LeagueStandingsUpdate:
        """Return a final table, with the head of our journal. All receivers get the same one."""
        earlier = self._final_table
        if earlier is None or earlier.version != standings.version or earlier.round_id != standings.round_id:
            self._final_table = structs.replace(standings, head=self._head())
        assert self._final_table is not None
        return self._final_table

    def _head(self) -> Head | None:
        head = self.context.journal_head()
        if head is None:
            return None
        return Head(seq=head.seq, digest=head.digest)

    def _written(self, bulletin: Bulletin, now: float) -> Message:
        if bulletin.kind == "round_announced":
            return self.announcement(bulletin.round_id, now)
        if bulletin.kind == "league_completed":
            return self._league_completed(now)
        return self._round_completed(bulletin.round_id, now)

    def _round_completed(self, round_id: int, now: float) -> Message:
        counts = summary(self._ledger.matches_in(round_id))
        return RoundCompleted(
            **seal(tokens.MANAGER, now, f"conv-round-{round_id}"),
            league_id=self._ledger.settings.league_id,
            round_id=round_id,
            matches_completed=counts.total_matches,
            matches_played=counts.total_matches,
            next_round_id=round_id + 1 if round_id < len(self._ledger.rounds) else None,
            summary=counts,
            **_signed(self._ledger.statements.get(round_id)),
        )

    def _league_completed(self, now: float) -> Message:
        rows = table(self._ledger)
        first = rows[0]
        return LeagueCompleted(
            **seal(tokens.MANAGER, now, "conv-league-completed"),
            league_id=self._ledger.settings.league_id,
            total_rounds=len(self._ledger.rounds),
            total_matches=len(self._ledger.matches),
            champion=Champion(
                player_id=first.player_id,
                display_name=first.display_name,
                points=first.points,
            ),
            final_standings=[FinalRow(**structs.asdict(row)) for row in rows],
            head=self._head(),
            **_signed(next(reversed(self._ledger.statements.values()), None)),
        )


def _signed(signed: SignedStatement | None) -> dict[str, Any]:
    """Return a statement as messages carry it (Any: spread into one)."""
    if signed is None:
        return {}
    return {"statement": signed.statement, "signature": signed.signature}


def summary(matches: Iterable[ScheduledMatch]) -> RoundSummary:
    """Count how a round's matches ended. A walkover was not played: it is counted with the technical losses."""
    counts: Counter[str] = Counter()
    for match in matches:
        if isinstance(match.result, WalkoverDecided):
            counts["TECHNICAL_LOSS"] += 1
        elif match.result is not None:
            counts[match.result.status] += 1
    return RoundSummary(
        total_matches=counts.total(),
        wins=counts["WIN"],
        draws=counts["DRAW"],
        technical_losses=counts["TECHNICAL_LOSS"],
    )
