"""What a player signs: all its own choices of an attempt so far (spec section 9.6).

Theory of operation. Each choice is answered with a signature under one statement. It names the attempt (league, match,
players, game, both promises of the draw), every choice that the player made in it so far, and everything that it was
shown before each of them, as a chain of digests. So the last signature of a match covers all of it, and two checks are
enough for a match of any length. The referee keeps the last one of each player and hands it in; it can make none.

A statement proves what was chosen and seen, never when.
"""

from __future__ import annotations

import hashlib
import re
from typing import Final

from msgspec import Struct

from league.protocol.wire.canonical_json import canonical

DIGEST: Final = re.compile(r"[0-9a-f]{64}")
LENGTH: Final = 86
"""Characters of a signature."""


class ChoicesStatement(Struct, frozen=True, kw_only=True):
    """What a player signs with its newest choice, the last of `choices`."""

    type: str = "league.v2 choices"
    manager_key: str
    league_id: str
    match_id: str
    attempt: int
    game_type: str
    player_id: str
    opponent_id: str
    draw_commitment: str | None
    share_commitment: str
    choices: tuple[str, ...]
    views: str | None

    @property
    def is_well_formed(self) -> bool:
        """True if nobody can read it in two ways."""
        digests = (self.manager_key, self.share_commitment, self.draw_commitment, self.views)
        names = (self.league_id, self.match_id, self.game_type, self.player_id, self.opponent_id)
        has_digests = all(DIGEST.fullmatch(digest) for digest in digests if digest is not None)
        return has_digests and all(names) and 0 < self.attempt < 2**53


def chained(views: str | None, move_request: object) -> str | None:
    """Return the chain of views after another one; NotCanonicalError if it has no digest. Even/Odd shows nothing."""
    if move_request is None:
        return views
    digest = hashlib.sha256(canonical(move_request)).hexdigest()
    return hashlib.sha256(((views or "") + digest).encode()).hexdigest()
