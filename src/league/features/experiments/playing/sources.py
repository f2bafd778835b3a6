"""The sources of strategies and games: what their digests cover, and what travels to a machine without our files.

Theory of operation. A strategy is known by its content, not by its place in a list: two files with the same text are
the same strategy, and an edited file is a new one. The digest of a strategy covers

- in a file (`./mine.py:Mine`): the file, every module next to it that it imports, and what those import in turn. A
  folder that is imported counts with all its files, so data in a package counts, too. Other neighbours do not count:
  adding a strategy to a folder must not change the others;
- `module:Class`: the same, if the module is not installed; name and version of its distribution, if it is;
- built in: its name, and the version of this package;
- a class or a function of a script: its own source and that of its base classes, without the rest of the script, so
  that a longer list of strategies changes nothing. A function counts with the values that it has closed over;
- a strategy that asks somebody: its conditions.

Nothing else is covered: no installed package, no other data file, nothing that the strategy reads from a network.

The same files are shipped to other machines (`executors.py`), where `unpack` writes them to a temporary folder.
"""

from __future__ import annotations

import ast
import hashlib
import importlib
import inspect
import os
import pickle
import shutil
import sys
import sysconfig
from collections.abc import Iterator, Mapping
from functools import cache, partial
from importlib.machinery import PathFinder
from importlib.metadata import entry_points, packages_distributions, version
from importlib.util import find_spec
from multiprocessing.util import Finalize
from pathlib import Path
from tempfile import gettempdir, mkdtemp
from types import CodeType, FunctionType
from typing import Any, Final, Literal, NamedTuple

import msgspec

from league.features.experiments.contenders import Contender, asks, title_of
from league.games import registry
from league.player import strategies
from league.terminal import CommandError

Files = Mapping[str, bytes]
"""Files by their paths, relative to a folder."""
OURS: Final = "agent-league"
SHIM: Final = "league_strategy.py"
"""A file that imports a class of a shipped module: strategies in files need no installed module."""
FOLDER: Final = "league-shipped-"
"""How the names of temporary folders begin; the number of their process follows."""
IMPORTING: Final = ("import_module", "__import__")
"""Functions that import the module that their first argument names."""


def digest(contender: Contender) -> str:
    """Return the digest of a strategy. It must have been loaded before."""
    return _sha256(*_content(contender))


def game_digest(name: str) -> str:
    """Return the digest of a game: its name, and the version or the sources of its package."""
    given = registry.given(name)
    if given is not None:
        return _sha256("game", name, *_class_content(type(given.rules)))
    package = registry.package_of(name)
    if package == OURS:
        return _sha256("game", name, version(OURS))
    files = module_files(_game_target(name).partition(":")[0])
    if files is None:
        return _sha256("game", name, package, version(package))
    return _sha256("game", name, *_listed(files))


def _content(contender: Contender) -> Iterator[str | bytes]:
    if isinstance(contender, str):
        yield from _named_content(contender)
    elif asks(contender):
        yield "asks"
        yield msgspec.json.encode(contender.entrant().conditions, order="deterministic")
    elif isinstance(contender, partial):
        yield "partial"
        yield repr((contender.args, sorted(contender.keywords.items())))
        yield from _content(contender.func)
    elif isinstance(contender, type):
        yield "class"
        yield contender.__qualname__
        yield from _class_content(contender)
    elif isinstance(contender, FunctionType):
        yield "function"
        yield from _function_content(contender)
    else:
        yield "object"
        yield from _class_content(type(contender))
        if can_pickle(contender):
            yield pickle.dumps(contender, protocol=4)


def _named_content(spec: str) -> Iterator[str | bytes]:
    module, _, name = spec.rpartition(":")
    if not module or strategies.find(spec) is not None:
        yield "built in"
        yield spec
        yield version(OURS)
        return
    yield "named"
    yield name
    files = files_of(spec)
    if files is not None:
        yield from _listed(files)
        return
    package = registry.package_of(spec)
    if package == OURS:
        package = _distribution(module)
    elif Path(name).is_file():
        yield Path(name).read_bytes()  # such as the policy that a strategy of a family of games plays by
    yield module
    yield package
    yield version(package)


