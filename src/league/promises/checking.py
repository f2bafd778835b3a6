"""The table of promises, and the check of all of them."""

from __future__ import annotations

from collections.abc import Sequence

from league.promises import delivery, draws, results, rounds, running, schedule, secrecy, standings, verdicts
from league.promises.evidence import Evidence
from league.promises.findings import Finding, Promise, Report

PROMISES: Sequence[Promise] = (
    Promise(
        1,
        "Every pair meets as often as the format says, nobody twice in a round, nobody against itself.",
        schedule.breaches,
        schedule.blind,
    ),
    Promise(
        2,
        "One result in force per match, ended only by an operator's void, itself an event.",
        results.more_than_one,
        results.blind,
    ),
    Promise(
        3,
        "It came from the referee and attempt that were current, or is a recorded walkover.",
        results.not_current,
        results.blind,
    ),
    Promise(
        4,
        "Winner and points of a verified result are the pure function of choices, number and faults.",
        verdicts.breaches,
        verdicts.blind,
    ),
    Promise(
        5,
        "Every standings message is the fold of a prefix of the results, and never goes backwards for a receiver.",
        standings.told_wrong,
        standings.told_blind,
    ),
    Promise(
        6, "A match gives 3, 2 or 0 points, and the table's sums agree.", standings.sums_wrong, standings.sums_blind
    ),
    Promise(
        7, "What was acknowledged survives SIGKILL, power cut and a full disk.", delivery.lost, delivery.lost_blind
    ),
    Promise(
        8,
        "Nothing is invented: every result has its report, its assignment, its registrations.",
        results.invented,
        results.blind,
    ),
    Promise(
        9,
        "No state waits for ever on a dead party without saying so.",
        running.stuck,
        running.stuck_blind,
    ),
    Promise(10, "Rounds in order, one LEAGUE_COMPLETED.", rounds.breaches, rounds.blind),
    Promise(
        11,
        "A technical loss only through the player's own fault.",
        results.innocent_losers,
        results.innocent_blind,
    ),
    Promise(12, "No second draw for an attempt.", draws.breaches, draws.blind),
    Promise(
        13,
        "In a simultaneous phase no byte to anyone but its chooser depends on a choice before all are in.",
        secrecy.breaches,
        secrecy.blind,
    ),
    Promise(14, "Ids are never reused.", delivery.reused, delivery.reused_blind),
    Promise(
        15,
        "Memory, sockets, tasks and logs stay bounded under attack.",
        running.beyond_bounds,
        running.beyond_bounds_blind,
    ),
    Promise(16, "Every request gets exactly one answer.", delivery.unanswered, delivery.unanswered_blind),
    Promise(
        17,
        "Delivering a message twice changes nothing more.",
        delivery.changed_twice,
        delivery.changed_twice_blind,
    ),
    Promise(18, "Same seed and inputs, same journal.", running.different, running.different_blind),
)


def check(evidence: Evidence) -> Report:
    """Judge every promise by this evidence."""
    return Report([_finding(promise, evidence) for promise in PROMISES])


def _finding(promise: Promise, evidence: Evidence) -> Finding:
    breaches = list(promise.breaches(evidence))
    if breaches:
        more = f" (and {len(breaches) - 1} more)" if len(breaches) > 1 else ""
        return Finding(promise.number, "broken", breaches[0].detail + more, breaches[0].where)
    reason = promise.blind(evidence)
    if reason is not None:
        return Finding(promise.number, "unobservable", reason)
    return Finding(promise.number, "kept")
