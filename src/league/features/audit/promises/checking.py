"""The table of promises, and the check of all of them."""

from __future__ import annotations

from collections.abc import Sequence

from league.features.audit.promises import (
    authorship,
    delivery,
    draws,
    liveness,
    patience,
    results,
    rounds,
    schedule,
    secrecy,
    standings,
    verdicts,
)
from league.features.audit.promises.grounds.evidence import Evidence
from league.features.audit.promises.grounds.promise_findings import (
    Promise,
    PromiseFinding,
    PromiseReport,
    no_traffic,
)

PROMISES: Sequence[Promise] = (
    Promise(
        1,
        "Every pair meets as often as the format says; nobody plays twice in a round or against itself.",
        schedule.breaches,
        schedule.unobservable,
    ),
    Promise(
        2,
        "A match has one result; only the operator's void, recorded as an event, ends it.",
        results.more_than_one,
    ),
    Promise(
        3,
        "A result comes from the current referee and attempt, or is a recorded decision of the manager.",
        results.not_current,
    ),
    Promise(
        4,
        "The winner and points of a verified result follow from choices, number and faults alone.",
        verdicts.breaches,
        verdicts.unobservable,
    ),
    Promise(
        5,
        "Every standings message shows the results up to some point, and a receiver never gets an older one.",
        standings.wrong_tables,
        standings.tables_unobservable,
    ),
    Promise(
        6,
        "A match gives 3, 2 or 0 points, and the sums of the table agree.",
        standings.wrong_sums,
    ),
    Promise(
        7,
        "Whatever was acknowledged survives SIGKILL, a power cut and a full disk.",
        delivery.lost,
        delivery.lost_unobservable,
    ),
    Promise(
        8,
        "Nothing is invented: every result has its report, its assignment and its registrations.",
        results.invented,
    ),
    Promise(
        9,
        "The league never waits forever for a dead agent without saying so.",
        liveness.stuck,
        liveness.stuck_unobservable,
    ),
    Promise(
        10,
        "Rounds come in order; each player gets final table, completion, announcement; one LEAGUE_COMPLETED per end.",
        rounds.breaches,
    ),
    Promise(
        11,
        "A player loses technically only through its own fault.",
        results.losers_without_fault,
        results.faults_unobservable,
    ),
    Promise(
        12,
        "An attempt has only one draw, and after the manager's share no other attempt begins.",
        draws.breaches,
        draws.unobservable,
    ),
    Promise(
        13,
        "While players choose at once, nothing sent to others depends on a choice before all choices are in.",
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
    Promise(
        16,
        "Every request gets exactly one answer.",
        delivery.unanswered,
        delivery.answers_unobservable,
    ),
    Promise(
        17,
        "A message that is delivered twice has no further effect.",
        delivery.changed_twice,
        no_traffic,
    ),
    Promise(
        18,
        "The same seed and inputs give the same journal.",
        liveness.different,
        liveness.different_unobservable,
    ),
    Promise(
        19,
        "Before a silent player loses, its match waits if its referee asks: at nobody's expense while a third of the "
        "players are silent, else on its own account, and never longer than the rule says.",
        patience.breaches,
        patience.unobservable,
    ),
    Promise(
        20,
        "Only the referee of a match and the manager learn a choice before both choices are in.",
        authorship.leaks,
        secrecy.unobservable,
    ),
    Promise(
        21,
        "A result counts only if its referee or manager decided it by its players' answers, is called proven only if "
        "they signed it, and the manager stands for no loss that only its referee saw.",
        authorship.undecided,
        authorship.undecided_unobservable,
    ),
)


def check(evidence: Evidence) -> PromiseReport:
    """Judge every promise by this evidence."""
    return PromiseReport([_finding(promise, evidence) for promise in PROMISES])


def _finding(promise: Promise, evidence: Evidence) -> PromiseFinding:
    # A breach can be found even in evidence that would not suffice to call the promise kept.
    breaches = list(promise.breaches(evidence))
    if breaches:
        first = breaches[0]
        detail = first.detail
        if len(breaches) > 1:
            detail += f" (and {len(breaches) - 1} more)"
        return PromiseFinding(promise.number, "broken", detail, first.where)
    reason = promise.unobservable(evidence)
    if reason is not None:
        return PromiseFinding(promise.number, "unobservable", reason)
    return PromiseFinding(promise.number, "kept")
