"""Receipts, protests and the promise of a draw (spec sections 6.7, 8.19, 9.6), for players that declared receipts."""

# The kit knows the token that it gave the player, so it computes every receipt itself and compares. A receipt that is
# wrong tells nothing about its cause: it is one digest or another. So the usual mistakes are made on purpose, and if
# one of them leads to the player's receipt, the advice names it. Otherwise the outcome shows the whole statement that
# should have been signed; it contains no secret.
#
# A statement is rebuilt from the invitation that the player accepted and the call that it answered, never from what it
# says itself, except for the choice.

from __future__ import annotations

import base64
import hmac
from collections.abc import Mapping
from functools import partial
from typing import NamedTuple

from msgspec import structs

from league.protocol import tokens
from league.protocol.judge import shown
from league.protocol.receipts import DECLINED, NOTHING, Signed, is_receipt, receipt_key, seen_in, sign, statement
from league_kit.checks.common import NOT_SENT, if_signing, not_busy, refused
from league_kit.kit_messages import LEAGUE, REFEREE
from league_kit.kit_server import PROTEST
from league_kit.outcome import Check, CheckOutcome, broken, kept, untestable
from league_kit.record import Probe, RegisteredAgent, RunRecord
from league_kit.signing import is_protest

SIGNED = ("call", "call to play again", "call with a commitment", "move call")
"""The calls whose answers must carry a receipt."""
REPEATED = {"call": "call again", "call to be corrected": "corrected call"}
"""Calls that came more than once; GAME_ERROR came between those of the second kind."""
OPTIONS = ("even", "odd")
ALPHABET = "Write base64url without padding: - and _ in place of + and /, and no `=` at the end."
ONE_DRAW = "An attempt has one draw: refuse a second invitation to it that carries another draw_commitment (6.7)."


class _Expected(NamedTuple):
    """What the player should have signed, and with which keys."""

    key: str
    """K of the registration from which the caller's token was derived."""
    signing_key: bytes
    """RK."""
    signed: Signed
    choice: str

    @property
    def receipt(self) -> str:
        return sign(self.signing_key, self.signed, self.choice)

    @property
    def text(self) -> str:
        return statement(self.signed, self.choice).decode()


# --- signing ----------------------------------------------------------------------------------------------------------


@if_signing
def statement_signed(record: RunRecord) -> CheckOutcome:
    assert record.member is not None
    answers = [probe for probe in record.of(*SIGNED) if _legal_choice(probe) is not None]
    if not answers:
        return untestable("the player made no legal choice that it could sign")
    for probe in answers:
        choice = _legal_choice(probe)
        assert choice is not None
        wrong = _wrong_token(record.member, probe) or _wrong_receipt(record, probe, _turn_of(probe), choice)
        if wrong is not None:
            return wrong
    return kept("every legal choice is signed", answers)


@if_signing
def declined_signed(record: RunRecord) -> CheckOutcome:
    invitations = not_busy(record.of("invitation to an unknown game"))
    if not invitations:
        return untestable(NOT_SENT)
    invitation = invitations[0]
    if not invitation.is_answered:
        return untestable(f"the invitation to a game that the player does not know: {invitation.why_not()}")
    if invitation.accept is not False:
        return untestable("the player joined a game that only the kit names, so it declined nothing")
    wrong = _wrong_receipt(record, invitation, 0, DECLINED)
    return wrong or kept("signed", invitations)


def _legal_choice(probe: Probe) -> str | None:
    """Return the choice in an answer; None if there is none, or one that nobody has to sign."""
    choice = probe.choice
    options = OPTIONS
    if probe.kind == "GAME_MOVE_CALL":
        move = probe.answer.get("move_data")
        choice = move.get("choice") if isinstance(move, dict) else None
        options = probe.message["move_request"]["valid_options"]
    is_legal = probe.is_answered and isinstance(choice, str) and choice in options
    return str(choice) if is_legal else None


def _turn_of(probe: Probe) -> int:
    return int(probe.message.get("turn", 1))


def _wrong_token(member: RegisteredAgent, probe: Probe) -> CheckOutcome | None:
    if probe.answer.get("auth_token") not in member.tokens:
        return None
    return broken(
        "the answer shows the referee the token of the registration: with it the referee can sign in your name",
        "Show each referee the token that is derived for it (9.3), or do not declare receipts.",
        probe,
    )


