"""What was handed in: folders and zips, copied to where the grader runs them, with the names of a roster.

Nothing that was handed in is trusted. Only regular files are copied, links are copied as links and never followed, and
what unpacks to too much, or to places outside its folder, is not unpacked.
"""

from __future__ import annotations

import csv
import os
import shutil
import stat
import zipfile
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO, Final
from unicodedata import normalize

from league.features.grade.reasons import NO_PLAYER, OUTSIDE, SubmissionFailed
from league.protocol.safe_text import escaped
from league.terminal import USAGE, CommandError

PLAYER: Final = "player.py"
COLUMNS: Final = ("folder", "name", "e-mail", "group")
LEFT_OUT: Final = frozenset({"__pycache__", "__MACOSX", ".git", ".venv", "venv", "node_modules"})
MOST_BYTES: Final = 64 << 20
MOST_FILES: Final = 5_000
MOST_FOLDERS: Final = 50
"""Within each other."""

TOO_LARGE: Final = (
    f"it has more than {MOST_BYTES >> 20} MiB, {MOST_FILES} files, or {MOST_FOLDERS} folders in each other"
)


@dataclass(frozen=True)
class Submission:
    """What one student handed in."""

    id: str
    """The name of the folder, or of the zip without its ending."""
    place: Path | None = None
    """None if the roster names a student who handed in nothing."""
    name: str = ""
    mail: str = ""
    group: str = ""


def submissions_in(folder: Path) -> list[Submission]:
    """Return everything that was handed in, in the order of the names. CommandError if there is nothing."""
    if not folder.is_dir():
        raise CommandError(f"there is no folder {folder}", USAGE)
    places: dict[str, Path | None] = {}
    for path in sorted(folder.iterdir()):
        is_zip = path.suffix.lower() == ".zip"
        if path.name.startswith(".") or path.name in LEFT_OUT or not (is_zip or path.is_dir()):
            continue
        name = escaped(path.name)
        if is_zip and name[: -len(".zip")] not in places:
            name = name[: -len(".zip")]
        while name in places:
            name += "+"
        places[name] = path
    if not places:
        raise CommandError(f"there is no submission in {folder}: each is a folder or a zip with {PLAYER}", USAGE)
    roster = _roster(folder / "roster.csv")
    found = {normalize("NFC", name) for name in places}
    places |= {name: None for name in roster if name not in found}
    submissions = []
    for name, place in sorted(places.items()):
        row = roster.get(normalize("NFC", name), {})
        submissions.append(
            Submission(name, place, row.get("name") or name, row.get("e-mail", ""), row.get("group", ""))
        )
    return submissions


def _roster(path: Path) -> dict[str, dict[str, str]]:
    """Return the rows of the roster by their folders, if there is one."""
    if not path.is_file():
        return {}
    try:
        text = path.read_text(encoding="utf-8-sig")
        table = list(csv.reader(text.splitlines()))
    except (UnicodeDecodeError, OSError, csv.Error) as error:
        raise CommandError(f"{path} cannot be read: {error}; save it as CSV in UTF-8", USAGE) from error
    head = ["e-mail" if cell == "email" else cell for cell in table[0]] if table else []
    if "folder" not in head:
        raise CommandError(f"{path} has no column 'folder'; its columns are {', '.join(COLUMNS)}", USAGE)
    rows: dict[str, dict[str, str]] = {}
    for cells in table[1:]:
        row = dict(zip(head, map(str.strip, cells), strict=False))
        # Macs write letters with accents as two characters.
        folder = normalize("NFC", row.get("folder", ""))
        if folder in rows:
            raise CommandError(f"{path} has two rows for the folder {folder}: put both names into one", USAGE)
        if folder:
            rows[folder] = row
    return rows


# --- copies -----------------------------------------------------------------------------------------------------------


