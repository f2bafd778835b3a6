"""Joining matches (spec sections 5.8, 5.9, 6.2)."""

from __future__ import annotations

from collections.abc import Mapping

from league.conformance.checks.common import if_joined
from league.conformance.checks.matches import echoes, in_time
from league.conformance.outcome import Check, CheckOutcome, broken, kept, untestable
from league.conformance.record import Arrival, RunRecord
from league.protocol.exchanges import EXCHANGES, REPLY_TYPES


def join_in_time(record: RunRecord) -> CheckOutcome:
    return in_time(record, record.of("invitation"), "GAME_INVITATION", "GAME_JOIN_ACK")


def join_echoes(record: RunRecord) -> CheckOutcome:
    return echoes(record, "GAME_INVITATION")


@if_joined
def answers_in_the_result(record: RunRecord) -> CheckOutcome:
    posted = [one for one in record.arrivals if one.kind in REPLY_TYPES]
    if not posted:
        return kept("answered in the result, and nothing came twice")
    twice = [one for one in posted if _is_second(one, record)]
    advice = "Put the message into the JSON-RPC result of the question, and send nothing besides."
    if twice:
        return broken("answered in the result, and again as a request of its own", advice, *twice)
    return broken(f"{posted[0].kind} came as a request of its own", advice, *posted)


def _is_second(posted: Arrival, record: RunRecord) -> bool:
    """Was the same question answered in the result already?"""
    asked = [one for one in record.probes if one.kind and posted.kind in EXCHANGES[one.kind].replies]
    of_match = [one for one in asked if one.message["match_id"] == posted.message.get("match_id")]
    return any(one.is_answered and one.posted is None and one.at <= posted.at for one in of_match)


@if_joined
def several_matches(record: RunRecord) -> CheckOutcome:
    asked = [*record.of("invitation of two"), *record.of("call of two")]
    if not asked:
        return untestable("it was not asked")
    advice = "Keep what you know of a match under its match_id, and answer each question for the match it names."
    for one in asked:
        if not one.is_answered:
            return broken(f"with two matches at once: {one.why_not()}", advice, one)
        if one.answer.get("match_id", one.message["match_id"]) != one.message["match_id"]:
            wanted, said = one.message["match_id"], one.answer.get("match_id")
            return broken(f"asked about {wanted}, answered about {said}", advice, one)
    return kept("two matches at once were told apart", asked)


CHECKS: Mapping[str, Check] = {
    "JOIN.in_time": Check(join_in_time, ("dialect", "match")),
    "JOIN.echoes_match_id": Check(join_echoes, ("dialect", "match")),
    "PLAYER.answers_in_the_result": Check(answers_in_the_result, ("dialect", "match")),
    "PLAYER.several_matches": Check(several_matches, ("dialect", "two_matches")),
}
