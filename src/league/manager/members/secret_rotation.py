"""The secrets that the operator can replace: the admin token and the enrolment key.

The journal holds the secret in force and the digests of those it replaced. A replaced secret never counts again,
wherever it comes from: a request, a registration, or the environment of a manager that starts. Digests are kept beside
the events and not in them, because the events of a league may be published and an operator may choose a weak secret.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from league.protocol.signing import tokens

OPERATOR: Final = "operator"
"""The name of the secret that holds V of the admin token."""
ADMIN_TOKEN: Final = "admin_token"
ENROLMENT_KEY: Final = "enrolment_key"
ROTATABLE: Final = {"admin": ADMIN_TOKEN, "enrolment": ENROLMENT_KEY}
"""The targets of the order, and the names of their secrets in the journal."""
RETIRED_KEPT = 100


def is_retired(secrets: Mapping[str, str], name: str, secret: str | None) -> bool:
    """True if this secret was replaced by another one."""
    return tokens.fits(secret, _retired(secrets, name))


def replacement(secrets: Mapping[str, str], name: str, secret: str) -> dict[str, str]:
    """The secrets to keep, so that `secret` counts from now on and the one before never again."""
    digests = _retired(secrets, name)
    old = secrets.get(name)
    if old is not None:
        digests.append(tokens.verifier(old))
    elif name == ADMIN_TOKEN and OPERATOR in secrets:
        digests.append(secrets[OPERATOR])  # in journals that do not hold the token itself
    changed = {name: secret, f"retired_{name}": " ".join(digests[-RETIRED_KEPT:])}
    if name == ADMIN_TOKEN:
        changed[OPERATOR] = tokens.verifier(secret)
    return changed


def _retired(secrets: Mapping[str, str], name: str) -> list[str]:
    return secrets.get(f"retired_{name}", "").split()
