"""Referees: the matches that the kit staged between its own players (spec sections 5.8 to 5.12, 6.1, 8.1 to 8.4)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple

from league.features.kit.checks.outcome import Check, CheckOutcome, broken, kept, untestable
from league.features.kit.checks.playing import Playing
from league.features.kit.driver.messages import REFEREE, parity_of
from league.features.kit.driver.record import COMPAT, Arrival, RunRecord, StagedMatch
from league.features.kit.driver.templates import fields_of
from league.protocol.message.envelope import seal, unseal
from league.protocol.message.judge import shown
from league.protocol.message.messages import MatchResultReport

OWN_FIELDS: Final = ("auth_token", "conversation_id", "timestamp", "player_id", "reason")
"""Fields that may differ between the two copies of GAME_OVER."""
STEPS: Final = {
    "GAME_INVITATION": "it invites nobody, told of a match by ROUND_ANNOUNCEMENT, START_MATCH and MATCH_ASSIGNMENT",
    "CHOOSE_PARITY_CALL": "it asks nobody for a choice",
    "GAME_OVER": "it tells nobody the result",
    "MATCH_RESULT_REPORT": "it does not report the result",
}
NOBODY: Final = (None, "DRAW")
CALLS: Final = ("CHOOSE_PARITY_CALL", "GAME_MOVE_CALL")


class _Refereed(NamedTuple):
    """A match that the referee was given, and the requests that it made about it."""

    staged: StagedMatch
    record: RunRecord

    def sent(self, *kinds: str, player: str = "") -> list[Arrival]:
        requests = self.record.about(self.staged.match_id, *kinds)
        return [request for request in requests if f"/{player.lower()}/" in request.place or not player]

    @property
    def declines(self) -> list[str]:
        return [player for player, choices in self.staged.choices.items() if not choices]

    @property
    def corrects(self) -> list[str]:
        return [player for player, choices in self.staged.choices.items() if len(choices) > 1]

    @property
    def is_uncorrected(self) -> bool:
        """True if a player could not correct its choice: that is told once, and no winner follows from the choices."""
        return any(len(self.sent(*CALLS, player=player)) < 2 for player in self.corrects)

    def winner(self, drawn: object) -> str | None:
        """Return who has won by the choices that the kit's players made, given the number."""
        if self.declines:
            return next(player for player in self.staged.choices if player not in self.declines)
        parity = parity_of(drawn) if isinstance(drawn, int) else ""
        right = [player for player, choices in self.staged.choices.items() if choices[-1] == parity]
        return right[0] if len(right) == 1 else None


def matches_of(record: RunRecord) -> list[_Refereed]:
    return [_Refereed(staged, record) for staged in record.staged]


def _judged(record: RunRecord, check: Check, problem: Callable[[_Refereed], str], kind: str, good: str) -> CheckOutcome:
    """Judge every match about which the referee sent a message of this kind."""
    seen = [match for match in matches_of(record) if match.sent(kind)]
    for match in seen:
        detail = problem(match)
        if detail:
            return broken(f"{match.staged.match_id}: {detail}", check.advice, *match.sent(kind))
    return kept(good) if seen else untestable(check.nothing)


def invites(record: RunRecord, check: Check) -> CheckOutcome:
    def problem(match: _Refereed) -> str:
        players = list(match.staged.choices)
        roles = []
        for player, opponent in zip(players, reversed(players), strict=True):
            invitations = match.sent("GAME_INVITATION", player=player)
            if not invitations:
                return f"{player} was not invited"
            fields = invitations[0].normalised
            if fields.get("opponent_id") != opponent:
                return f"{player} is told that its opponent is {shown(fields.get('opponent_id'))}, not {opponent}"
            roles.append(fields.get("role_in_match"))
        return "" if set(roles) == {"PLAYER_A", "PLAYER_B"} else f"the players are told that they are {shown(roles)}"

    return _judged(record, check, problem, "GAME_INVITATION", "both players know their opponent")


def calls_after_joins(record: RunRecord, check: Check) -> CheckOutcome:
    def problem(match: _Refereed) -> str:
        calls = match.sent(*CALLS)
        if calls and match.declines:
            return "a choice was asked for, although a player had declined"
        invited = {request.place for request in match.sent("GAME_INVITATION") if calls and request.at <= calls[0].at}
        return "a choice was asked for before both players were invited" if len(invited) == 1 else ""

    return _judged(record, check, problem, "GAME_INVITATION", "nobody was asked too early")


