"""Signatures under choices (spec section 9.6), for players that declared a public key."""

# The kit rebuilds the statement from what it announced, the invitation that the player accepted and the call that it
# answered, never from what the player says itself, except for the choice. A signature that is wrong tells nothing about
# its cause, so the outcome shows the whole statement that should have been signed; it contains no secret.

from __future__ import annotations

import base64
from collections.abc import Iterator
from contextlib import suppress

from league.features.kit.checks.outcome import Check, CheckOutcome, broken, kept, untestable
from league.features.kit.driver.conventions import Object
from league.features.kit.driver.messages import LEAGUE, MANAGER_KEY
from league.features.kit.driver.record import Probe, RegisteredAgent, RunRecord
from league.protocol.message.judge import shown
from league.protocol.signing.choices import ChoicesStatement, chained
from league.protocol.signing.keys import is_signed, statement_bytes

REPEATED = {"call": "call again", "call to be corrected": "corrected call"}
"""Calls that came more than once; GAME_ERROR came between those of the second kind."""
OPTIONS = ("even", "odd")


# --- signing ----------------------------------------------------------------------------------------------------------


def statement_signed(record: RunRecord, check: Check) -> CheckOutcome:
    assert record.member is not None
    answers = [probe for probe in record.of(*check.labels) if _legal_choice(probe) is not None]
    if not answers:
        return untestable(check.nothing)
    for probe in answers:
        wrong = _wrong_token(record.member, probe) or _wrong_signature(record, record.member, probe)
        if wrong is not None:
            return wrong
    return kept("every legal choice is signed", answers)


def _legal_choice(probe: Probe) -> str | None:
    """Return the choice in an answer; None if there is none, or one that nobody has to sign."""
    choice = probe.choice
    options = OPTIONS
    if probe.kind == "GAME_MOVE_CALL":
        choice = probe.move
        options = probe.message["move_request"]["valid_options"]
    is_legal = probe.is_answered and isinstance(choice, str) and choice in options
    return str(choice) if is_legal else None


def _wrong_token(member: RegisteredAgent, probe: Probe) -> CheckOutcome | None:
    if probe.answer.get("auth_token") not in member.tokens:
        return None
    return broken(
        "the answer shows the referee the token of the registration: with it the referee can speak in your name",
        "Show each referee the token that is derived for it (9.3).",
        probe,
    )


def _wrong_signature(record: RunRecord, member: RegisteredAgent, probe: Probe) -> CheckOutcome | None:
    """Return the outcome unless the answer to this call carries the right signature."""
    signature = probe.answer.get("signature")
    question = f"{probe.kind} of {probe.message['match_id']}"
    # There is more than one if the player accepted two commitments for an attempt, which breaks another clause.
    statements = list(_statements(record, member, probe))
    text = statement_bytes(statements[0]).decode()
    if signature is None:
        detail = f"the answer to {question} has no signature, although the player declared a public key"
        return broken(detail, f"Sign these bytes, and put the signature into `signature`: {text}", probe)
    key = member.meta["public_key"]
    if any(is_signed(signature, key, statement) for statement in statements):
        return None
    detail = f"the signature for {question} is not the one for the choice {shown(_legal_choice(probe))}"
    advice = f"Sign exactly these bytes with the key that you declared (9.6): {text}"
    for spelled in _spellings(signature):
        if any(is_signed(spelled, key, statement) for statement in statements):
            advice = "Write base64url without padding: - and _ in place of + and /, and no `=` at the end."
    return broken(detail, advice, probe)


def _spellings(signature: object) -> Iterator[str]:
    """Return the signature as it should have been written, if it is one in another alphabet."""
    text = str(signature)
    with suppress(ValueError):
        yield base64.urlsafe_b64encode(bytes.fromhex(text)).decode().rstrip("=")
    yield text.rstrip("=").replace("+", "-").replace("/", "_")


def _statements(record: RunRecord, member: RegisteredAgent, probe: Probe) -> Iterator[ChoicesStatement]:
    """Return what may be signed: what was chosen and shown, under the invitations to this attempt."""
    choice = _legal_choice(probe)
    assert choice is not None
    for asked in _invitations(record, probe):
        yield ChoicesStatement(
            manager_key=MANAGER_KEY,
            league_id=LEAGUE,
            match_id=asked["match_id"],
            attempt=int(asked["attempt"]),
            game_type=asked["game_type"],
            player_id=member.id,
            opponent_id=asked["opponent_id"],
            draw_commitment=asked.get("draw_commitment"),
            share_commitment=asked["share_commitment"],
            choices=(choice,),
            views=chained(None, probe.message.get("move_request")),
        )


def _invitations(record: RunRecord, probe: Probe) -> list[Object]:
    """Return the invitations to the attempt of this call, of which every attempt has its own conversation."""
    names = ("match_id", "conversation_id")
    invitations = [other.message for other in record.of_kind("GAME_INVITATION") if other.has_joined]
    return [asked for asked in invitations if all(asked[name] == probe.message[name] for name in names)]


# --- a choice is final ------------------------------------------------------------------------------------------------


def signed_once(record: RunRecord, check: Check) -> CheckOutcome:
    compared: list[Probe] = []
    for label, repeated in REPEATED.items():
        for first in record.of(label):
            repeats = [probe for probe in record.of(repeated) if probe.is_answered]
            if _legal_choice(first) is None:
                continue
            compared += repeats
            for repeat in repeats:
                wrong = _changed(first, repeat, repeated == "corrected call")
                if wrong is not None:
                    return wrong
    if not compared:
        return untestable(check.nothing)
    return kept("the same choice and the same signature each time, also after GAME_ERROR", compared)


def _changed(first: Probe, repeat: Probe, has_erred: bool) -> CheckOutcome | None:
    occasion = "asked again after a GAME_ERROR about a legal choice" if has_erred else "asked again"
    signatures = [probe.answer.get("signature") for probe in (first, repeat)]
    if repeat.choice != first.choice:
        detail = f"first {shown(first.choice)}, then {shown(repeat.choice)}"
        advice = "A choice that is one of the options is final: repeat it as it was, whatever the referee says of it."
    elif signatures[0] != signatures[1]:
        detail = f"first the signature {shown(signatures[0])}, then {shown(signatures[1])}"
        advice = "Store the signature with the choice before it leaves, and send the stored one from then on."
    else:
        return None
    return broken(f"{occasion}: {detail}", advice, first, repeat)