def _wrong_receipt(record: RunRecord, probe: Probe, turn: int, choice: str) -> CheckOutcome | None:
    """Return the outcome unless the answer to this invitation or call carries the right receipt."""
    receipt = probe.answer.get("receipt")
    question = f"{probe.kind} of {probe.message['match_id']}"
    expectations = _expectations(record, probe, turn, choice)
    if receipt is None:
        detail = f"the answer to {question} has no receipt, although the player declared that it signs"
        return broken(detail, f"Sign this text with RK, and put it into `receipt`: {expectations[0].text}", probe)
    if any(is_receipt(receipt, [expected.signing_key], expected.signed, choice) for expected in expectations):
        return None
    detail = f"the receipt for {question} is not the one for the choice {shown(choice)}"
    for expected in expectations:
        mistake = _mistake(receipt, expected)
        if mistake:
            return broken(detail, mistake, probe)
    expected = expectations[0]
    advice = f"Sign exactly this text with RK (9.6), which gives {expected.receipt}: {expected.text}"
    return broken(detail, advice, probe)


def _expectations(record: RunRecord, probe: Probe, turn: int, choice: str) -> list[_Expected]:
    """Return what may be signed. There is more than one: a player that cannot hash its view writes `-` instead, and one
    that accepts two commitments for an attempt breaks another clause."""
    seen = seen_in(probe.message.get("move_request"))
    views = dict.fromkeys((seen, NOTHING))
    return [
        _expected(record, probe, invitation, turn, choice, view)
        for invitation in _invitations(record, probe)
        for view in views
    ]


def _invitations(record: RunRecord, probe: Probe) -> list[Probe]:
    """Return the invitations to the attempt of this call; an invitation is its own."""
    if probe.kind == "GAME_INVITATION":
        return [probe]
    # Every attempt has a conversation of its own.
    names = ("match_id", "conversation_id")
    invitations = [other for other in record.of_kind("GAME_INVITATION") if other.has_joined]
    return [other for other in invitations if all(other.message[name] == probe.message[name] for name in names)]


def _expected(
    record: RunRecord,
    probe: Probe,
    invitation: Probe,
    turn: int,
    choice: str,
    seen: str,
) -> _Expected:
    member = record.member
    assert member is not None
    asked = invitation.message
    attempt = int(asked["attempt"])
    key = _key_of(member, probe, attempt)
    signed = Signed(
        LEAGUE,
        asked["match_id"],
        attempt,
        asked["game_type"],
        member.id,
        asked["opponent_id"],
        turn,
        asked.get("draw_commitment") or NOTHING,
        seen,
    )
    return _Expected(key, receipt_key(key, member.id, LEAGUE, signed.match_id, attempt), signed, choice)


def _key_of(member: RegisteredAgent, probe: Probe, attempt: int) -> str:
    """Return K of the registration from which the token of this call was derived."""
    keys = [tokens.deriver(token) for token in member.tokens]
    for key in keys:
        token = tokens.derive(key, REFEREE, member.id, LEAGUE, probe.message["match_id"], attempt)
        if token == probe.message["auth_token"]:
            return key
    return keys[-1]


def _mistake(receipt: object, expected: _Expected) -> str:
    """Return the advice for a usual mistake, if it is the one that was made."""
    if not isinstance(receipt, str):
        return ""
    digest = base64.urlsafe_b64decode(expected.receipt + "=")
    signed = expected.signed
    with_key = partial(sign, expected.signing_key)
    swapped = structs.replace(signed, player_id=signed.opponent_id, opponent_id=signed.player_id)
    mistakes = {
        expected.receipt + "=": ALPHABET,
        base64.b64encode(digest).decode(): ALPHABET,
        base64.b64encode(digest).decode().rstrip("="): ALPHABET,
        digest.hex(): "Write base64url without padding, not hexadecimal digits.",
        sign(bytes.fromhex(expected.key), signed, expected.choice): "Sign with RK of this attempt, not with K (9.6).",
        with_key(structs.replace(signed, draw_commitment=NOTHING), expected.choice): (
            "Sign the draw_commitment of the invitation, too: you wrote `-` in its place."
        ),
        with_key(swapped, expected.choice): "Write your own id first, then that of your opponent.",
        with_key(structs.replace(signed, turn=0), expected.choice): "Sign the number of the turn; the first is 1.",
    }
    for mistaken, advice in mistakes.items():
        if receipt.isascii() and hmac.compare_digest(mistaken, receipt):
            return advice
    return ""