def _class_content(cls: type) -> Iterator[str | bytes]:
    for base in cls.__mro__:
        top = base.__module__.partition(".")[0]
        # Base classes of ours and of the standard library come with versions that the plan names.
        if top == "league" or top in sys.stdlib_module_names:
            continue
        try:
            yield inspect.getsource(base)
        except (OSError, TypeError):
            # Typed at a prompt: the compiled methods are all there is.
            for name, value in sorted(vars(base).items()):
                if isinstance(value, FunctionType):
                    yield name
                    yield _code_content(value.__code__)


def _function_content(function: FunctionType) -> Iterator[str | bytes]:
    try:
        yield inspect.getsource(function)
    except (OSError, TypeError):
        yield _code_content(function.__code__)
    for cell in function.__closure__ or ():
        value = cell.cell_contents
        if isinstance(value, type | FunctionType):
            yield from _content(value)
        else:
            yield repr(value)


def _code_content(code: CodeType) -> str:
    constants = [_code_content(value) if isinstance(value, CodeType) else repr(value) for value in code.co_consts]
    return f"{code.co_code.hex()} {code.co_names} {constants}"


def _listed(files: Files) -> Iterator[str | bytes]:
    for name, content in sorted(files.items()):
        yield name
        # The same file on another system may have other line ends.
        yield content.replace(b"\r\n", b"\n") if name.endswith(".py") else content


def _sha256(*parts: str | bytes) -> str:
    whole = hashlib.sha256()
    for part in parts:
        data = part.encode() if isinstance(part, str) else part
        whole.update(len(data).to_bytes(8, "big"))
        whole.update(data)
    return whole.hexdigest()


# --- the files of a module --------------------------------------------------------------------------------------------


def files_of(spec: str) -> Files | None:
    """Return the files of `./file.py:Class` or `module:Class`; None for a module that is installed."""
    module = spec.rpartition(":")[0]
    if module.endswith(".py"):
        file = Path(module).resolve()
        return _closure([file], file.parent)
    return module_files(module)


def module_files(module: str) -> Files | None:
    """Return the files of a module and of what it imports beside itself; None if it is installed."""
    origin = _origin(module)
    if origin is None or _is_installed(origin.folder):
        return None
    return _closure(origin.files, origin.folder)


class ModuleOrigin(NamedTuple):
    """Where a top-level module comes from: its files, and the folder that they are in."""

    folder: Path
    files: list[Path]


def _origin(module: str) -> ModuleOrigin | None:
    """Return the origin of a module's top-level package; None if it has no files of its own."""
    spec = find_spec(module.partition(".")[0])
    if spec is None or not spec.has_location or spec.origin is None:
        return None
    file = Path(spec.origin).resolve()
    if spec.submodule_search_locations is None:
        return ModuleOrigin(file.parent, [file])
    return ModuleOrigin(file.parent.parent, _folder_files(file.parent))


def _is_installed(file: Path) -> bool:
    places = {sysconfig.get_path(name) for name in ("stdlib", "purelib", "platlib")}
    return any(file.is_relative_to(Path(place).resolve()) for place in places)


def _closure(begin: list[Path], folder: Path) -> Files:
    """Return these files, the neighbours in the folder that they import, and so on."""
    files: dict[str, bytes] = {}
    waiting = list(begin)
    while waiting:
        file = waiting.pop()
        name = file.relative_to(folder).as_posix()
        if name in files:
            continue
        files[name] = file.read_bytes()
        if file.suffix == ".py":
            for module in _imported(files[name]):
                waiting += _neighbour(folder, module)
    return files


