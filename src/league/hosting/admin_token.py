"""The admin token: made at the manager's first start, kept in a file for its owner alone, found there by the commands.

`LEAGUE_ADMIN_TOKEN` stands for the file, on both sides. Who loses the file starts the manager again: a new token takes
the old one's place.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from league.hosting import USAGE, CommandError

FILE = "admin-token"
VARIABLE = "LEAGUE_ADMIN_TOKEN"
SHORTEST, LONGEST = 16, 512
OWNER_ONLY, OTHERS = 0o600, 0o077
_SAY_WHERE = f"give --state DIR, the folder where the manager keeps it, or set {VARIABLE}"


def of_manager(folder: Path) -> str:
    """The token a manager obeys; a new one is told, once, to whoever started it."""
    from league.agent import sources
    from league.hosting import console
    from league.protocol import tokens

    given = os.environ.get(VARIABLE)
    if given:
        return _checked(given, VARIABLE)
    path = folder / FILE
    kept = _read(path)
    if kept is None:
        kept = tokens.mint("admin", sources.chance(32))
        _keep(path, kept)
        console.complain(f"the admin token is kept in {path}, for your eyes only")
    elif path.stat().st_mode & OTHERS:
        console.complain(
            f"others may read the admin token in {path}: make it yours alone, or remove it to get a new one"
        )
    return kept


def given_to_command(state: str | None) -> str | None:
    """The token an order is given with, if the command line or the environment says it."""
    if state is None:
        given = os.environ.get(VARIABLE)
        return _checked(given, VARIABLE) if given else None
    path = Path(state, FILE)
    kept = _read(path)
    if kept is None:
        raise CommandError(f"there is no admin token in {state}; {_SAY_WHERE}")
    return kept


def kept_in(folder: Path) -> str:
    """The token of a manager that was started here and left everything at its default."""
    kept = _read(folder / FILE)
    if kept is None:
        raise CommandError(f"an order needs the admin token: {_SAY_WHERE}", USAGE)
    return kept


def _read(path: Path) -> str | None:
    try:
        text = path.read_text("ascii")
    except FileNotFoundError:
        return None
    except (OSError, UnicodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not text"
        raise CommandError(f"{path} cannot be read: {why}") from error
    return _checked(text.strip(), str(path))


def _checked(token: str, where: str) -> str:
    """The token itself is never repeated in an error."""
    if not SHORTEST <= len(token) <= LONGEST or not all("!" <= char <= "~" for char in token):
        raise CommandError(f"{where} holds no admin token: one has {SHORTEST} to {LONGEST} visible characters", USAGE)
    return token


def _keep(path: Path, token: str) -> None:
    """Whole or not at all, and never readable by anybody else."""
    unfinished = path.with_name(f".{FILE}.{os.getpid()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        unfinished.unlink(missing_ok=True)
        unfinished.touch(OWNER_ONLY, exist_ok=False)
        with unfinished.open("w") as file:
            file.write(f"{token}\n")
            file.flush()
            os.fsync(file.fileno())
        unfinished.replace(path)
    except OSError as error:
        with suppress(OSError):
            unfinished.unlink()
        why = error.strerror or str(error)
        raise CommandError(f"the admin token cannot be kept in {path}: {why}; choose a folder with --state") from error
