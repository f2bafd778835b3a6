"""Versions: the protocol's name, the range of protocol versions we speak, and SemVer 2.0 for agents' own versions."""

from __future__ import annotations

import re
from typing import Final

PROTOCOL: Final = "league.v2"
CURRENT = "2.1.0"
SHARED_DRAWS: Final = "shared.v2"
"""`draw_scheme`: the manager takes part in the draws of every game (section 12.1)."""
SHARED_LAST_DRAWS: Final = "shared.v1"
"""What referees of 0.3.0 declare: only in games whose single draw comes after the last choice."""
TROUBLE: Final = "trouble.v1"
"""Declared by a referee that asks before it decides a technical loss, and by a manager that answers (section 8.15)."""
LIVE: Final = "live.v1"
"""Declared by a referee that tells its manager of watched matches, in its answer to a ping (section 8.20)."""
KIT_LEAGUE = "conformance"
"""The league that the conformance kit plays in; only conversations about its matches begin with this word."""

_NUMBER = r"(?:0|[1-9][0-9]*)"
_PRE = rf"(?:{_NUMBER}|[0-9]*[a-zA-Z-][0-9a-zA-Z-]*)"
SEMVER_PATTERN = rf"^{_NUMBER}\.{_NUMBER}\.{_NUMBER}(?:-{_PRE}(?:\.{_PRE})*)?(?:\+[0-9a-zA-Z-]+(?:\.[0-9a-zA-Z-]+)*)?$"


UNSAID = "unsaid"
"""Stands where the sender of a message left out what goes without saying."""


def is_of_kit(conversation_id: str) -> bool:
    """Whether this conversation is about a match of the conformance kit."""
    return conversation_id.startswith(f"{KIT_LEAGUE}-")


def is_semver(text: str) -> bool:
    """Whether this is a version by Semantic Versioning 2.0."""
    return re.fullmatch(SEMVER_PATTERN, text) is not None


def is_supported(protocol_version: str) -> bool:
    """Whether we speak this version: from 2.0.0 on and below 3.0.0 (R-29)."""
    # A pre-release of 2.0.0 is older than 2.0.0.
    return protocol_version.startswith("2.") and not protocol_version.startswith("2.0.0-")
