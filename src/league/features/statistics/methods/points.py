"""Points per match: how certain they are, and whether they are more than luck."""

from __future__ import annotations

from dataclasses import replace

from league.features.statistics.findings import Interval, PlayerPoints, PlayerRecord
from league.features.statistics.methods import strata
from league.features.statistics.methods.chance import SURE, coin_tosses, holm, no_lead
from league.features.statistics.observations import Observations
from league.games import registry
from league.games.contract import DRAW_POINTS, LOSS_POINTS, WIN_POINTS, Scoring


def points_per_match(
    wins: int,
    draws: int,
    losses: int,
) -> float:
    """Return the mean; 0 if nothing was played."""
    played = wins + draws + losses
    if played == 0:
        return 0.0
    points = WIN_POINTS * wins
    points += DRAW_POINTS * draws
    points += LOSS_POINTS * losses
    return points / played


def points_interval(
    wins: int,
    draws: int,
    losses: int,
) -> Interval:
    """Return a 95 % interval of points per match, for matches that do not depend on each other."""
    groups = []
    if wins + draws + losses:
        groups.append([strata.of_results(wins, draws, losses)])
    return strata.interval(groups, strata.LEAGUE_SCALE)


def points_table(observations: Observations) -> tuple[PlayerPoints, ...]:
    """Return a row for every player, the most points per match first."""
    records = observations.records()
    # Among many players somebody is always lucky, so the p-values are corrected for their number.
    p_values = holm([coin_tosses(record.wins, record.losses) for record in records])
    rows = []
    for record, p_value in zip(records, p_values, strict=True):
        rows.append(_row(record, p_value))
    return best_first(rows)


def best_first(rows: list[PlayerPoints]) -> tuple[PlayerPoints, ...]:
    return tuple(sorted(rows, key=lambda row: -row.points_per_match))


def margin_table(observations: Observations) -> tuple[PlayerPoints, ...]:
    """Return the same rows for a game that is scored by its margin: the points themselves, not wins, tell the skill."""
    own: dict[str, list[int]] = {player: [] for player in observations.names}
    leads: dict[str, list[int]] = {player: [] for player in observations.names}
    # The lead says who was better: in some games both may win much.
    for match in observations.matches:
        first, second = match.score
        lead = first - second
        own[match.player_a].append(first)
        own[match.player_b].append(second)
        leads[match.player_a].append(lead)
        leads[match.player_b].append(-lead)
    game = registry.find(observations.game_type)
    assert game is not None, "its measure was looked up"
    scale = strata.margin_scale(game.scoring.most)
    records = observations.records()
    p_values = holm([no_lead(leads[record.player_id]) for record in records])
    rows = []
    for record, p_value in zip(records, p_values, strict=True):
        groups = []
        if record.played:
            groups.append([strata.of_values(own[record.player_id])])
        row = PlayerPoints(
            record=record,
            points_per_match=strata.mean(groups),
            interval=strata.interval(groups, scale),
            p_value=p_value,
            is_luck=p_value >= SURE,
        )
        rows.append(in_returns(row, game.scoring))
    return best_first(rows)


def in_returns(row: PlayerPoints, scoring: Scoring) -> PlayerPoints:
    """Add what was won to a row of a game that is scored by its margin."""
    low, high = map(scoring.return_of, row.interval)
    return replace(row, return_per_match=scoring.return_of(row.points_per_match), return_interval=(low, high))


def _row(record: PlayerRecord, p_value: float) -> PlayerPoints:
    results = (record.wins, record.draws, record.losses)
    return PlayerPoints(
        record=record,
        points_per_match=points_per_match(*results),
        interval=points_interval(*results),
        p_value=p_value,
        is_luck=p_value >= SURE,
    )
