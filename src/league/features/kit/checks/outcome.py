"""Checks and their outcomes (a verdict with its reason, advice and evidence), and what the checks share: what must have
worked before a check makes sense, and how errors are judged."""

# A check returns one of four outcomes: kept, broken, warning, untestable. It never knows the level of its clause:
# `judged` (in __init__.py) turns the failure of a SHOULD into a warning. Details are parts of sentences ("an answer has
# 9 bytes"), which reports put after the id of the clause; advice is one or more sentences that address the author.
#
# A fault should be told once, by the clause it breaks. So every check first makes sure that it can be seen at all: a
# player that cannot be reached, or that never joined a match, fails the clauses about that and leaves the others
# untestable. The clause to look at is named in brackets, such as [HTTP.post_mcp].

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import Final, TypeVar

from league.features.kit.driver.record import Arrival, Probe, RunRecord
from league.machine import Failure
from league.protocol.errors import ERRORS
from league.protocol.message.exchanges import EXCHANGES
from league.protocol.message.messages import ACKS

Evidence = Probe | Arrival
MOST_EVIDENCE = 3


class CheckVerdict(Enum):
    """`warn`: a SHOULD is not kept, or a habit that may cost matches elsewhere."""

    PASS = "pass"
    FAIL = "fail"
    WARN = "warn"
    UNTESTABLE = "untestable"


@dataclass(frozen=True, slots=True)
class CheckOutcome:
    """A verdict with its reason, advice on what to change, and evidence."""

    verdict: CheckVerdict
    detail: str = ""
    advice: str = ""
    evidence: tuple[Evidence, ...] = ()
    fault: str = ""
    """The same for all outcomes of one fault, where their details differ."""

    @property
    def alike(self) -> tuple[str, str]:
        """Outcomes that agree in this show the same fault."""
        return self.advice, self.fault or self.detail


def kept(detail: str = "", evidence: Iterable[Evidence] = ()) -> CheckOutcome:
    return CheckOutcome(CheckVerdict.PASS, detail, evidence=tuple(evidence)[:1])


def broken(detail: str, advice: str, *evidence: Evidence) -> CheckOutcome:
    """The clause is broken: a failure; of a SHOULD, a warning."""
    return CheckOutcome(CheckVerdict.FAIL, detail, advice, evidence[:MOST_EVIDENCE])


def warning(detail: str, advice: str, *evidence: Evidence) -> CheckOutcome:
    """The clause is kept, but in a way that may cost matches elsewhere."""
    return CheckOutcome(CheckVerdict.WARN, detail, advice, evidence[:MOST_EVIDENCE])


def untestable(reason: str) -> CheckOutcome:
    return CheckOutcome(CheckVerdict.UNTESTABLE, reason)


def first_of(texts: list[str], most: int, separator: str) -> str:
    """Join the first of these texts, and count the rest."""
    joined = separator.join(texts[:most])
    if len(texts) > most:
        joined += f" and {len(texts) - most} more"
    return joined


@dataclass(frozen=True, slots=True)
class Check:
    """How one clause is judged: a row of player.toml, whose first lines say what its fields mean."""

    id: str
    judge: str = ""
    scenarios: tuple[str, ...] = ()
    needs: str = ""
    labels: tuple[str, ...] = ()
    kind: str = ""
    code: str = ""
    advice: str = ""
    nothing: str = "the kit did not ask, or the player was busy (429, 503)"
    never: str = ""
    is_robustness: bool = False
    rejects: str = ""
    level: str = ""
    """"SHOULD" where no older document asks it of this role."""


Piece = TypeVar("Piece", bound=Evidence)

STRANGER_CODES: Final = ("E011", "E012", "E028", "E032", "E005", "E033")
"""Error codes with which a member of another league rightly refuses the kit."""
NOT_DECLARED: Final = (
    "the player did not declare a public key, and without one nothing else changes; "
    "one that signs its choices says so when it registers: player_meta.public_key (9.6)"
)


def unreachable(record: RunRecord) -> CheckOutcome | None:
    """Return an untestable outcome if there was no HTTP answer at all."""
    if not record.probes:
        return untestable("the kit did not get as far as asking")
    if not record.is_reached:
        return untestable(f"nobody can be reached at {record.target} [HTTP.post_mcp]")
    if not record.has_endpoint:
        return untestable(f"nobody takes messages at {record.target} [HTTP.post_mcp]")
    return None


def not_joined(record: RunRecord) -> CheckOutcome | None:
    """Return an untestable outcome if the player never joined a match of the kit."""
    missing = unreachable(record)
    if missing is not None:
        return missing
    invitations = record.of("invitation")
    if not invitations:
        return untestable("the kit did not invite the player")
    answered = [invitation for invitation in invitations if invitation.is_answered]
    if not answered:
        return untestable(f"the invitation was not answered: {invitations[0].why_not()}")
    if answered[-1].accept is False:
        return untestable("the player declined the invitation")
    return None


