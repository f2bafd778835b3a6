"""What third-party agents say, as messages of the documents (spec section 13.2): other names for a field, a field in
another place, a type left out. Each is recorded as a deviation; a value is never repaired.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from league.gateway.readers import foreign_reports, notifications, registrations
from league.gateway.readers.foreign_assignments import name_of_round, number_in
from league.gateway.readers.foreign_json import deviation_from, first_text, flattened, text_in
from league.gateway.readers.notifications import Normalised
from league.gateway.readers.registrations import ID_FIELDS, META_FIELDS
from league.protocol.errors import Violation
from league.protocol.message.exchanges import message_type_of
from league.protocol.message.messages import MESSAGES
from league.protocol.message.parts import MoveRequest

OTHER_TYPES: Mapping[str, tuple[str, ...]] = {
    "LEAGUE_REGISTER_REQUEST": (
        "PLAYER_REGISTER_REQUEST",
        "PLAYER_REGISTRATION_REQUEST",
    ),
    "REFEREE_REGISTER_REQUEST": ("REFEREE_REGISTRATION_REQUEST",),
    "CHOOSE_PARITY_CALL": ("CHOOSE_PARITY_REQUEST",),
    "CHOOSE_PARITY_RESPONSE": ("CHOOSE_PARITY_REPLY", "PARITY_CHOICE"),
}
"""The names of messages outside the documents."""
_STANDS_FOR: Mapping[str, str] = {alias: kind for kind, aliases in OTHER_TYPES.items() for alias in aliases}
_JOINED = ("ACCEPTED", "ACK", "ACKNOWLEDGED")
_PARITIES = ("even", "odd")
_MEMBERSHIPS = frozenset(kind.replace("REQUEST", "RESPONSE") for kind in META_FIELDS)
_MEMBER = frozenset(
    {
        "ACCEPTED",
        "REGISTERED",
        "OK",
        "SUCCESS",
        "APPROVED",
        "CONFIRMED",
        "ACK",
        "ACKNOWLEDGED",
    }
)
_NO_MEMBER = frozenset({"REJECTED", "ERROR", "DENIED", "DECLINED", "FAILED", "FAILURE", "REFUSED"})
_TOKENS = ("auth_token", "token", "access_token")
_VERDICTS = ("accept", "accepted", "status")
_FLAGS = ("success", "accepted", "registered")


# --- answers ----------------------------------------------------------------------------------------------------------


def normalise_answer(content: dict[str, Any], sent: str, move: MoveRequest | None = None) -> Normalised:
    """Read an answer, in whatever words, as the message it stands for. `move`: what GAME_MOVE_CALL asks for."""
    content = named(content, sent, move)
    if sent == "GAME_INVITATION":
        return _join(content)
    if sent == "CHOOSE_PARITY_CALL":
        return _choice(content)
    if move is not None:
        chosen = {"move_type": move.move_type, "choice": content.get("choice")}
        return _chosen(content, "GAME_MOVE_RESPONSE", "move_data", chosen)
    if sent in META_FIELDS:
        return _membership(content, sent)
    return content, ()


def named(content: dict[str, Any], sent: str, move: MoveRequest | None = None) -> dict[str, Any]:
    """Put a lone word, number or truth value that a tool returned under the name of the field that it is.

    A sentence that names an option is an answer, too: a wrong one, which is told so at once.
    """
    if content.keys() not in ({"text"}, {"result"}):
        return content
    value = next(iter(content.values()))
    text = ""
    if isinstance(value, str | int):
        text = str(value)
    word = text.strip()
    if sent == "CHOOSE_PARITY_CALL" and _names_one(word, _PARITIES):
        return {"parity_choice": text}
    if move is not None and _names_one(word, move.valid_options):
        return {"move_data": {"move_type": move.move_type, "choice": text}}
    if sent == "GAME_INVITATION" and word.upper() in _JOINED:
        return {"status": word.upper()}
    if sent == "GAME_INVITATION" and isinstance(value, bool):
        return {"accept": value}
    return content


def _names_one(text: str, options: Iterable[str]) -> bool:
    """True if a text is one of these options, or a sentence with one."""
    return any(re.search(rf"(?<!\w){re.escape(option)}(?!\w)", text, re.IGNORECASE) for option in options)


def _join(content: dict[str, Any]) -> Normalised:
    message_type = content.get("message_type")
    accept = content.get("accept")
    is_documented = message_type == "GAME_JOIN_ACK" and accept is not None
    if is_documented or _is_another(message_type, "GAME_JOIN_ACK"):
        return content, ()
    if content.get("joined_by") == "tools/list":
        detail = "it offers a tool for the choice and none for the invitation, which counts as having joined"
        return _typed({"accept": True}, "GAME_JOIN_ACK", [deviation_from("GAME_JOIN_ACK", "accept", detail)])
    if accept is None:
        accept = content.get("accepted")
    if accept is None and content.get("status") in _JOINED:
        accept = True
    if message_type == "GAME_JOIN_ACK" and content.keys().isdisjoint(_VERDICTS):
        # D2 knows this message and prints no field of it: whoever sends it has joined.
        accept = True
    if not isinstance(accept, bool):
        return content, ()
    deviations = []
    if "accept" not in content:
        deviations.append(deviation_from("GAME_JOIN_ACK", "accept", "the answer is under accept"))
    return _typed({**content, "accept": accept}, "GAME_JOIN_ACK", deviations)


def _choice(content: dict[str, Any]) -> Normalised:
    """Read a choice in even_odd."""
    return _chosen(
        content,
        "CHOOSE_PARITY_RESPONSE",
        "parity_choice",
        content.get("choice"),
    )


def _chosen(content: dict[str, Any], kind: str, place: str, value: object) -> Normalised:
    """Put a choice that stands under `choice` at its place."""
    message_type = content.get("message_type")
    if _is_another(message_type, kind):
        return content, ()
    if place in content:
        if message_type == kind:
            return content, ()
        return _typed(content, kind, [])
    if not isinstance(content.get("choice"), str):
        return content, ()
    deviation = deviation_from(kind, place, f"the choice is under {place}, not choice")
    return _typed({**content, place: value}, kind, [deviation])


def _membership(content: dict[str, Any], sent: str) -> Normalised:
    """Read the answer to a registration: one that says that we are in, and as whom, or one that says in the answer's
    own type that we are not."""
    kind = sent.replace("REQUEST", "RESPONSE")
    id_field = ID_FIELDS[sent]
    message_type = content.get("message_type")
    if message_type is not None and not isinstance(message_type, str):
        return content, ()
    if message_type in MESSAGES and message_type not in _MEMBERSHIPS:
        return content, ()
    fields = flattened(content, "data")
    agent_id = first_text(fields, (id_field, "agent_id", "assigned_id", "id"))
    status = _membership_status(fields, has_id=agent_id is not None)
    # A refusal in another type is read as the error that it is.
    is_error = status == "REJECTED" and message_type != kind
    # Without an id nobody can take part.
    lacks_id = status == "ACCEPTED" and agent_id is None
    if status is None or is_error or lacks_id:
        return content, ()
    answer = {
        "status": status,
        id_field: agent_id,
        "auth_token": first_text(fields, _TOKENS),
    }
    moved = [name for name, value in answer.items() if value is not None and value != content.get(name)]
    if not moved and message_type == kind:
        return content, ()
    deviations = []
    for name in moved:
        detail = f"this is not under {name}, but elsewhere in the answer"
        deviations.append(deviation_from(kind, name, detail))
    return _typed({**fields, **answer}, kind, deviations)


def _membership_status(fields: Mapping[str, Any], has_id: bool) -> str | None:
    """Return ACCEPTED or REJECTED, whichever field says so; an id alone means ACCEPTED."""
    word = (text_in(fields, "status") or "").upper()
    flags = [flag for flag in map(fields.get, _FLAGS) if isinstance(flag, bool)]
    if word in _NO_MEMBER or not all(flags) or fields.get("error") is not None:
        return "REJECTED"
    if word in _MEMBER or flags or (has_id and not word):
        return "ACCEPTED"
    return None


def _is_another(message_type: object, kind: str) -> bool:
    """Is it the type of another message?"""
    if message_type is None or message_type == kind:
        return False
    # D3's table of times knows CHOOSE_PARITY, and no CHOOSE_PARITY_RESPONSE.
    return message_type not in (*OTHER_TYPES.get(kind, ()), kind.removesuffix("_RESPONSE"))


def _typed(content: dict[str, Any], kind: str, deviations: list[Violation]) -> Normalised:
    """Give a message its type."""
    message_type = content.get("message_type")
    if message_type != kind:
        detail = f"this is a {kind}, not {message_type}"
        if message_type is None:
            detail = f"message_type is missing; this is a {kind}"
        deviations.append(deviation_from("ENVELOPE", "message_type", detail))
    return {**content, "message_type": kind}, tuple(deviations)


# --- requests ---------------------------------------------------------------------------------------------------------


def normalise_request(content: dict[str, Any], method: str, game_type: str = "even_odd") -> Normalised:
    """Read a request in any wording: a choice or a join as its own POST, a registration with flat meta fields, a
    report, or a notification to a player. Any: JSON of others."""
    name = content.get("message_type") or message_type_of(method) or _STANDS_FOR.get(method.upper())
    name = name or registrations.kind_of_method(method, content)
    if not isinstance(name, str):
        return content, ()
    kind = _STANDS_FOR.get(name.upper(), name)
    deviations: list[Violation] = []
    if kind != name and "message_type" in content:
        content = {**content, "message_type": kind}
        deviations.append(deviation_from("ENVELOPE", "message_type", f"{kind} is called {name}"))
    content, round_deviations = _numbered_round(content, kind)
    content, kind_deviations = _of_kind(content, kind, game_type)
    deviations += round_deviations
    deviations += kind_deviations
    # A method of the documents names the type by itself; here something else has to be as clear.
    is_clear = META_FIELDS.get(kind, "") in content or method.upper() in _STANDS_FOR
    if is_clear and "message_type" not in content:
        return _typed(content, kind, deviations)
    return content, tuple(deviations)


def _of_kind(content: dict[str, Any], kind: str, game_type: str) -> Normalised:
    if kind == "GAME_JOIN_ACK":
        return _join(content)
    if kind == "CHOOSE_PARITY_RESPONSE":
        return _choice(content)
    if kind in META_FIELDS:
        return registrations.normalise(content, kind, game_type)
    if kind in notifications.KINDS:
        return notifications.normalise(content, kind)
    if kind == foreign_reports.KIND:
        return foreign_reports.normalise(content)
    return content, ()


def _numbered_round(content: dict[str, Any], kind: str) -> Normalised:
    """Read the number out of a round's name, such as "R1"; a name without a number is judged like any value."""
    round_id = content.get("round_id")
    if not name_of_round(round_id):
        return content, ()
    detail = f"a round has a number, not the name {round_id!r}"
    return {**content, "round_id": number_in(round_id)}, (deviation_from(kind, "round_id", detail, "E007"),)
