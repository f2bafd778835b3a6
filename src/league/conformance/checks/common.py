"""What the checks share: what must have worked before a question makes sense, and how refusals are judged."""

from __future__ import annotations

from collections.abc import Iterable

from league.conformance.outcome import Outcome, broken, kept, untestable
from league.conformance.record import Exchange, Record
from league.conformance.wire import Trouble
from league.protocol.errors import ERRORS
from league.protocol.exchanges import EXCHANGES
from league.protocol.messages import ACKS

NOT_OURS = ("E011", "E012", "E028", "E032", "E005", "E033")
"""How a member of another league rightly refuses the kit."""


def nobody(record: Record) -> Outcome | None:
    """Untestable, if there was no HTTP answer at all."""
    if not record.exchanges:
        return untestable("the kit did not get as far as asking")
    if not record.is_reached:
        return untestable(f"nobody can be reached at {record.target} [HTTP.post_mcp]")
    if not record.has_endpoint:
        return untestable(f"nobody takes messages at {record.target} [HTTP.post_mcp]")
    return None


def not_joined(record: Record) -> Outcome | None:
    """Untestable, if the player never joined a match of the kit."""
    missing = nobody(record)
    if missing is not None:
        return missing
    first = record.of("invitation")
    answered = [one for one in first if one.is_answered]
    if not answered:
        return untestable(f"the invitation was not answered: {first[0].why_not()}" if first else "nobody was invited")
    if accepted(answered[-1]) is False:
        return untestable("the player declined the invitation")
    return None


def accepted(one: Exchange) -> object:
    """What the answer to an invitation says, under either name."""
    return one.answer.get("accept", one.answer.get("accepted"))


def chosen(one: Exchange) -> object:
    """What the answer to a call says, under either name."""
    return one.answer.get("parity_choice", one.answer.get("choice"))


def not_ours(record: Record, exchange: Exchange) -> bool:
    """Does a player that never registered with the kit refuse it as a stranger? That is its right."""
    refusal = exchange.heard.refusal
    return record.member is None and refusal is not None and any(refusal.means(code) for code in NOT_OURS)


def is_silent_ack(one: Exchange) -> bool:
    """Nothing, where two of the documents expect no response; the others want an acknowledgement in the result."""
    return one.is_empty and one.kind in EXCHANGES and EXCHANGES[one.kind].replies[0] in ACKS


def usable(exchanges: Iterable[Exchange]) -> list[Exchange]:
    """Those that were not put off with "later"."""
    return [one for one in exchanges if not one.is_later]


def refused(record: Record, label: str, code: str, advice: str) -> Outcome:
    """Every request with this label is refused with this code."""
    missing = nobody(record)
    if missing is not None:
        return missing
    asked = usable(record.of(label))
    if not asked:
        return untestable("it was not asked, or the player put it off (429, 503)")
    for one in asked:
        problem = _not_refused(one, code)
        if problem:
            return broken(f"{_what(one)}: {problem}", advice, one)
    return kept(f"refused with {code} {ERRORS[code].name}", asked)


def _what(one: Exchange) -> str:
    return one.label.partition(": ")[2] or one.label


def _not_refused(one: Exchange, code: str) -> str:
    wanted = f"{code} {ERRORS[code].name} was expected"
    if one.trouble is Trouble.TIMEOUT:
        return f"no answer; {wanted}"
    if one.trouble is not None or one.heard.trouble:
        return f"{one.why_not()}; {wanted} as a JSON-RPC error"
    if one.heard.refusal is None:
        return f"taken as if it were right; {wanted}"
    if not one.heard.refusal.means(code):
        return f"refused as {one.heard.refusal}; {wanted}"
    return ""


def understood(record: Record, labels: tuple[str, ...], advice: str) -> Outcome:
    """Every request with one of these labels is answered as the plain one was."""
    missing = not_joined(record)
    if missing is not None:
        return missing
    asked = usable(record.of(*labels))
    if not asked:
        return untestable("it was not asked, or the player put it off (429, 503)")
    for one in asked:
        if not one.is_answered:
            return broken(f"{_what(one)}: {one.why_not()}", advice, one)
    return kept("understood", asked)


def own_id(record: Record) -> str | None:
    """The id the player goes by: what the kit gave it, or another it sticks to in all it says."""
    ids = [said.get("player_id") for _, said, _ in record.messages()]
    known = [one for one in ids if isinstance(one, str) and one]
    if record.member is not None and len(set(known)) != 1:
        return record.member.id
    return next(iter(known), None)
