"""What agents by others say, as messages of the documents (spec section 13.2): other names for a field, a field in
another place, a type left out. Each is recorded as a deviation; a value is never repaired.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from league.dialects import notifications, reports
from league.dialects.notifications import Normalised
from league.protocol.errors import Violation
from league.protocol.exchanges import message_type_of
from league.protocol.judge import ENVELOPE
from league.protocol.messages import MESSAGES

UNKNOWN_VERSION = "0.0.0"
META_FIELDS: Mapping[str, str] = {
    "LEAGUE_REGISTER_REQUEST": "player_meta",
    "REFEREE_REGISTER_REQUEST": "referee_meta",
}
"""The registrations, and where each says who registers."""
_JOINED = ("ACCEPTED", "ACK", "ACKNOWLEDGED")
_MEMBERSHIPS = frozenset(one.replace("REQUEST", "RESPONSE") for one in META_FIELDS)
_MEMBER = frozenset({"ACCEPTED", "REGISTERED", "OK", "SUCCESS", "APPROVED", "CONFIRMED", "ACK", "ACKNOWLEDGED"})
_NO_MEMBER = frozenset({"REJECTED", "ERROR", "DENIED", "DECLINED", "FAILED", "FAILURE", "REFUSED"})


def normalise_answer(content: dict[str, Any], sent: str) -> Normalised:
    """An answer as it is said out there, read as the message it stands for."""
    if sent == "GAME_INVITATION":
        return _join(content)
    if sent == "CHOOSE_PARITY_CALL":
        return _choice(content)
    if sent in META_FIELDS:
        return _membership(content, sent)
    return content, ()


def _join(content: dict[str, Any]) -> Normalised:
    told, accept = content.get("message_type"), content.get("accept")
    if told not in (None, "GAME_JOIN_ACK") or (told is not None and accept is not None):
        return content, ()
    if accept is None:
        accept = content.get("accepted")
    if accept is None and content.get("status") in _JOINED:
        accept = True
    if not isinstance(accept, bool):
        return content, ()
    found = [] if "accept" in content else [_deviation("accept", "the answer is under accept", "GAME_JOIN_ACK.accept")]
    return _typed({**content, "accept": accept}, "GAME_JOIN_ACK", found)


def _choice(content: dict[str, Any]) -> Normalised:
    told, choice = content.get("message_type"), content.get("choice")
    if told not in (None, "CHOOSE_PARITY_RESPONSE"):
        return content, ()
    if "parity_choice" in content:
        return _typed(content, "CHOOSE_PARITY_RESPONSE", []) if told is None else (content, ())
    if not isinstance(choice, str):
        return content, ()
    place = "parity_choice"
    found = [_deviation(place, "the choice is under parity_choice, not choice", f"CHOOSE_PARITY_RESPONSE.{place}")]
    return _typed({**content, place: choice}, "CHOOSE_PARITY_RESPONSE", found)


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
    if told is not None and told != kind:
        found.append(_deviation("message_type", f"this is a {kind}, whatever its type says", "ENVELOPE.message_type"))
    return _typed({**fields, **said}, kind, found) if found or told is None else (content, ())


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


def _typed(content: dict[str, Any], kind: str, found: list[Violation]) -> Normalised:
    if "message_type" not in content:
        found.append(_deviation("message_type", f"message_type is missing; this is a {kind}", "ENVELOPE.message_type"))
    return {**content, "message_type": kind}, tuple(found)


def _deviation(path: str, detail: str, clause: str) -> Violation:
    return Violation("E003", path, detail, clause, lenient=True)


def normalise_request(content: dict[str, Any], method: str) -> Normalised:
    """A request of an agent as it is said out there: a choice or a join as its own POST, a registration whose meta
    fields stand flat in it, a report or what a player is told in other words. Any: JSON of others."""
    told = content.get("message_type") or message_type_of(method)
    if told == "GAME_JOIN_ACK":
        return _join(content)
    if told == "CHOOSE_PARITY_RESPONSE":
        return _choice(content)
    if isinstance(told, str) and told in META_FIELDS:
        return _registration(content, str(told))
    if isinstance(told, str) and told in notifications.KINDS:
        return notifications.normalise(content, told)
    return reports.normalise(content) if told == reports.KIND else (content, ())


def _registration(content: dict[str, Any], kind: str) -> Normalised:
    place = META_FIELDS[kind]
    if place in content and "message_type" in content:
        return content, ()
    if place in content:
        content, found = _with_version(content, place, kind)
        return _typed(content, kind, found)
    if "contact_endpoint" not in content:
        return content, ()
    envelope = {name: value for name, value in content.items() if name in ENVELOPE or name == "auth_token"}
    meta = {name: value for name, value in content.items() if name not in envelope}
    flat = _deviation(place, f"the fields of {place} stand in an object of that name", f"{kind}.{place}")
    content, found = _with_version({**envelope, place: meta}, place, kind)
    return _typed(content, kind, [flat, *found])


def _with_version(content: dict[str, Any], place: str, kind: str) -> tuple[dict[str, Any], list[Violation]]:
    """Who sends no message of the documents, only what is to be in one, need not say its version. Any: JSON."""
    meta = content[place]
    if not isinstance(meta, dict) or meta.get("version") is not None:
        return content, []
    found = _deviation(f"{place}.version", "version is missing", f"{kind}.{place}.version")
    return {**content, place: {**meta, "version": UNKNOWN_VERSION}}, [found]


def registration_of(fields: dict[str, Any]) -> dict[str, Any]:
    """What is posted to /register, as a message: who offers to run matches is a referee. Any: JSON of others."""
    role = str(fields.get("role") or fields.get("agent_type") or fields.get("sender") or "")
    is_referee = role.lower().startswith("ref") or "max_concurrent_matches" in fields or "referee_meta" in fields
    return {"message_type": "REFEREE_REGISTER_REQUEST" if is_referee else "LEAGUE_REGISTER_REQUEST", **fields}
