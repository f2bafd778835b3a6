"""What agents by others say, as messages of the documents (spec section 13.2): other names for a field, a field in
another place, a type left out. Each is recorded as a deviation; a value is never repaired.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from league.gateway import notifications, registrations, reports
from league.gateway.assignments import name_of_round, number_in
from league.gateway.notifications import Normalised
from league.gateway.registrations import META_FIELDS
from league.protocol.errors import Violation
from league.protocol.exchanges import message_type_of
from league.protocol.messages import MESSAGES
from league.protocol.parts import MoveRequest

OTHER_TYPES: Mapping[str, tuple[str, ...]] = {
    "LEAGUE_REGISTER_REQUEST": ("PLAYER_REGISTER_REQUEST", "PLAYER_REGISTRATION_REQUEST"),
    "REFEREE_REGISTER_REQUEST": ("REFEREE_REGISTRATION_REQUEST",),
    "CHOOSE_PARITY_CALL": ("CHOOSE_PARITY_REQUEST",),
    "CHOOSE_PARITY_RESPONSE": ("CHOOSE_PARITY_REPLY", "PARITY_CHOICE"),
}
"""What messages are called outside the documents."""
_STANDS_FOR: Mapping[str, str] = {other: kind for kind, others in OTHER_TYPES.items() for other in others}
_JOINED = ("ACCEPTED", "ACK", "ACKNOWLEDGED")
_PARITIES = ("even", "odd")
_MEMBERSHIPS = frozenset(one.replace("REQUEST", "RESPONSE") for one in META_FIELDS)
_MEMBER = frozenset({"ACCEPTED", "REGISTERED", "OK", "SUCCESS", "APPROVED", "CONFIRMED", "ACK", "ACKNOWLEDGED"})
_NO_MEMBER = frozenset({"REJECTED", "ERROR", "DENIED", "DECLINED", "FAILED", "FAILURE", "REFUSED"})


def normalise_answer(content: dict[str, Any], sent: str, move: MoveRequest | None = None) -> Normalised:
    """An answer as it is said out there, read as the message it stands for. `move`: what GAME_MOVE_CALL asks for."""
    content = named(content, sent, move)
    if sent == "GAME_INVITATION":
        return _join(content)
    if sent == "CHOOSE_PARITY_CALL":
        return _choice(content)
    if move is not None:
        return _choice(content, move.move_type)
    if sent in META_FIELDS:
        return _membership(content, sent)
    return content, ()


def named(content: dict[str, Any], sent: str, move: MoveRequest | None = None) -> dict[str, Any]:
    """A lone word, number or truth value that a tool returned, under the name of the field that it is."""
    lone = next(iter(content.values())) if content.keys() in ({"text"}, {"result"}) else None
    text = str(lone) if isinstance(lone, str | int) else ""
    word = text.strip()
    if sent == "CHOOSE_PARITY_CALL" and word.lower() in _PARITIES:
        return {"parity_choice": text}
    if move is not None and word.lower() in map(str.lower, move.valid_options):
        return {"move_data": {"move_type": move.move_type, "choice": text}}
    if sent == "GAME_INVITATION" and word.upper() in _JOINED:
        return {"status": word.upper()}
    if sent == "GAME_INVITATION" and isinstance(lone, bool):
        return {"accept": lone}
    return content


def _join(content: dict[str, Any]) -> Normalised:
    told, accept = content.get("message_type"), content.get("accept")
    if _is_another(told, "GAME_JOIN_ACK") or (told == "GAME_JOIN_ACK" and accept is not None):
        return content, ()
    if accept is None:
        accept = content.get("accepted")
    if accept is None and content.get("status") in _JOINED:
        accept = True
    if not isinstance(accept, bool):
        return content, ()
    found = [] if "accept" in content else [_deviation("accept", "the answer is under accept", "GAME_JOIN_ACK.accept")]
    return _typed({**content, "accept": accept}, "GAME_JOIN_ACK", found)


def _choice(content: dict[str, Any], move_type: str = "") -> Normalised:
    """A choice in even_odd; or a move of that type in any other game."""
    kind, place = ("GAME_MOVE_RESPONSE", "move_data") if move_type else ("CHOOSE_PARITY_RESPONSE", "parity_choice")
    told, choice = content.get("message_type"), content.get("choice")
    if _is_another(told, kind):
        return content, ()
    if place in content:
        return _typed(content, kind, []) if told != kind else (content, ())
    if not isinstance(choice, str):
        return content, ()
    found = [_deviation(place, f"the choice is under {place}, not choice", f"{kind}.{place}")]
    value = {"move_type": move_type, "choice": choice} if move_type else choice
    return _typed({**content, place: value}, kind, found)


def _membership(content: dict[str, Any], sent: str) -> Normalised:
    """Who says that we are in, and as whom, has answered a registration; so has who says in the answer's own type that
    we are not."""
    kind, named = sent.replace("REQUEST", "RESPONSE"), "player_id" if sent.startswith("LEAGUE") else "referee_id"
    told, data = content.get("message_type"), content.get("data")
    if told is not None and (not isinstance(told, str) or (told in MESSAGES and told not in _MEMBERSHIPS)):
        return content, ()
    fields = {**data, **content} if isinstance(data, dict) else content
    agent_id = _first(fields, (named, "agent_id", "assigned_id", "id"))
    status = _membership_status(fields, has_id=agent_id is not None)
    if status is None or (status == "REJECTED" and told != kind) or (status == "ACCEPTED" and agent_id is None):
        return content, ()
    said = {"status": status, named: agent_id, "auth_token": _first(fields, ("auth_token", "token", "access_token"))}
    found = [
        _deviation(name, f"{name} does not say it, but something else in the answer", f"{kind}.{name}")
        for name, value in said.items()
        if value is not None and value != content.get(name)
    ]
    return _typed({**fields, **said}, kind, found) if found or told != kind else (content, ())


def _membership_status(fields: Mapping[str, Any], has_id: bool) -> str | None:
    """ACCEPTED or REJECTED, by whatever says so; an id alone says yes."""
    status = fields.get("status")
    word = status.upper() if isinstance(status, str) else ""
    flags = [flag for flag in map(fields.get, ("success", "accepted", "registered")) if isinstance(flag, bool)]
    if word in _NO_MEMBER or not all(flags) or fields.get("error") is not None:
        return "REJECTED"
    return "ACCEPTED" if word in _MEMBER or flags or (has_id and not word) else None


def _first(fields: Mapping[str, Any], names: Iterable[str]) -> str | None:
    found = (fields.get(name) for name in names)
    return next((value for value in found if isinstance(value, str) and value), None)


def _is_another(told: object, kind: str) -> bool:
    """Is it the type of another message?"""
    return told is not None and told != kind and told not in OTHER_TYPES.get(kind, ())


def _typed(content: dict[str, Any], kind: str, found: list[Violation]) -> Normalised:
    told = content.get("message_type")
    if told != kind:
        what = f"message_type is missing; this is a {kind}" if told is None else f"this is a {kind}, not {told}"
        found.append(_deviation("message_type", what, "ENVELOPE.message_type"))
    return {**content, "message_type": kind}, tuple(found)


def _deviation(path: str, detail: str, clause: str) -> Violation:
    return Violation("E003", path, detail, clause, lenient=True)


def normalise_request(content: dict[str, Any], method: str, game_type: str = "even_odd") -> Normalised:
    """A request of an agent as it is said out there: a choice or a join as its own POST, a registration whose meta
    fields stand flat in it, a report or what a player is told in other words. Any: JSON of others."""
    said = content.get("message_type") or message_type_of(method) or _STANDS_FOR.get(method.upper())
    told = said or registrations.kind_of_method(method, content)
    if not isinstance(told, str):
        return content, ()
    kind = _STANDS_FOR.get(told.upper(), told)
    found: list[Violation] = []
    if kind != told and "message_type" in content:
        content = {**content, "message_type": kind}
        found.append(_deviation("message_type", f"{kind} is called {told}", "ENVELOPE.message_type"))
    content, more = _numbered_round(content, kind)
    found += more
    content, others = _of_kind(content, kind, game_type)
    found += others
    is_clear = META_FIELDS.get(kind, "") in content or method.upper() in _STANDS_FOR
    return _typed(content, kind, found) if "message_type" not in content and is_clear else (content, tuple(found))


def _of_kind(content: dict[str, Any], kind: str, game_type: str) -> Normalised:
    if kind == "GAME_JOIN_ACK":
        return _join(content)
    if kind == "CHOOSE_PARITY_RESPONSE":
        return _choice(content)
    if kind in META_FIELDS:
        return registrations.normalise(content, kind, game_type)
    if kind in notifications.KINDS:
        return notifications.normalise(content, kind)
    return reports.normalise(content) if kind == reports.KIND else (content, ())


def _numbered_round(content: dict[str, Any], kind: str) -> Normalised:
    """Some name their rounds, such as "R1"; a name without a number in it is judged like any value."""
    said = content.get("round_id")
    if not name_of_round(said):
        return content, ()
    detail = f"a round has a number, not the name {said!r}"
    found = Violation("E007", "round_id", detail, f"{kind}.round_id", lenient=True)
    return {**content, "round_id": number_in(said)}, (found,)
