"""Would the player play? The first thing that its author wants to know, before any clause.

The answers to the kit's invitation and call for a choice are read as a referee reads them, with the same reader. A
player whose invitation was accepted and whose choice was legal plays; whatever clause it breaks besides, no referee of
ours takes a match from it for that.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from league.features.kit.driver.record import Probe, RunRecord, message_in
from league.gateway.readers.understanding import quoted
from league.protocol.message.messages import ChooseParityResponse, GameJoinAck, Message

CHOICES: Final = ("even", "odd")


UNRECOGNISED: Final = (
    "its answers come as requests of its own, and show neither the conversation_id of the call nor its token, so that "
    "anybody could have sent them. Repeat the conversation_id of the call, or show the token; only a league with "
    "--trust class accepts them as they are"
)


class Playing(NamedTuple):
    """Whether a player would play in a league; None if the run does not show it. `reason`: why not."""

    would_play: bool | None
    reason: str = ""


def would_play(record: RunRecord) -> Playing:
    """Judge the ordinary match of a run."""
    invitations = record.of("invitation")
    calls = record.of("call")
    if not record.probes or not invitations:
        return Playing(None)
    if record.findings is not None and record.findings.is_trouble and record.convention is None:
        return Playing(False, record.findings.in_words())
    if not all(_is_recognised(probe, record) for probe in (*invitations, *calls)):
        return Playing(False, UNRECOGNISED)
    return _judged(invitations, calls)


def _judged(invitations: Sequence[Probe], calls: Sequence[Probe]) -> Playing:
    """Judge the answers themselves."""
    joins = [message_in(probe) for probe in invitations]
    if not any(isinstance(join, GameJoinAck) and join.accept for join in joins):
        return Playing(False, f"it does not join a match: {_why_not(invitations[-1], joins[-1])}")
    if not calls:
        return Playing(None)
    choices = [message_in(probe) for probe in calls]
    if not any(isinstance(choice, ChooseParityResponse) and choice.parity_choice in CHOICES for choice in choices):
        return Playing(False, f"it does not choose: {_why_not(calls[-1], choices[-1])}")
    return Playing(True)


def _is_recognised(probe: Probe, record: RunRecord) -> bool:
    """True if a referee knows whose answer this is, also if it came as a request of its own."""
    if probe.posted is None:
        return True
    posted = probe.posted.message
    conversation_id = posted.get("conversation_id")
    if conversation_id is not None and conversation_id == probe.message.get("conversation_id"):
        return True
    if record.member is None:
        # The kit gave it no token, so any may be the right one.
        return bool(posted.get("auth_token"))
    return posted.get("auth_token") in record.member.tokens


def _why_not(probe: Probe, message: Message | None) -> str:
    if isinstance(message, GameJoinAck):
        return "it declines even_odd, the game of the kit (if it plays another: --game even_odd, or league spar)"
    if isinstance(probe.choice, str):
        return f"{quoted(repr(probe.choice))} is neither even nor odd, in lower case"
    if probe.is_answered:
        return f"its answer {quoted(str(probe.answer))} cannot be read as one"
    return probe.why_not()