def _imported(source: bytes) -> Iterator[str]:
    """Yield the top-level names that a module imports, wherever in its code."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError):
        return
    for node in ast.walk(tree):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [alias.name for alias in node.names]
            # Without a module, as in `from . import helper`, the names are modules.
            if node.module:
                names = [node.module]
        elif isinstance(node, ast.Call) and _imports(node):
            names = [argument.value for argument in node.args[:1] if _is_text(argument)]  # type: ignore[attr-defined]
        for name in names:
            yield name.lstrip(".").partition(".")[0]


def _imports(call: ast.Call) -> bool:
    name = getattr(call.func, "attr", getattr(call.func, "id", ""))
    return name in IMPORTING


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def _neighbour(folder: Path, module: str) -> list[Path]:
    file = folder / f"{module}.py"
    if file.is_file():
        return [file]
    package = folder / module
    if not module or not package.is_dir():
        return []
    if not (package / "__init__.py").is_file():
        # A folder without __init__.py gives way to a proper module elsewhere, as in every import.
        elsewhere = PathFinder.find_spec(module)
        if elsewhere is not None and elsewhere.origin is not None:
            return []
    return _folder_files(package)


def _folder_files(folder: Path) -> list[Path]:
    files = []
    for file in sorted(folder.rglob("*")):
        parts = file.relative_to(folder).parts
        is_hidden = any(part.startswith(".") for part in parts)
        if is_hidden or "__pycache__" in parts:
            continue
        if file.is_file():
            files.append(file)
    return files


@cache
def _distribution(module: str) -> str:
    top = module.partition(".")[0]
    names = packages_distributions().get(top)
    if not names:
        # Part of Python itself: there is nothing beside its version.
        return OURS
    return names[0]


# --- shipping ---------------------------------------------------------------------------------------------------------


class Shipped(NamedTuple):
    """A strategy or a game on its way to another machine."""

    kind: Literal["name", "files", "pickle"]
    target: str
    """A name that every installation knows; or what to load from the files: `mine.py:Mine` or `module:Class`."""
    files: Files
    pickled: bytes = b""


def ship(contender: Contender) -> Shipped:
    """Pack a strategy. CommandError if it cannot leave this process."""
    if isinstance(contender, str):
        module, _, name = contender.rpartition(":")
        if not module:
            return Shipped("name", contender, {})
        files = files_of(contender)
        if files is None:
            return Shipped("name", contender, {})
        if module.endswith(".py"):
            return Shipped("files", f"{Path(module).name}:{name}", files)
        return Shipped("files", contender, files)
    if asks(contender):
        raise CommandError(f"{title_of(contender)} asks somebody, so it plays in this process: leave out the executor")
    file = _file_of(contender)
    if file is not None:
        return Shipped("files", f"{file.name}:{contender.__qualname__}", _closure([file], file.parent))  # type: ignore[union-attr]
    return Shipped("pickle", title_of(contender), {}, _pickled(contender))


def _file_of(contender: object) -> Path | None:
    """Return the file that defines a class or a function at its top level, unless it is installed."""
    if not isinstance(contender, type | FunctionType):
        return None
    # Other processes find only what is at the top level: not Outer.Inner, and not <lambda>.
    if "." in contender.__qualname__ or "<" in contender.__qualname__:
        return None
    module = sys.modules.get(contender.__module__)
    file = getattr(module, "__file__", None)
    # A class that a decorator or a loop has made may not be the one that the file defines.
    if file is None or getattr(module, contender.__qualname__, None) is not contender:
        return None
    path = Path(file).resolve()
    return None if _is_installed(path) else path


def _pickled(contender: object) -> bytes:
    try:
        return bytes(_by_value().dumps(contender))
    except Exception as error:  # pickle raises several, and objects raise their own
        reason = f"{type(error).__name__}: {error}"
        raise CommandError(
            f"{title_of(contender)} cannot be sent to other machines ({reason}); "  # type: ignore[arg-type]
            "put it at the top level of a file, and name it ./file.py:Class"
        ) from error


def _by_value() -> Any:
    """Return cloudpickle, which packs classes of notebooks; executors over machines bring it along."""
    for name in ("cloudpickle", "ray.cloudpickle"):
        try:
            return importlib.import_module(name)
        except ImportError:
            continue
    return pickle


def can_pickle(value: object) -> bool:
    """True if plain pickle packs this object."""
    try:
        pickle.dumps(value)
    except Exception:  # noqa: BLE001 - pickle raises several, and objects raise their own
        return False
    return True


def ship_game(name: str) -> Shipped:
    """Pack a game: by its name if it comes with this package, with its sources otherwise."""
    if registry.package_of(name) == OURS:
        return Shipped("name", name, {})
    target = _game_target(name)
    origin = _origin(target.partition(":")[0])
    assert origin is not None, "it was imported"
    # Whatever else it needs must be installed there.
    files = {}
    for path in origin.files:
        name_there = path.relative_to(origin.folder).as_posix()
        files[name_there] = path.read_bytes()
    return Shipped("files", target, files)


def _game_target(name: str) -> str:
    """Return where a game of another package is: `module:NAME`."""
    (entry,) = entry_points(group=registry.GROUP, name=registry.entry_of(name))
    return entry.value


_unpacked: dict[tuple[str, str], Path] = {}
"""The folders of shipped strategies and games. They are removed with this process."""


def unpack(shipped: Shipped) -> Contender:
    """Return a shipped strategy as this process can play it."""
    if shipped.kind == "name":
        return shipped.target
    if shipped.kind == "pickle":
        contender: Contender = pickle.loads(shipped.pickled)
        return contender
    folder = _written(shipped)
    module, _, name = shipped.target.rpartition(":")
    if not module.endswith(".py"):
        # Not put on the path: another strategy may ship a module of the same name.
        module = SHIM
        (folder / SHIM).write_text(f"from {shipped.target.rpartition(':')[0]} import {name}\n", "utf-8")
    return f"{folder / module}:{name}"


def unpack_game(name: str, shipped: Shipped) -> None:
    """Let the registry find a shipped game, unless it is installed here already."""
    if shipped.kind == "name" or registry.find(name) is not None:
        return
    folder = _written(shipped)
    about = folder / "shipped_game.dist-info"
    about.mkdir(exist_ok=True)
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: shipped-game\nVersion: 1\n", "utf-8")
    (about / "entry_points.txt").write_text(
        f"[{registry.GROUP}]\n{registry.entry_of(name)} = {shipped.target}\n", "utf-8"
    )
    sys.path.append(str(folder))
    importlib.invalidate_caches()
    registry.plug_ins.cache_clear()


def _sweep() -> None:
    """Remove folders of processes that were killed: clusters end their workers so."""
    # Windows has no harmless way to ask whether a process lives.
    if os.name != "posix":
        return
    for folder in Path(gettempdir()).glob(f"{FOLDER}*-*"):
        number = folder.name.removeprefix(FOLDER).partition("-")[0]
        try:
            if number.isdecimal():
                os.kill(int(number), 0)
        except ProcessLookupError:
            shutil.rmtree(folder, ignore_errors=True)
        except OSError:
            continue


def _written(shipped: Shipped) -> Path:
    """Write the files of a strategy to a folder of their own, once for each process."""
    key = (shipped.target, _sha256(*_listed(shipped.files)))
    if key not in _unpacked:
        _sweep()
        folder = Path(mkdtemp(prefix=f"{FOLDER}{os.getpid()}-"))
        # Unlike `atexit`, it also runs at the end of a process of a pool.
        Finalize(None, shutil.rmtree, (folder, True), exitpriority=1)
        for name, content in shipped.files.items():
            file = folder / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content)
        _unpacked[key] = folder
    return _unpacked[key]