def copy(submission: Submission, target: Path, user: int | None) -> Path:
    """Copy a submission, for a user to read, and return the folder of its player. SubmissionFailed if there is none."""
    source = submission.place
    if source is None:
        raise SubmissionFailed(NO_PLAYER, "nothing was handed in")
    _require(not source.is_symlink(), f"{source.name} is a link, and links are not followed")
    target.mkdir()
    try:
        _Copy(target).take(source)
        folder = _root(target)
        player = folder / PLAYER
        _require(os.path.lexists(player), f"there is no {PLAYER}")
        if not Path(os.path.realpath(player)).is_relative_to(os.path.realpath(folder)):
            raise SubmissionFailed(OUTSIDE, f"{PLAYER} is a link to {player.readlink()}")
        _require(player.is_file(), f"{PLAYER} is not a file")
        make_readable(target, user)
    except SubmissionFailed:
        raise
    # A damaged zip may raise anything.
    except Exception as error:
        why = "" if isinstance(error, OSError) else f": {error}"
        raise SubmissionFailed(NO_PLAYER, f"it cannot be read{why}") from error
    return folder


def _require(is_fine: object, text: str) -> None:
    if not is_fine:
        raise SubmissionFailed(NO_PLAYER, text)


def _root(folder: Path) -> Path:
    """Return the folder with the player: this one, or the only one that is in it."""
    inner = [path for path in folder.iterdir() if not path.name.startswith(".")]
    if os.path.lexists(folder / PLAYER) or len(inner) != 1 or inner[0].is_symlink() or not inner[0].is_dir():
        return folder
    return inner[0]


class _Copy:
    """A copy on its way, which may not grow without end."""

    def __init__(self, target: Path) -> None:
        self._target = target
        self._bytes = 0
        self._files = 0

    def take(self, source: Path) -> None:
        """Copy a folder, or what is in a zip."""
        if source.is_dir():

            def left_out(folder: str, names: list[str]) -> set[str]:
                _require(len(Path(folder).relative_to(source).parts) <= MOST_FOLDERS, TOO_LARGE)
                return {*names} & LEFT_OUT

            shutil.copytree(source, self._target, True, left_out, self._file, dirs_exist_ok=True)
            return
        _require(source.is_file(), f"{source.name} is not a file")
        # A directory of millions of files would fill the memory.
        _require(source.stat().st_size <= MOST_BYTES, TOO_LARGE)
        with zipfile.ZipFile(source) as archive:
            for member in archive.infolist():
                name = PurePosixPath(member.filename.replace("\\", "/"))
                if name.is_absolute() or ".." in name.parts:
                    raise SubmissionFailed(OUTSIDE, f"its zip has the name {member.filename}")
                is_file = name.parts and not member.is_dir() and not stat.S_ISLNK(member.external_attr >> 16)
                if is_file and not LEFT_OUT.intersection(name.parts):
                    (self._target / name).parent.mkdir(parents=True, exist_ok=True)
                    with archive.open(member) as content:
                        self._write(content, self._target / name)

    def _file(self, source: str, target: str) -> None:
        # Neither pipes nor devices.
        if stat.S_ISREG(os.lstat(source).st_mode):
            with Path(source).open("rb") as content:
                self._write(content, Path(target))

    def _write(self, content: IO[bytes], target: Path) -> None:
        self._files += 1
        depth = len(target.relative_to(self._target).parts)
        _require(self._files <= MOST_FILES and depth <= MOST_FOLDERS, TOO_LARGE)
        # The sizes in a zip are what its author wrote there, so what comes out is counted.
        with target.open("xb") as file:
            self._bytes += file.write(content.read(MOST_BYTES + 1 - self._bytes))
        _require(self._bytes <= MOST_BYTES, TOO_LARGE)


def make_readable(folder: Path, user: int | None) -> None:
    """Let a user own and read a folder, in which nothing tells the time. Links are left as they are."""
    for path in (folder, *folder.rglob("*")):
        if path.is_symlink():
            continue
        path.chmod(0o755 if path.is_dir() else 0o644)
        os.utime(path, (0, 0))
        if user is not None:
            os.chown(path, user, user)
