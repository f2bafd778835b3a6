"""The table of promises, and the check of all of them."""

from __future__ import annotations

from collections.abc import Sequence

from league_lab.promises import (
    authorship,
    delivery,
    draws,
    liveness,
    outages,
    results,
    rounds,
    schedule,
    secrecy,
    standings,
    verdicts,
)
from league_lab.promises.evidence import Evidence
from league_lab.promises.findings import Promise, PromiseFinding, PromiseReport, no_traffic

PROMISES: Sequence[Promise] = (
    Promise(
        1,
        "Every pair meets as often as the format says, nobody twice in a round, nobody against itself.",
        schedule.breaches,
        schedule.unobservable,
    ),
    Promise(
        2,
        "One result in force per match, ended only by a void (the operator's or an outage's), itself an event.",
        results.more_than_one,
    ),
    Promise(
        3,
        "It came from the referee and attempt that were current, or is a recorded walkover.",
        results.not_current,
    ),
    Promise(
        4,
        "Winner and points of a verified result are the pure function of choices, number and faults.",
        verdicts.breaches,
        verdicts.unobservable,
    ),
    Promise(
        5,
        "Every standings message is the fold of a prefix of the results, and never goes backwards for a receiver.",
        standings.wrong_tables,
        standings.tables_unobservable,
    ),
    Promise(
        6,
        "A match gives 3, 2 or 0 points, and the table's sums agree.",
        standings.wrong_sums,
    ),
    Promise(
        7,
        "What was acknowledged survives SIGKILL, power cut and a full disk.",
        delivery.lost,
        delivery.lost_unobservable,
    ),
    Promise(
        8,
        "Nothing is invented: every result has its report, its assignment, its registrations.",
        results.invented,
    ),
    Promise(
        9,
        "No state waits for ever on a dead party without saying so.",
        liveness.stuck,
        liveness.stuck_unobservable,
    ),
    Promise(
        10,
        "Rounds in order, to each player final table, completion, announcement; one LEAGUE_COMPLETED for each end.",
        rounds.breaches,
    ),
    Promise(
        11,
        "A technical loss only through the player's own fault.",
        results.losers_without_fault,
        results.faults_unobservable,
    ),
    Promise(12, "No second draw for an attempt.", draws.breaches, draws.unobservable),
    Promise(
        13,
        "In a simultaneous phase no byte to anyone but its chooser depends on a choice before all are in.",
        secrecy.breaches,
        secrecy.unobservable,
    ),
    Promise(14, "Ids are never reused.", delivery.reused),
    Promise(
        15,
        "Memory, sockets, tasks and logs stay bounded under attack.",
        liveness.beyond_bounds,
        liveness.beyond_bounds_unobservable,
    ),
    Promise(16, "Every request gets exactly one answer.", delivery.unanswered, no_traffic),
    Promise(
        17,
        "Delivering a message twice changes nothing more.",
        delivery.changed_twice,
        no_traffic,
    ),
    Promise(18, "Same seed and inputs, same journal.", liveness.different, liveness.different_unobservable),
    Promise(
        19,
        "Nobody loses technically while half of the league is unreachable, or because its referee or manager was.",
        outages.unfair_losses,
        outages.unobservable,
    ),
    Promise(
        20,
        "Nobody but the match's referee learns a choice before both are in.",
        authorship.leaks,
        authorship.leaks_unobservable,
    ),
    Promise(
        21,
        "No result counts that its referee did not decide, by what its players answered.",
        authorship.undecided,
        authorship.undecided_unobservable,
    ),
)


def check(evidence: Evidence) -> PromiseReport:
    """Judge every promise by this evidence."""
    return PromiseReport([_finding(promise, evidence) for promise in PROMISES])


def _finding(promise: Promise, evidence: Evidence) -> PromiseFinding:
    breaches = list(promise.breaches(evidence))
    if breaches:
        more = f" (and {len(breaches) - 1} more)" if len(breaches) > 1 else ""
        return PromiseFinding(promise.number, "broken", breaches[0].detail + more, breaches[0].where)
    reason = promise.unobservable(evidence)
    if reason is not None:
        return PromiseFinding(promise.number, "unobservable", reason)
    return PromiseFinding(promise.number, "kept")
