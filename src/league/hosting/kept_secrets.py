"""The secrets of a league that people handle: the admin token and the enrolment key. Both are made when the manager is
first started, kept in files for their owner alone, and found there by the commands. The key to a player's turns is in
its variable alone.

An environment variable stands for the file, on both sides. Who loses the file starts the manager again: a new secret
takes the old one's place.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from league.terminal import USAGE, CommandError, console

SHORTEST, LONGEST = 16, 512
OWNER_ONLY = 0o600
OTHERS = 0o077 if os.name == "posix" else 0  # elsewhere these bits tell nothing


@dataclass(frozen=True, slots=True)
class KeptSecret:
    """One of them: what it is called, its file, and the variable that stands for it. One that others need `is_told` to
    whoever started the manager."""

    name: str
    file: str
    variable: str
    is_told: bool = False

    def of_manager(self, folder: Path, tell: Callable[[str], None] = console.complain) -> str:
        """What a manager goes by; whoever started it is told where a new one is."""
        from league.agent import sources
        from league.protocol import tokens

        given = self._in_environment()
        if given is not None:
            return given
        path = folder / self.file
        kept = self._read(path)
        if kept is None:
            kept = tokens.mint(self.name.partition(" ")[0], sources.chance(32))
            if self.is_told:
                kept = kept.removeprefix("tok_")  # tokens are masked wherever an agent prints one
            self._keep(path, kept)
            if self.is_told:
                tell(f"{self.name}: {kept}")
            tell(f"the {self.name} is kept in {path}, for your eyes only")
        elif path.stat().st_mode & OTHERS:
            tell(f"others may read the {self.name} in {path}: make it yours alone, or remove it to get a new one")
        return kept

    def _in_environment(self) -> str | None:
        given = os.environ.get(self.variable)
        return self._checked(given, self.variable) if given else None

    def given_to_command(self, state: str | None) -> str | None:
        """What the command line or the environment says."""
        if state is None:
            return self._in_environment()
        kept = self._read(Path(state, self.file))
        if kept is None:
            raise CommandError(f"there is no {self.name} in {state}; {self._say_where}")
        return kept

    def kept_in(self, folder: Path) -> str:
        """That of a manager that was started here and left everything at its default."""
        kept = self._read(folder / self.file)
        if kept is None:
            raise CommandError(f"an order needs the {self.name}: {self._say_where}", USAGE)
        return kept

    def found_in(self, folder: Path) -> str | None:
        """That of this folder, if there is one that we may read."""
        with suppress(CommandError):
            return self._read(folder / self.file)
        return None

    @property
    def _say_where(self) -> str:
        return f"give --state DIR, the folder where the manager keeps it, or set {self.variable}"

    def _read(self, path: Path) -> str | None:
        try:
            text = path.read_text("ascii")
        except FileNotFoundError:
            return None
        except (OSError, UnicodeError) as error:
            why = error.strerror if isinstance(error, OSError) else "it is not text"
            raise CommandError(f"{path} cannot be read: {why}") from error
        return self._checked(text.strip(), str(path))

    def _checked(self, text: str, where: str) -> str:
        """The secret itself is never repeated in an error."""
        if not SHORTEST <= len(text) <= LONGEST or not all("!" <= char <= "~" for char in text):
            detail = f"{where} holds no {self.name}: one has {SHORTEST} to {LONGEST} visible characters"
            raise CommandError(detail, USAGE)
        return text

    def _keep(self, path: Path, text: str) -> None:
        """Whole or not at all, and never readable by anybody else."""
        from league.storage.replacing import replace_file  # only who starts a manager pays for it

        try:
            replace_file(path, f"{text}\n".encode(), mode=OWNER_ONLY)
        except OSError as error:
            why = error.strerror or str(error)
            sentence = f"the {self.name} cannot be kept in {path}: {why}; choose a folder with --state"
            raise CommandError(sentence) from error


ADMIN_TOKEN: Final = KeptSecret("admin token", "admin-token", "LEAGUE_ADMIN_TOKEN")
PLAYER_KEY: Final = KeptSecret("player key", "player-key", "LEAGUE_PLAYER_KEY", is_told=True)
ENROLMENT_KEY: Final = KeptSecret("enrolment key", "enrolment-key", "LEAGUE_ENROLMENT_KEY", is_told=True)