def names_winner(record: RunRecord, check: Check) -> CheckOutcome:
    def problem(match: _Refereed) -> str:
        for over in match.sent("GAME_OVER"):
            result = fields_of(over.normalised.get("game_result"))
            drawn = result.get("drawn_number")
            winner = result.get("winner_player_id")
            if match.declines or match.is_uncorrected:
                return ""
            if drawn not in range(1, 11):
                return f"the number is {shown(drawn)}"
            if winner != match.winner(drawn):
                return f"the winner is {shown(winner)}, but by the rules it is {shown(match.winner(drawn))}"
        return ""

    return _judged(record, check, problem, "GAME_OVER", "the winner follows from choices and number")


def gives_points(record: RunRecord, check: Check) -> CheckOutcome:
    def problem(match: _Refereed) -> str:
        if match.declines or match.is_uncorrected or _wrong_report(match):
            return ""
        result = match.sent("MATCH_RESULT_REPORT")[0].normalised["result"]
        points = {player: 3 * (player == result["winner"]) for player in match.staged.choices}
        if result["winner"] in NOBODY:
            points = dict.fromkeys(points, 1)
        # Who gives no score leaves it to the manager.
        return "" if result["score"] in ({}, points) else f"the score is {result['score']}, not {points}"

    return _judged(record, check, problem, "MATCH_RESULT_REPORT", "every report has the points of its result")


def _wrong_report(match: _Refereed) -> str:
    """Say what is wrong with the report of a match; empty if our manager counts it. It recomputes the score."""
    reports = match.sent("MATCH_RESULT_REPORT")
    if not reports:
        return "it reports no result"
    arrival = reports[-1]
    # A league with --trust class fills in the envelope.
    envelope = seal(f"referee:{REFEREE}", arrival.at, arrival.normalised["match_id"])
    report = unseal({**envelope, **arrival.normalised}, COMPAT)
    message = report.message
    if not isinstance(message, MatchResultReport):
        return (
            f"our manager cannot read the report: {report.violations[0].detail}" if report.violations else "no report"
        )
    result = message.result
    winner = match.winner(result.details.drawn_number if result.details else None)
    named = None if result.winner in NOBODY else result.winner
    if named != winner:
        return f"the report names {shown(named)} as the winner, but by the rules it is {shown(winner)}"
    return ""


def same_game_over(record: RunRecord, check: Check) -> CheckOutcome:
    def problem(match: _Refereed) -> str:
        copies = []
        for player in match.staged.choices:
            overs = match.sent("GAME_OVER", player=player)
            if not overs:
                return f"{player} got no GAME_OVER"
            copies.append({name: value for name, value in overs[0].message.items() if name not in OWN_FIELDS})
        return "" if copies[0] == copies[1] else "the players were told different results"

    return _judged(record, check, problem, "MATCH_RESULT_REPORT", "both players were told the same")


def has_corrected(record: RunRecord, check: Check) -> CheckOutcome:
    """A wrong choice is told, asked for again, and never repaired."""

    def problem(match: _Refereed) -> str:
        for player in match.corrects:
            wrong = match.staged.choices[player][0]
            if not match.sent("GAME_ERROR", player=player):
                return f"{player} chose {shown(wrong)} and got no GAME_ERROR"
            if len(match.sent(*CALLS, player=player)) < 2:
                return f"{player} chose {shown(wrong)} and was not asked again"
        return ""

    return _judged(record, check, problem, CALLS[0], "a wrong choice was told, and asked for again")


def declined_loses(record: RunRecord, check: Check) -> CheckOutcome:
    def problem(match: _Refereed) -> str:
        for player in match.declines:
            if len(match.sent("GAME_INVITATION", player=player)) > 1:
                return f"{player} declined, and was invited again"
            return _wrong_report(match)
        return ""

    return _judged(record, check, problem, "MATCH_RESULT_REPORT", "declining is a technical loss at once")


def repeats_report(record: RunRecord, check: Check) -> CheckOutcome:
    def problem(match: _Refereed) -> str:
        if not match.staged.is_dropped:
            return ""
        first, *later = (request.normalised.get("result") for request in match.sent("MATCH_RESULT_REPORT"))
        if not later:
            return "the first report got no answer, and no second one came"
        return "" if all(result == first for result in later) else "the repeated report says something else"

    return _judged(record, check, problem, "MATCH_RESULT_REPORT", "a report without an answer was repeated unchanged")


def would_referee(record: RunRecord) -> Playing:
    """Judge whether matches under this referee would count in a league of ours."""
    if record.member is None:
        return Playing(False, record.listening)
    first, *others = matches_of(record)
    for kind, reason in STEPS.items():
        if not first.sent(kind):
            return Playing(False, reason)
    for match in (first, *others):
        wrong = "" if match.corrects or match.declines else _wrong_report(match)
        if wrong:
            return Playing(False, f"{match.staged.match_id}: {wrong}")
    if first.sent("MATCH_RESULT_REPORT")[0].message.get("auth_token") is None:
        return Playing(False, "its reports show no token; only a league with --trust class counts them")
    return Playing(True)
