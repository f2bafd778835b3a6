"""Files that are replaced as a whole."""

from __future__ import annotations

import os
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Final

READABLE: Final = 0o644


def replace_file(path: Path, data: bytes, sync: bool = True, mode: int = READABLE) -> None:
    """Replace a file atomically: a reader sees the old one or the new one.

    Without `sync` a power cut may lose it; that is good enough for files that will soon be written again.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, part = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            if sync:
                file.flush()
                os.fsync(file.fileno())
        Path(part).chmod(mode)
        Path(part).replace(path)
    except BaseException:
        with suppress(OSError):
            Path(part).unlink()
        raise
