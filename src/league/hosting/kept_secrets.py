"""The secrets of a league that people handle: the admin token and the enrolment key.

The manager makes both when it is first started and keeps them in files that only their owner can read. Commands find
them there. For both, an environment variable can replace the file. If a file is lost, the manager makes a new secret
when it is started again, and the old one is no longer valid.

The key to a player's turns is kept in its environment variable only.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from league.terminal import USAGE, CommandError, console

SHORTEST = 16
LONGEST = 512
OWNER_ONLY = 0o600
OTHERS = 0o077 if os.name == "posix" else 0  # on other systems these bits mean nothing


@dataclass(frozen=True, slots=True)
class KeptSecret:
    """A secret: its name, its file, and the environment variable that can replace the file.

    A secret that other people need is printed when it is made (`is_told`).
    """

    name: str
    file: str
    variable: str
    is_told: bool = False

    def of_manager(self, folder: Path, tell: Callable[[str], None] = console.complain) -> str:
        """The manager's secret. A new one is made if there is none, and `tell` is called with its place."""
        from league.agent import sources
        from league.protocol import tokens

        secret = self._in_environment()
        if secret is not None:
            return secret
        path = folder / self.file
        secret = self._read(path)
        if secret is None:
            secret = tokens.mint(self.name.partition(" ")[0], sources.chance(32))
            if self.is_told:
                secret = secret.removeprefix("tok_")  # tokens are masked wherever an agent prints one
            self._keep(path, secret)
            if self.is_told:
                tell(f"{self.name}: {secret}")
            tell(f"the {self.name} is kept in {path}, for your eyes only")
        elif path.stat().st_mode & OTHERS:
            tell(f"others can read the {self.name} in {path}: make it yours alone, or remove it to get a new one")
        return secret

    def _in_environment(self) -> str | None:
        secret = os.environ.get(self.variable)
        if not secret:
            return None
        return self._checked(secret, self.variable)

    def given_to_command(self, state: str | None) -> str | None:
        """The secret in the folder of `--state` or, without that, in the environment; None if neither is set."""
        if state is None:
            return self._in_environment()
        secret = self._read(Path(state, self.file))
        if secret is None:
            raise CommandError(f"there is no {self.name} in {state}; {self._say_where}")
        return secret

    def kept_in(self, folder: Path) -> str:
        """The secret in the default folder of a manager that was started here."""
        secret = self._read(folder / self.file)
        if secret is None:
            raise CommandError(f"an order needs the {self.name}: {self._say_where}", USAGE)
        return secret

    def found_in(self, folder: Path) -> str | None:
        """The secret in this folder; None if there is none or we cannot read it."""
        # Several folders are tried, so a file that cannot be read is as good as none.
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
            reason = error.strerror if isinstance(error, OSError) else "it is not text"
            raise CommandError(f"{path} cannot be read: {reason}") from error
        return self._checked(text.strip(), str(path))

    def _checked(self, text: str, where: str) -> str:
        """Check the form of a secret. The error never repeats the secret itself."""
        if not SHORTEST <= len(text) <= LONGEST or not all("!" <= char <= "~" for char in text):
            raise CommandError(
                f"{where} does not hold the {self.name}, which has {SHORTEST} to {LONGEST} visible characters",
                USAGE,
            )
        return text

    def _keep(self, path: Path, text: str) -> None:
        """Write the file as a whole or not at all, and never let anybody else read it."""
        from league.storage.replacing import replace_file  # only a manager's start needs it

        try:
            replace_file(path, f"{text}\n".encode(), mode=OWNER_ONLY)
        except OSError as error:
            reason = error.strerror or str(error)
            sentence = f"the {self.name} cannot be kept in {path}: {reason}; choose another folder with --state"
            raise CommandError(sentence) from error


ADMIN_TOKEN: Final = KeptSecret("admin token", "admin-token", "LEAGUE_ADMIN_TOKEN")
PLAYER_KEY: Final = KeptSecret("player key", "player-key", "LEAGUE_PLAYER_KEY", is_told=True)
ENROLMENT_KEY: Final = KeptSecret("enrolment key", "enrolment-key", "LEAGUE_ENROLMENT_KEY", is_told=True)