def not_signing(record: RunRecord) -> CheckOutcome | None:
    """Return an untestable outcome unless the player declared a key and joined a match of the kit."""
    if record.member is None:
        return untestable(record.listening or "the player did not register")
    if not record.member.signs:
        return untestable(NOT_DECLARED)
    return not_joined(record)


NEEDS: Final[Mapping[str, Callable[[RunRecord], CheckOutcome | None]]] = {
    "": lambda _: None,
    "reached": unreachable,
    "joined": not_joined,
    "signing": not_signing,
}
"""What must have worked: these return an untestable outcome if it did not."""


def each(
    check: Check,
    pieces: Sequence[Piece],
    problem: Callable[[Piece], str],
    good: str,
    is_wrong: Callable[[Piece], bool] = bool,
) -> CheckOutcome:
    """Judge pieces of evidence one by one: the first that is wrong, and has a problem, breaks the clause. `good` says
    what they are otherwise."""
    if not pieces:
        return untestable(check.nothing)
    for piece in filter(is_wrong, pieces):
        detail = problem(piece)
        if detail:
            return broken(detail, check.advice, piece)
    return kept(good, pieces)


def is_unanswered(probe: Probe) -> bool:
    return not probe.is_answered


def refuses_stranger(record: RunRecord, probe: Probe) -> bool:
    """Does a player that never registered with the kit refuse it as a stranger? It may."""
    refusal = probe.parsed.error
    if record.member is not None or refusal is None:
        return False
    return any(refusal.means(code) for code in STRANGER_CODES)


def is_empty_ack(probe: Probe) -> bool:
    """Is it an empty answer to a notification? Two of the documents expect no response, the others do."""
    return probe.is_empty and probe.kind in EXCHANGES and EXCHANGES[probe.kind].replies[0] in ACKS


def not_busy(probes: Iterable[Probe]) -> list[Probe]:
    """Return the probes that were not answered with "busy" (429, 503)."""
    return [probe for probe in probes if not probe.is_busy]


def refused(record: RunRecord, check: Check) -> CheckOutcome:
    """Every request with this label is refused with this code."""
    probes = not_busy(record.of(*check.labels))
    return each(check, probes, lambda probe: _not_refused(probe, check.code), f"refused with {_named(check.code)}")


def _variant(probe: Probe) -> str:
    """Return the part of a label that tells its requests apart."""
    return probe.label.partition(": ")[2] or probe.label


def _named(code: str) -> str:
    return f"{code} {ERRORS[code].name}"


def _not_refused(probe: Probe, code: str) -> str:
    """Say how the request was answered in place of this error; empty if it was refused with it."""
    expected = f"expected {_named(code)}"
    refusal = probe.parsed.error
    if probe.trouble is Failure.TIMEOUT:
        problem = f"no answer; {expected}"
    elif not probe.is_readable:
        problem = f"{probe.why_not()}; {expected} as a JSON-RPC error"
    elif refusal is None:
        problem = f"accepted as if it were right; {expected}"
    elif not refusal.means(code):
        problem = f"refused as {refusal}; {expected}"
    else:
        return ""
    return f"{_variant(probe)}: {problem}"


def understood(record: RunRecord, check: Check) -> CheckOutcome:
    """Every request with one of these labels is answered as the plain one was."""
    probes = not_busy(record.of(*check.labels))
    return each(check, probes, lambda probe: f"{_variant(probe)}: {probe.why_not()}", "understood", is_unanswered)


def null_is_absent(record: RunRecord, check: Check) -> CheckOutcome:
    optional = understood(record, check)
    if optional.verdict is not CheckVerdict.PASS:
        return optional
    advice = "Refuse a message whose mandatory field is null, as if missing."
    return refused(record, replace(check, labels=("mandatory null",), advice=advice))


def all_timestamp_forms(record: RunRecord, check: Check) -> CheckOutcome:
    """Two documents list +00:00 as valid. None asks players to read fractions, or dates without hyphens."""
    listed = understood(record, check)
    if listed.verdict is not CheckVerdict.PASS:
        return listed
    other = understood(record, replace(check, labels=("other timestamp",)))
    if other.verdict is CheckVerdict.FAIL:
        return replace(other, verdict=CheckVerdict.WARN)
    return other


def own_id(record: RunRecord) -> str | None:
    """Return the id the player uses: the one the kit gave it, or another that is the same in all its messages."""
    ids = [answer.get("player_id") for _, answer in record.messages()]
    texts = [player_id for player_id in ids if isinstance(player_id, str) and player_id]
    if record.member is not None and len(set(texts)) != 1:
        return record.member.id
    return next(iter(texts), None)
