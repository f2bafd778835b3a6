"""Files for other tools: written whole or not at all, and never outside the folder they were asked for in."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path, PurePosixPath

_PART = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,127}")
READABLE = 0o644
LONGEST_SHOWN = 80


class ExportError(Exception):
    """Why files cannot be written; the text is a sentence for people."""


class UnsafeNameError(ExportError):
    """An id that others chose and that must not become a file's name."""


def placed(*parts: str) -> PurePosixPath:
    """A place below the folder of the files. Ids come from others: none may lead anywhere else."""
    for part in parts:
        if not _PART.fullmatch(part):
            raise UnsafeNameError(f"no file or folder can be named {part[:LONGEST_SHOWN]!r}")
    return PurePosixPath(*parts)


def write_files(folder: Path, files: Iterable[tuple[PurePosixPath, bytes]]) -> list[str]:
    """Write these files below the folder, in place of older ones; their names."""
    if folder.exists() and not folder.is_dir():
        raise ExportError(f"{folder} is a file; name a folder")
    written = []
    for name, data in files:
        path = folder / placed(*name.parts)
        try:
            write_whole(path, data)
        except OSError as error:
            raise ExportError(f"{path} cannot be written: {error.strerror or error}") from error
        written.append(str(name))
    return written


def write_whole(path: Path, data: bytes, sync: bool = True) -> None:
    """Replace a file at once: whoever reads it sees the old one or the new one. Without `sync` a power cut may take it:
    for what will soon be written again."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, part = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            if sync:
                file.flush()
                os.fsync(file.fileno())
        Path(part).chmod(READABLE)
        Path(part).replace(path)
    except BaseException:
        with suppress(OSError):
            Path(part).unlink()
        raise
