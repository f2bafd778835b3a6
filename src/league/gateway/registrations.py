"""Registrations as agents by others write them (spec section 13.2): the meta fields flat, under other names, or left
out where a league can do without them. Each is a deviation; a value is never repaired. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from league.protocol.errors import Violation
from league.protocol.judge import ENVELOPE

PLAYER, REFEREE = "LEAGUE_REGISTER_REQUEST", "REFEREE_REGISTER_REQUEST"
META_FIELDS: Mapping[str, str] = {PLAYER: "player_meta", REFEREE: "referee_meta"}
"""The registrations, and where each says who registers."""
UNKNOWN_VERSION: Final = "0.0.0"
_ENDPOINTS: Final = ("endpoint", "url", "contact_url", "callback_url", "agent_endpoint", "mcp_endpoint", "address")
_NAMES: Final = ("name", "player_name", "referee_name", "agent_name")
_NOBODY: Final = frozenset({"", "unregistered", "unknown", "player", "referee", "new", "none", "null"})
_METHODS: Final = ("register", "register_agent", "registration")

Fields = dict[str, Any]
"""JSON of others (Any: whatever they wrote)."""
Normalised = tuple[Fields, tuple[Violation, ...]]


def normalise(content: Fields, kind: str, game_type: str) -> Normalised:
    """A registration as the documents have it, and its deviations."""
    place = META_FIELDS[kind]
    is_flat = place not in content
    if is_flat and not any(name in content for name in ("contact_endpoint", *_ENDPOINTS)):
        return content, ()
    meta = content.get(place) if not is_flat else {name: one for name, one in content.items() if not _is_outer(name)}
    if not isinstance(meta, dict):
        return content, ()
    whole, told = _completed(meta, content, game_type, lacks_version=is_flat or "message_type" not in content)
    found = [_deviation(f"{place}.{name}", detail, kind) for name, detail in told]
    if is_flat:
        found.insert(0, _deviation(place, f"the fields of {place} stand in an object of that name", kind))
    if not found:
        return content, ()
    outer = {name: one for name, one in content.items() if _is_outer(name)} if is_flat else content
    return {**outer, place: whole}, tuple(found)


def of_endpoint(endpoint: str) -> tuple[Violation, ...]:
    """The deviation of an endpoint that has no path: it is called at /mcp where there is nothing."""
    if endpoint.partition("://")[2].partition("/")[2]:
        return ()
    detail = f"the endpoint {endpoint} has no path; /mcp is tried where there is nothing"
    return (Violation("E003", "contact_endpoint", detail, "HTTP.post_mcp", lenient=True),)


def _is_outer(name: str) -> bool:
    return name in ENVELOPE or name == "auth_token"


def _completed(
    meta: Fields, content: Fields, game_type: str, *, lacks_version: bool
) -> tuple[Fields, list[tuple[str, str]]]:
    """The meta fields under their own names, what may be left out filled in; and what was told otherwise."""
    whole, told = dict(meta), []
    for name, others in (("contact_endpoint", _ENDPOINTS), ("display_name", _NAMES)):
        alias = next((one for one in others if isinstance(meta.get(one), str)), None)
        if name not in meta and alias is not None:
            whole[name] = meta[alias]
            told.append((name, f"{name} is under {name}, not {alias}"))
    for name, default in (("display_name", _name(whole, content)), ("game_types", [game_type])):
        if name not in whole:
            whole[name] = default
            told.append((name, f"{name} is missing; taken for {default!r}"))
    if lacks_version and whole.get("version") is None:
        # Who sends no message of the documents, only what is to be in one, need not say its version.
        whole["version"] = UNKNOWN_VERSION
        told.append(("version", "version is missing"))
    return whole, told


def _name(meta: Fields, content: Fields) -> str:
    """The sender's id; who has none goes by its address."""
    sender, endpoint = content.get("sender"), meta.get("contact_endpoint")
    said = sender.rpartition(":")[2].strip() if isinstance(sender, str) else ""
    if said.lower() not in _NOBODY:
        return said
    return f"agent at {str(endpoint).partition('://')[2].partition('/')[0]}"


def _deviation(path: str, detail: str, kind: str) -> Violation:
    return Violation("E003", path, detail, f"{kind}.{path}", lenient=True)


def registration_of(fields: Fields) -> Fields:
    """What is posted to /register, as a message: who offers to run matches is a referee."""
    role = str(fields.get("role") or fields.get("agent_type") or fields.get("sender") or "")
    is_referee = role.lower().startswith("ref") or "max_concurrent_matches" in fields or "referee_meta" in fields
    return {"message_type": REFEREE if is_referee else PLAYER, **fields}


def kind_of_method(method: str, content: Fields) -> str | None:
    """The registration that a method of no document stands for."""
    return str(registration_of(content)["message_type"]) if method.lower() in _METHODS else None
