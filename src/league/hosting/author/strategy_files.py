"""Strategies in files: each file has an import space of its own, so that two files never share a neighbour by accident.

Theory of operation. `./a/mine.py` and `./b/mine.py` may both say `import helper` and mean different files. So every
file gets a space: a package with a private name, whose folder is the folder of the file. The file and its neighbours
are modules of that package, and `sys.modules` knows them by their private names only. The modules of a space get their
own `__import__`, which looks for a neighbour first; this holds for a statement inside a function, too, whenever it
runs. `importlib.import_module` does not use `__import__`, so a finder asks which space the calling code belongs to.
Every other module is shared by all: what is installed, the standard library, and modules of the current folder.

A neighbour must never be registered under its plain name while another space has one of that name: it would get
the wrong one.
"""

from __future__ import annotations

import builtins
import copy
import hashlib
import importlib
import sys
from collections.abc import Mapping, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

PREFIX = "strategy_file_"
"""How the private names begin."""
IMPORT = "__import__"


class ImportSpace:
    """The modules of one strategy file: itself, and those next to it."""

    def __init__(self, name: str, file: Path) -> None:
        self.name = name
        self._folder = str(file.parent)
        self.builtins = {**vars(builtins), IMPORT: self._import}
        """What the modules of this space get as their built-in names."""
        package = ModuleType(name)
        package.__path__ = [self._folder]
        sys.modules[name] = package

    def has(self, name: str) -> bool:
        """Return True if the top-level module of this name is a neighbour, which code of this space means by it."""
        if self.private_name(name) in sys.modules:
            return True
        # As for a script: a neighbour called `random` does not replace a module that is loaded and used by all.
        if name in sys.stdlib_module_names and name in sys.modules:
            return False
        spec = PathFinder.find_spec(name, [self._folder])
        if spec is None:
            return False
        if spec.origin is not None:
            return True
        # A folder without __init__.py: a proper module elsewhere comes first, as in every import.
        shared = PathFinder.find_spec(name)
        return shared is None or shared.origin is None

    def private_name(self, name: str) -> str:
        return f"{self.name}.{name}"

    def load(self, name: str) -> ModuleType:
        """Import a neighbour."""
        return importlib.import_module(self.private_name(name))

    def load_file(self, file: Path) -> ModuleType:
        """Import the strategy file itself. Its name need not be one that `import` takes."""
        name = self.private_name(file.stem.replace(".", "_"))
        if name in sys.modules:
            return sys.modules[name]
        spec = spec_from_file_location(name, file)
        assert spec is not None, "it ends in .py"
        assert spec.loader is not None, "it ends in .py"
        spec.loader = _SpaceLoader(spec.loader, self)
        module = module_from_spec(spec)
        sys.modules[name] = module
        try:
            spec.loader.exec_module(module)
        except BaseException:
            del sys.modules[name]
            raise
        return module

    def _import(
        self,
        name: str,
        globals: Mapping[str, Any] | None = None,  # noqa: A002 - as the built-in function names it
        locals: Mapping[str, Any] | None = None,  # noqa: A002 - as the built-in function names it
        fromlist: Sequence[str] | None = (),
        level: int = 0,
    ) -> Any:
        """Import a module for a statement in this space, as the built-in `__import__` does for all others."""
        top = name.partition(".")[0]
        if level > 0 or not self.has(top):
            return builtins.__import__(name, globals, locals, fromlist or (), level)
        module = builtins.__import__(self.private_name(name), globals, locals, fromlist or (), 0)
        if fromlist:
            return module
        # Only C code, such as pickle's, passes a list. It looks the module up by its plain name next.
        if isinstance(fromlist, list) and not _is_ambiguous(top, self):
            sys.modules[name] = sys.modules[self.private_name(name)]
            _plain_names.add(name)
        # `import helper.parts` binds the name `helper`, but we imported a module of the private package.
        return sys.modules[self.private_name(top)]


_spaces: dict[str, ImportSpace] = {}
"""All spaces, by their private names."""
_plain_names: set[str] = set()
"""Plain names that neighbours have in `sys.modules` for the sake of C code. No two spaces know the same one."""


def load(file: Path) -> ModuleType:
    """Return the module of a strategy file. A file is run only once."""
    path = file.resolve()
    name = PREFIX + hashlib.sha256(str(path).encode()).hexdigest()[:16]
    if name not in _spaces:
        if not _spaces:
            sys.meta_path.insert(0, _Finder())
        # The new space may have neighbours of the same names.
        for plain_name in _plain_names:
            sys.modules.pop(plain_name, None)
        _plain_names.clear()
        _spaces[name] = ImportSpace(name, path)
    return _spaces[name].load_file(path)


def _is_ambiguous(name: str, space: ImportSpace) -> bool:
    """Return True if another space has a neighbour of this name, too."""
    return any(other.has(name) for other in _spaces.values() if other is not space)


class _Finder(MetaPathFinder):
    """Finds the modules of all spaces: by their private names, and by plain names for code of the space."""

    def find_spec(
        self,
        fullname: str,
        path: Sequence[str] | None,
        target: ModuleType | None = None,
    ) -> ModuleSpec | None:
        if fullname.startswith(PREFIX):
            return self._private(fullname, path)
        if path is None:
            return self._plain(fullname)
        return None

    def _private(self, fullname: str, path: Sequence[str] | None) -> ModuleSpec | None:
        spec = PathFinder.find_spec(fullname, path)
        # A namespace package has no code that could import anything.
        if spec is not None and spec.loader is not None:
            spec.loader = _SpaceLoader(spec.loader, _spaces[fullname.partition(".")[0]])
        return spec

    def _plain(self, name: str) -> ModuleSpec | None:
        space = _calling_space()
        if space is None or not space.has(name):
            return None
        module = space.load(name)
        assert module.__spec__ is not None, "it was imported"
        spec = copy.copy(module.__spec__)
        spec.loader = _Loaded(module)
        return spec


def _calling_space() -> ImportSpace | None:
    """Return the space whose code called `importlib.import_module`; None if no space did."""
    frame = sys._getframe(2)
    own_files = (importlib.__file__, __file__)
    while frame.f_back is not None:
        frame = frame.f_back
        file = frame.f_code.co_filename
        if not file.startswith("<frozen importlib") and file not in own_files:
            # The first frame that is not the import system's is the one that imports.
            package = str(frame.f_globals.get("__name__", "")).partition(".")[0]
            return _spaces.get(package)
    return None


class _SpaceLoader(Loader):
    """Loads a module of a space as usual, but with the built-in names of the space."""

    def __init__(self, loader: Loader, space: ImportSpace) -> None:
        self._loader = loader
        self._space = space

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        vars(module)["__builtins__"] = self._space.builtins
        self._loader.exec_module(module)

    def __getattr__(self, name: str) -> Any:
        # Tracebacks, `inspect` and `importlib.resources` ask the loader for the source and for data files.
        return getattr(self._loader, name)


class _Loaded(Loader):
    """Hands out a module that is loaded already."""

    def __init__(self, module: ModuleType) -> None:
        self._module = module
        self._spec = module.__spec__

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return self._module

    def exec_module(self, module: ModuleType) -> None:
        # The import system has just replaced it.
        module.__spec__ = self._spec
