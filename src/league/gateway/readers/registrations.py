"""Registrations as third-party agents write them (spec section 13.2): the meta fields flat, under other names, or left
out where a league can do without them. Each is a deviation; a value is never repaired. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from league.gateway.readers.foreign_json import deviation_from, text_in
from league.protocol.errors import Violation
from league.protocol.message.judge import ENVELOPE

PLAYER: Final = "LEAGUE_REGISTER_REQUEST"
REFEREE: Final = "REFEREE_REGISTER_REQUEST"
META_FIELDS: Mapping[str, str] = {
    PLAYER: "player_meta",
    REFEREE: "referee_meta",
}
"""The registrations, and the field in which each says who registers."""
ID_FIELDS: Mapping[str, str] = {
    PLAYER: "player_id",
    REFEREE: "referee_id",
}
"""The field in which the answer to each says the new member's id."""
UNKNOWN_VERSION: Final = "0.0.0"
_ENDPOINTS: Final = (
    "endpoint",
    "url",
    "contact_url",
    "callback_url",
    "agent_endpoint",
    "mcp_endpoint",
    "address",
)
_NAMES: Final = ("name", "player_name", "referee_name", "agent_name")
_NOBODY: Final = frozenset({"", "unregistered", "unknown", "player", "referee", "new", "none", "null"})
_METHODS: Final = ("register", "register_agent", "registration")

Fields = dict[str, Any]
"""JSON of others (Any: whatever they wrote)."""
Normalised = tuple[Fields, tuple[Violation, ...]]


def normalise(content: Fields, kind: str, game_type: str) -> Normalised:
    """Return a registration as the documents have it, and its deviations."""
    place = META_FIELDS[kind]
    is_flat = place not in content
    # Without an address nothing here can be a registration.
    if is_flat and not any(name in content for name in ("contact_endpoint", *_ENDPOINTS)):
        return content, ()
    meta = content.get(place)
    outer = content
    if is_flat:
        meta = {name: value for name, value in content.items() if not _is_outer(name)}
        outer = {name: value for name, value in content.items() if _is_outer(name)}
    if not isinstance(meta, dict):
        return content, ()
    whole = dict(meta)
    changes = _rename(whole)
    changes |= _fill_in(
        whole,
        content,
        game_type,
        lacks_version=is_flat or "message_type" not in content,
    )
    deviations = [deviation_from(kind, f"{place}.{name}", detail) for name, detail in changes.items()]
    if is_flat:
        detail = f"the fields of {place} stand in an object of that name"
        deviations.insert(0, deviation_from(kind, place, detail))
    if not deviations:
        return content, ()
    return {**outer, place: whole}, tuple(deviations)


def _is_outer(name: str) -> bool:
    return name in ENVELOPE or name == "auth_token"


def _rename(meta: Fields) -> dict[str, str]:
    """Put the meta fields under their own names; return what was wrong, by field."""
    changes = {}
    for name, aliases in (
        ("contact_endpoint", _ENDPOINTS),
        ("display_name", _NAMES),
    ):
        alias = next(
            (alias for alias in aliases if isinstance(meta.get(alias), str)),
            None,
        )
        if name not in meta and alias is not None:
            meta[name] = meta[alias]
            changes[name] = f"{name} is under {name}, not {alias}"
    return changes


def _fill_in(meta: Fields, content: Fields, game_type: str, *, lacks_version: bool) -> dict[str, str]:
    """Add the meta fields that may be left out; return what was wrong, by field."""
    changes = {}
    for name, default in (
        ("display_name", _name(meta, content)),
        ("game_types", [game_type]),
    ):
        if name not in meta:
            meta[name] = default
            changes[name] = f"{name} is missing; {default!r} is assumed"
    # An agent that sends no message of the documents, only what is to be in one, need not say its version.
    if lacks_version and meta.get("version") is None:
        meta["version"] = UNKNOWN_VERSION
        changes["version"] = "version is missing"
    return changes


def _name(meta: Fields, content: Fields) -> str:
    """Return the sender's id; a sender without one goes by its address."""
    sender = text_in(content, "sender") or ""
    sender_id = sender.rpartition(":")[2].strip()
    if sender_id.lower() not in _NOBODY:
        return sender_id
    endpoint = str(meta.get("contact_endpoint"))
    host = endpoint.partition("://")[2].partition("/")[0]
    return f"agent at {host}"


def registration_of(fields: Fields) -> Fields:
    """Return an object that was posted to /register as a message: an agent that offers to run matches is a referee."""
    role = fields.get("role") or fields.get("agent_type") or fields.get("sender")
    says_referee = str(role or "").lower().startswith("ref")
    offers_matches = "max_concurrent_matches" in fields or "referee_meta" in fields
    message_type = PLAYER
    if says_referee or offers_matches:
        message_type = REFEREE
    return {"message_type": message_type, **fields}


def kind_of_method(method: str, content: Fields) -> str | None:
    """Return the registration that a method of no document stands for."""
    if method.lower() not in _METHODS:
        return None
    return str(registration_of(content)["message_type"])
