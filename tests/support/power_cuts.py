"""What a disk may hold after a power cut, however badly it was timed.

Theory of operation. `recorded` puts a layer of ours below SQLite: a VFS that passes every write, sync, truncation and
deletion on to the real one and notes it. A caller adds marks to the same list, so we know what had been acknowledged
when. A power cut may happen between any two notes. What was synced before is on the disk then. A disk may have written
any of the later changes, none of them, or parts of them, in any order: `image` builds one such state, by the dice.

It speaks to the library that Python's own `sqlite3` uses, through `ctypes`.
"""

from __future__ import annotations

import _sqlite3
import ctypes
import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from ctypes import POINTER, byref, c_char_p, c_int, c_int64, c_void_p, cast
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

SECTOR = 512
"""A disk writes this many bytes whole, or not at all."""
OK = 0


@dataclass(frozen=True, slots=True)
class Write:
    """Bytes at a place of a file."""

    name: str
    offset: int
    data: bytes


@dataclass(frozen=True, slots=True)
class Truncate:
    """The new length of a file."""

    name: str
    size: int


@dataclass(frozen=True, slots=True)
class Sync:
    """Everything before it in this file is on the disk."""

    name: str


@dataclass(frozen=True, slots=True)
class Delete:
    """The file is gone; for good if its folder was synced, too."""

    name: str
    is_synced: bool


@dataclass(frozen=True, slots=True)
class Rename:
    """A new journal, whole and synced under another name, got its own. Our code syncs the folder then."""

    name: str
    old_name: str


@dataclass(frozen=True, slots=True)
class Mark:
    """This number of entries has been acknowledged."""

    entries: int


Note = Write | Truncate | Sync | Delete | Rename | Mark


# --- the layer below SQLite -------------------------------------------------------------------------------------------


class _Vfs(ctypes.Structure):
    """The beginning of `sqlite3_vfs`; the rest is copied as bytes."""

    _fields_: ClassVar[list[tuple[str, Any]]] = [
        ("version", c_int),
        ("file_size", c_int),
        ("longest_path", c_int),
        ("next", c_void_p),
        ("name", c_char_p),
        ("data", c_void_p),
        ("open", c_void_p),
        ("delete", c_void_p),
        ("others", c_void_p * 14),
    ]


class _Methods(ctypes.Structure):
    """`sqlite3_io_methods`."""

    _fields_: ClassVar[list[tuple[str, Any]]] = [
        ("version", c_int),
        ("close", c_void_p),
        ("read", c_void_p),
        ("write", c_void_p),
        ("truncate", c_void_p),
        ("sync", c_void_p),
        ("others", c_void_p * 13),
    ]


class _File(ctypes.Structure):
    """The beginning of every `sqlite3_file`."""

    _fields_: ClassVar[list[tuple[str, Any]]] = [("methods", POINTER(_Methods))]


_OPEN = ctypes.CFUNCTYPE(c_int, c_void_p, c_void_p, POINTER(_File), c_int, POINTER(c_int))
_DELETE = ctypes.CFUNCTYPE(c_int, c_void_p, c_void_p, c_int)
_WRITE = ctypes.CFUNCTYPE(c_int, c_void_p, c_void_p, c_int, c_int64)
_TRUNCATE = ctypes.CFUNCTYPE(c_int, c_void_p, c_int64)
_SYNC = ctypes.CFUNCTYPE(c_int, c_void_p, c_int)


