"""Helpers that the checks share: what must have worked before a check makes sense, and how errors are judged."""

# A fault should be told once, by the clause it breaks. So every check first makes sure that it can be seen at all: a
# player that cannot be reached, or that never joined a match, fails the clauses about that and leaves the others
# untestable. The clause to look at is named in brackets, such as [HTTP.post_mcp].

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import wraps
from typing import Concatenate, Final, ParamSpec

from league.protocol.errors import ERRORS
from league.protocol.exchanges import EXCHANGES
from league.protocol.messages import ACKS
from league.protocol.receipts import SCHEME
from league_kit.kit_wire import Trouble
from league_kit.outcome import CheckOutcome, broken, kept, untestable
from league_kit.record import Probe, RunRecord

More = ParamSpec("More")
Judge = Callable[Concatenate[RunRecord, More], CheckOutcome]

STRANGER_CODES: Final = ("E011", "E012", "E028", "E032", "E005", "E033")
"""Error codes with which a member of another league rightly refuses the kit."""
NOT_DECLARED: Final = (
    "the player did not declare receipts, and without them nothing else changes; "
    f"one that signs its choices says so when it registers: player_meta.receipts {SCHEME!r} (9.6)"
)
NOT_SENT: Final = "the kit did not ask, or the player was busy (429, 503)"


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
    """Return an untestable outcome unless the player declared receipts and joined a match of the kit."""
    if record.member is None:
        return untestable(record.listening or "the player did not register")
    if not record.member.signs:
        return untestable(NOT_DECLARED)
    return not_joined(record)


def _unless(missing: Callable[[RunRecord], CheckOutcome | None], judge: Judge[More]) -> Judge[More]:
    @wraps(judge)
    def judged(record: RunRecord, /, *args: More.args, **kwargs: More.kwargs) -> CheckOutcome:
        return missing(record) or judge(record, *args, **kwargs)

    return judged


def if_reached(judge: Judge[More]) -> Judge[More]:
    """Judge only if there was an HTTP answer; otherwise the clause is untestable."""
    return _unless(unreachable, judge)


def if_joined(judge: Judge[More]) -> Judge[More]:
    """Judge only if the player joined a match of the kit; otherwise the clause is untestable."""
    return _unless(not_joined, judge)


def if_signing(judge: Judge[More]) -> Judge[More]:
    """Judge only a player that declared receipts and joined a match; otherwise the clause is untestable."""
    return _unless(not_signing, judge)


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


@if_reached
def refused(record: RunRecord, label: str, code: str, advice: str) -> CheckOutcome:
    """Every request with this label is refused with this code."""
    probes = not_busy(record.of(label))
    if not probes:
        return untestable(NOT_SENT)
    for probe in probes:
        problem = _not_refused(probe, code)
        if problem:
            return broken(f"{_variant(probe)}: {problem}", advice, probe)
    return kept(f"refused with {code} {ERRORS[code].name}", probes)


def _variant(probe: Probe) -> str:
    """Return the part of a label that tells its requests apart."""
    return probe.label.partition(": ")[2] or probe.label


def _not_refused(probe: Probe, code: str) -> str:
    expected = f"expected {code} {ERRORS[code].name}"
    if probe.trouble is Trouble.TIMEOUT:
        return f"no answer; {expected}"
    if probe.trouble is not None or probe.parsed.trouble:
        return f"{probe.why_not()}; {expected} as a JSON-RPC error"
    if probe.parsed.error is None:
        return f"accepted as if it were right; {expected}"
    if not probe.parsed.error.means(code):
        return f"refused as {probe.parsed.error}; {expected}"
    return ""


@if_joined
def understood(record: RunRecord, labels: tuple[str, ...], advice: str) -> CheckOutcome:
    """Every request with one of these labels is answered as the plain one was."""
    probes = not_busy(record.of(*labels))
    if not probes:
        return untestable(NOT_SENT)
    for probe in probes:
        if not probe.is_answered:
            return broken(f"{_variant(probe)}: {probe.why_not()}", advice, probe)
    return kept("understood", probes)


def own_id(record: RunRecord) -> str | None:
    """Return the id the player uses: the one the kit gave it, or another that is the same in all its messages."""
    ids = [answer.get("player_id") for _, answer in record.messages()]
    texts = [player_id for player_id in ids if isinstance(player_id, str) and player_id]
    if record.member is not None and len(set(texts)) != 1:
        return record.member.id
    return next(iter(texts), None)
