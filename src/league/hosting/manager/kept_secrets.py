"""The secrets of a league that people handle: the admin token and the enrolment key.

The manager makes both when it is first started and keeps them in its journal, so that they go wherever the journal
goes. It also writes them to files that only their owner can read: commands find them there. A file that is lost, or
says something else, is written anew when the manager is started. For both, an environment variable counts more than
journal and file, unless it holds a secret that the operator has replaced since. Journals from before secrets were kept
there take over what the files hold.

The key to a player's turns is kept in its environment variable only.
"""

from __future__ import annotations

import os
import sys
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


def is_well_formed(secret: str) -> bool:
    """True if a secret is long enough, and has only characters that fit in a header and on a terminal."""
    return SHORTEST <= len(secret) <= LONGEST and all("!" <= char <= "~" for char in secret)


@dataclass(frozen=True, slots=True)
class KeptSecret:
    """A secret: its name, its file, and the environment variable that can replace the file.

    A secret that other people need is printed at a terminal when it is made (`is_told`).
    """

    name: str
    file: str
    variable: str
    is_told: bool = False

    @property
    def key(self) -> str:
        """Its name among the secrets of a journal."""
        return self.name.replace(" ", "_")

    def of_manager(self, folder: Path, tell: Callable[[str], None] = console.complain) -> str:
        """The secret of a new manager: in the environment or, without that, in its folder."""
        return self.in_environment() or self.in_folder(folder, None, tell)

    def in_folder(self, folder: Path, stored: str | None, tell: Callable[[str], None] = console.complain) -> str:
        """The manager's secret, which is `stored` in its journal if it is not new. A new one is made if there is none,
        and `tell` is called with its place."""
        path = folder / self.file
        secret = self._read(path)
        if stored is not None and secret != stored:
            self.keep(folder, stored)
            tell(f"the {self.name} of the journal is also in {path}, for your eyes only")
            return stored
        if secret is None:
            secret = self.make()
            self.keep(folder, secret)
            self.tell_at_terminal(secret, tell)
            tell(f"the {self.name} is kept in {path}, for your eyes only")
        elif path.stat().st_mode & OTHERS:
            tell(f"others can read the {self.name} in {path}: make it yours alone, or remove it to get a new one")
        return secret

    def make(self) -> str:
        """Make a new secret."""
        from league.agent import sources
        from league.protocol.signing import tokens

        secret = tokens.mint(self.name.partition(" ")[0], sources.chance(32))
        if self.is_told:
            return secret.removeprefix("tok_")  # tokens are masked wherever an agent prints one
        return secret

    def tell_at_terminal(self, secret: str, tell: Callable[[str], None] = console.complain) -> None:
        """Show a secret that other people need. Other output may end up in a log, where no secret belongs."""
        if self.is_told and sys.stderr.isatty():
            tell(f"{self.name}: {secret}")

    def in_environment(self) -> str | None:
        """The secret in the environment; None if it is not set."""
        secret = os.environ.get(self.variable)
        if not secret:
            return None
        return self._checked(secret, self.variable)

    def given_to_command(self, state: str | None) -> str | None:
        """The secret in the folder of `--state` or, without that, in the environment; None if neither is set."""
        if state is None:
            return self.in_environment()
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
        if not is_well_formed(text):
            raise CommandError(
                f"{where} does not hold the {self.name}, which has {SHORTEST} to {LONGEST} visible characters",
                USAGE,
            )
        return text

    def keep(self, folder: Path, text: str) -> None:
        """Write the file as a whole or not at all, and never let anybody else read it."""
        from league.storage.files.replacing import replace_file  # most commands write no secret

        path = folder / self.file
        try:
            replace_file(path, f"{text}\n".encode(), mode=OWNER_ONLY)
        except OSError as error:
            reason = error.strerror or str(error)
            sentence = f"the {self.name} cannot be kept in {path}: {reason}; choose another folder with --state"
            raise CommandError(sentence) from error


ADMIN_TOKEN: Final = KeptSecret("admin token", "admin-token", "LEAGUE_ADMIN_TOKEN")
PLAYER_KEY: Final = KeptSecret("player key", "player-key", "LEAGUE_PLAYER_KEY", is_told=True)
ENROLMENT_KEY: Final = KeptSecret("enrolment key", "enrolment-key", "LEAGUE_ENROLMENT_KEY", is_told=True)
ROTATABLE: Final = {"admin": ADMIN_TOKEN, "enrolment": ENROLMENT_KEY}
"""The secrets that `league rotate-token` replaces."""