class Recorder:
    """The VFS that notes what happens to files. The first of each kind of file wraps its methods; all share them."""

    def __init__(self, notes: list[Note]) -> None:
        self.notes = notes
        self._library = ctypes.CDLL(_sqlite3.__file__)  # its symbols include those of the library it was linked with
        find = self._library.sqlite3_vfs_find
        find.restype = POINTER(_Vfs)
        self._real = find(None)
        self._vfs = _Vfs()
        ctypes.pointer(self._vfs)[0] = self._real.contents
        self._name = b"recording"
        self._vfs.name = self._name
        self._vfs.next = None
        self._names: dict[int, str] = {}
        self._methods: dict[int, _Methods] = {}
        self._kept: list[Any] = []
        self._vfs.open = self._pointer(_OPEN(self._open))
        self._vfs.delete = self._pointer(_DELETE(self._delete))

    def register(self) -> None:
        assert self._library.sqlite3_vfs_register(byref(self._vfs), 1) == OK

    def unregister(self) -> None:
        assert self._library.sqlite3_vfs_unregister(byref(self._vfs)) == OK

    def _pointer(self, function: Any) -> int | None:
        self._kept.append(function)  # C holds no reference
        return cast(function, c_void_p).value

    def _open(self, _vfs: int, path: int, file: Any, flags: int, out_flags: Any) -> int:
        status: int = cast(self._real.contents.open, _OPEN)(self._real, path, file, flags, out_flags)
        if status == OK and file.contents.methods and path:
            name = Path(ctypes.string_at(path).decode()).name
            self._note_rename(name)
            self._names[ctypes.addressof(file.contents)] = name
            file.contents.methods = ctypes.pointer(self._wrapped(file.contents.methods))
        return status

    def _note_rename(self, name: str) -> None:
        """A file that was written under a name like `journal.db.123.new`, and never under its own, was renamed."""
        written = {note.name: None for note in self.notes if isinstance(note, Write)}
        if name not in written:
            for old_name in written:
                if old_name.startswith(f"{name}.") and old_name.endswith(".new"):
                    self.notes.append(Rename(name, old_name))

    def _wrapped(self, real: Any) -> _Methods:
        """The same methods, with ours for what changes a file."""
        address = ctypes.addressof(real.contents)
        if address not in self._methods:
            methods = _Methods()
            ctypes.pointer(methods)[0] = real.contents
            methods.write = self._pointer(_WRITE(self._write(cast(real.contents.write, _WRITE))))
            methods.truncate = self._pointer(_TRUNCATE(self._truncate(cast(real.contents.truncate, _TRUNCATE))))
            methods.sync = self._pointer(_SYNC(self._sync(cast(real.contents.sync, _SYNC))))
            self._methods[address] = methods
        return self._methods[address]

    def _write(self, real: Any) -> Callable[[int, int, int, int], int]:
        def write(file: int, data: int, size: int, offset: int) -> int:
            self.notes.append(Write(self._names[file], offset, ctypes.string_at(data, size)))
            status: int = real(file, data, size, offset)
            return status

        return write

    def _truncate(self, real: Any) -> Callable[[int, int], int]:
        def truncate(file: int, size: int) -> int:
            self.notes.append(Truncate(self._names[file], size))
            status: int = real(file, size)
            return status

        return truncate

    def _sync(self, real: Any) -> Callable[[int, int], int]:
        def sync(file: int, flags: int) -> int:
            status: int = real(file, flags)
            if status == OK:
                self.notes.append(Sync(self._names[file]))
            return status

        return sync

    def _delete(self, _vfs: int, path: int, sync_folder: int) -> int:
        status: int = cast(self._real.contents.delete, _DELETE)(self._real, path, sync_folder)
        if status == OK:
            self.notes.append(Delete(Path(ctypes.string_at(path).decode()).name, bool(sync_folder)))
        return status


@contextmanager
def recorded() -> Iterator[list[Note]]:
    """Every change to a database file until the end of the block. All databases must be closed by then."""
    notes: list[Note] = []
    recorder = Recorder(notes)
    recorder.register()
    try:
        yield notes
    finally:
        recorder.unregister()


# --- crash images -----------------------------------------------------------------------------------------------------


def acknowledged(notes: list[Note], cut: int) -> int:
    """The entries that had been acknowledged before the power was cut."""
    return max((note.entries for note in notes[:cut] if isinstance(note, Mark)), default=0)


def image(notes: list[Note], cut: int, dice: random.Random) -> dict[str, bytes]:
    """The files after a power cut behind this number of notes."""
    last_sync, folder_sync = _syncs(notes[:cut])
    files: dict[str, bytearray] = {}
    for place, note in enumerate(notes[:cut]):
        if isinstance(note, Mark | Sync):
            continue
        if isinstance(note, Rename):
            files[note.name] = files.pop(note.old_name)
            continue
        is_safe = place < last_sync.get(note.name, -1)
        if isinstance(note, Delete):
            is_safe = note.is_synced or place < folder_sync
        _apply(files, note, None if is_safe else dice)
    return {name: bytes(content) for name, content in files.items()}


def _syncs(notes: list[Note]) -> tuple[dict[str, int], int]:
    """The place of the last sync of each file, and of the folder."""
    last_sync: dict[str, int] = {}
    folder_sync = -1
    for place, note in enumerate(notes):
        if isinstance(note, Delete):
            last_sync.pop(note.name, None)
        elif isinstance(note, Sync):
            # With the first sync of a new log, SQLite syncs the folder as well.
            if note.name not in last_sync and note.name.endswith(("-wal", "-journal")):
                folder_sync = place
            last_sync[note.name] = place
    return last_sync, folder_sync


def _apply(files: dict[str, bytearray], change: Write | Truncate | Delete, dice: random.Random | None) -> None:
    """Make a change; with dice, a disk may have made it, made it in part, or not at all."""
    fate = dice.choice(("all", "part", "nothing")) if dice else "all"
    if fate == "nothing":
        return
    if isinstance(change, Delete):
        files.pop(change.name, None)
        return
    content = files.setdefault(change.name, bytearray())
    if isinstance(change, Truncate):
        del content[change.size :]
        return
    end = change.offset + len(change.data)
    if len(content) < end:
        content.extend(bytes(end - len(content)))
    for start in range(0, len(change.data), SECTOR):
        if fate == "all" or (dice is not None and dice.random() < 0.5):
            sector = change.data[start : start + SECTOR]
            content[change.offset + start : change.offset + start + len(sector)] = sector