# --- a choice is final ------------------------------------------------------------------------------------------------


@if_signing
def signed_once(record: RunRecord) -> CheckOutcome:
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
        return untestable("the player made no legal choice that the kit could ask for again")
    return kept("the same choice and the same receipt each time, also after GAME_ERROR", compared)


def _changed(first: Probe, repeat: Probe, has_erred: bool) -> CheckOutcome | None:
    occasion = "asked again"
    if has_erred:
        occasion = "asked again after a GAME_ERROR about a legal choice"
    if repeat.choice != first.choice:
        detail = f"{occasion}: first {shown(first.choice)}, then {shown(repeat.choice)}"
        advice = (
            "A choice that is one of the options is final: repeat it with its receipt, whatever the referee says of it."
        )
        return broken(detail, advice, first, repeat)
    receipt = first.answer.get("receipt")
    if repeat.answer.get("receipt") != receipt:
        detail = f"{occasion}: first the receipt {shown(receipt)}, then {shown(repeat.answer.get('receipt'))}"
        advice = "Store the receipt with the choice before it leaves, and send the stored one from then on."
        return broken(detail, advice, first, repeat)
    return None


# --- promises of the referee ------------------------------------------------------------------------------------------


@if_signing
def protests(record: RunRecord) -> CheckOutcome:
    results = [probe for probe in record.of("false result", "result before a false table") if probe.is_answered]
    if not results:
        return untestable("the player took no GAME_OVER that contradicts what it knows")
    queries = record.requests("LEAGUE_QUERY")
    evidence = []
    for result in results:
        protest = next((query for query in queries if is_protest(result, query)), None)
        lie = result.label.partition(": ")[2]
        match_id = result.message["match_id"]
        if protest is None:
            false = "GAME_OVER"
            advice = f"Compare GAME_OVER with what you know, and send the manager LEAGUE_QUERY {PROTEST} (8.19)."
            if result.label.startswith("result before a false table"):
                false = "the table after GAME_OVER"
                advice = (
                    "After ROUND_COMPLETED compare your row in the table with your matches. If it does not follow, ask "
                    f"GET_PLAYER_STATS which match differs, and send the manager LEAGUE_QUERY {PROTEST} (8.19)."
                )
            return broken(f"{false} of {match_id} is false ({lie}), and no protest came", advice, result)
        wrong = _wrong_protest(record, protest.message["query_params"], match_id)
        if wrong:
            advice = "A protest names `attempt`, says `why`, and repeats the receipts as you gave them to the referee."
            return broken(f"the protest about {match_id} {wrong}", advice, protest)
        evidence.append(protest)
    return kept(f"protested against {len(evidence)} false results and tables", evidence)


def _wrong_protest(record: RunRecord, params: Mapping[str, object], match_id: str) -> str:
    """Say what is wrong with a protest; the types of its fields are judged by clauses of their own."""
    if params.get("attempt") != 1:
        return f"names attempt {shown(params.get('attempt'))}, not 1"
    if not params.get("why"):
        return "does not say why"
    calls = [probe for probe in record.of("call with a commitment") if probe.message["match_id"] == match_id]
    receipts = [probe.answer["receipt"] for probe in calls if probe.answer.get("receipt") is not None]
    claims = params.get("receipts")
    if not receipts or not isinstance(claims, list):
        return ""
    for claim in claims:
        receipt = claim.get("receipt") if isinstance(claim, dict) else None
        if isinstance(receipt, str) and receipt not in receipts:
            return f"shows a receipt that the referee was not given: {shown(receipt)}"
    return ""


_MATCH = ("registration", "dialect", "match")

CHECKS: Mapping[str, Check] = {
    "RECEIPT.statement": Check(statement_signed, (*_MATCH, "played_again", "other_game", "signing")),
    "RECEIPT.once": Check(signed_once, (*_MATCH, "correction")),
    "RECEIPT.declined": Check(declined_signed, (*_MATCH, "signing")),
    "PROTEST.player": Check(protests, (*_MATCH, "signing")),
    "DRAW.one_commitment": Check(
        if_signing(
            partial(
                refused,
                label="other commitment",
                code="E023",
                advice=ONE_DRAW,
            )
        ),
        (*_MATCH, "signing"),
    ),
}
