"""The draw of a match, checked, and how anybody checks it without trusting us (spec section 12)."""

from __future__ import annotations

import json
import shlex
from dataclasses import dataclass

from league.events import ResultAccepted
from league.referee import draw
from league.reports.case import Case
from league.reports.letters import content_of

_PROGRAM = (
    "import hashlib, hmac; s, m = bytes.fromhex({seed}), {label}.encode(); "
    "print(hashlib.sha256(s + m).hexdigest()); "
    'draws = (hmac.digest(s, m + b"|%d" % i, "sha256")[0] for i in range(999)); '
    "print(next(b % 10 + 1 for b in draws if b < 250))"
)


@dataclass(frozen=True, slots=True)
class Draw:
    """`promised` is the commitment that was sent with the invitations, None where no letter shows it; `holds` whether
    seed, promise and number belong together."""

    number: int
    seed: str
    commitment: str
    promised: str | None
    holds: bool
    sentence: str
    command: str
    """Prints the commitment and the number."""


def draw_of(case: Case, attempt: int) -> Draw | None:
    """The draw of this attempt, once it is over and where there was one."""
    decided = case.decided(attempt)
    result = case.result if isinstance(case.result, ResultAccepted) and case.result.attempt == attempt else None
    details = decided.details if decided else result.details if result else {}
    number, seed_hex = details.get("drawn_number"), details.get("draw_seed")
    if not isinstance(number, int) or not isinstance(seed_hex, str):
        return None
    named = (case.league_id, case.match_id, attempt)
    try:
        seed = bytes.fromhex(seed_hex)
        commitment, follows = draw.commitment(seed, *named), draw.number(seed, *named)
    except ValueError:
        return None
    promised = _promised(case, attempt)
    holds = follows == number and promised in (None, commitment)
    program = _PROGRAM.format(seed=json.dumps(seed_hex), label=json.dumps("{}|{}|{}".format(*named)))
    told = _told(number, follows, commitment, promised)
    return Draw(number, seed_hex, commitment, promised, holds, told, f"python3 -c {shlex.quote(program)}")


def _promised(case: Case, attempt: int) -> str | None:
    for record in case.records.values():
        for letter in record.letters.get(case.match_id, ()):
            if letter.message_type == "GAME_INVITATION" and letter.direction == "out":
                content = content_of(letter) or {}
                said = content.get("draw_commitment")
                if content.get("attempt") == attempt and isinstance(said, str):
                    return said
    return None


def _told(number: int, follows: int, commitment: str, promised: str | None) -> str:
    if follows != number:
        return f"The number is WRONG: {number} was reported, but the seed gives {follows}."
    if promised is None:
        return (
            f"The number {number} follows from the seed. Whether the seed is the promised one shows draw_commitment in "
            f"the invitation a player got: it must be {commitment}."
        )
    if promised != commitment:
        return f"The seed is NOT the promised one: the invitations said {promised}, the seed gives {commitment}."
    return (
        f"The number {number} follows from the seed, and the seed is the one promised with the invitations, before "
        "anybody had chosen."
    )
