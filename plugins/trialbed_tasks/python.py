"""Python files of tasks with their tools, tasks, checks and scores, and the files with their data.

Agents must not read any of these files.
"""

from __future__ import annotations

import ast
import hashlib
import importlib.util
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import islice
from modulefinder import ModuleFinder
from pathlib import Path
from types import ModuleType
from typing import Any

from trialbed.errors import DataError
from trialbed.plugin_files import put_last
from trialbed.records import Query
from trialbed.scoring import Scorer
from trialbed.suggestions import closest, did_you_mean
from trialbed.tasks import MARK, Task
from trialbed.tracebacks import own_line

LONGEST = 200
"""Longest text, in characters, that may be a path."""

MOST = 1000
"""Most folders to search for Python below a folder."""

BYTECODE = "__pycache__"

MACHINE = (
    *map(
        Path, ("/bin", "/dev", "/etc", "/lib", "/lib64", "/proc", "/sbin", "/sys", "/usr/bin", "/usr/lib", "/usr/lib64")
    ),
    *map(Path, ("/usr/libexec", "/usr/local/bin", "/usr/local/lib", "/usr/sbin", "/usr/share")),
    *(Path(prefix).resolve() / name for prefix in (sys.prefix, sys.base_prefix) for name in ("bin", "lib")),
)
"""Folders of programs, which agents also need."""
OWN = "trialbed"


@dataclass(frozen=True)
class PythonFile:
    """The content of a Python file of tasks.

    Attributes:
        tools: the functions, classes and framework tools marked with ``tool``, in file order.
        tasks: the list ``tasks``; empty if there is none.
        scorers: the functions marked with ``scorer``.
        sources: the file and its imports from the same folder and below.
        files: the sources, their bytecode and their data, which agents must not read.
    """

    path: Path
    module: ModuleType
    tools: tuple[Any, ...]
    tasks: tuple[Task | Query, ...]
    scorers: dict[str, Scorer]
    sources: tuple[Path, ...]

    @property
    def files(self) -> tuple[Path, ...]:
        """The sources, their bytecode and their data."""
        return tuple(dict.fromkeys(part for file in self.sources for part in parts_of(file)))

    def function(self, name: str) -> Callable[..., Any]:
        """Return a function of the file.

        Raises:
            DataError: there is no such function.
        """
        found = getattr(self.module, name, None)
        if not callable(found):
            names = [name for name, value in vars(self.module).items() if callable(value) and not name.startswith("_")]
            raise DataError(f"{self.path}: there is no function {name!r}{did_you_mean(closest(name, names))}")
        return found  # type: ignore[no-any-return] # it is callable


def read_python(path: Path) -> PythonFile:
    """Run a Python file and return its content.

    Raises:
        DataError: it cannot be run, or ``tasks`` is not a list of tasks; the message names the line.
    """
    module, sources = _load(path)
    tasks = getattr(module, "tasks", ())
    if not isinstance(tasks, (list, tuple)):
        raise DataError(f"{path}: tasks is {tasks!r:.60}; write a list: tasks = [Task(…), …]")
    for number, task in enumerate(tasks, 1):
        if not isinstance(task, (Task, Query)):
            raise DataError(f"{path}: tasks: item {number} is {task!r:.60}; write Task(…)")
    values = {id(value): value for value in vars(module).values()}.values()
    tools = tuple(value for value in values if getattr(value, MARK, False) is True)
    scorers = {value.name: value for value in values if isinstance(value, Scorer)}
    return PythonFile(path, module, tools, tuple(tasks), scorers, sources)


def _load(path: Path) -> tuple[ModuleType, tuple[Path, ...]]:
    """Run a file as a module, with its folder on the import path, as ``python FILE`` does."""
    # The module gets an invented name: the file may have the name of a package that is imported later.
    name = f"trialbed_tasks_of_{hashlib.sha256(str(path.resolve()).encode()).hexdigest()[:12]}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise DataError(f"{path}: is not a Python file")
    module = importlib.util.module_from_spec(spec)
    # Types in annotations are looked up in the module by its name.
    sys.modules[name] = module
    try:
        # Functions of the file may also import later.
        with first_then_last(str(path.resolve().parent)):
            spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        sys.modules.pop(name, None)
        line = own_line(name, error)
        raise DataError(f"{path}: raised {type(error).__name__}: {error}{line}") from error
    folder = path.resolve().parent
    return module, with_imports(_files(module, folder, {}), folder)


def _files(module: ModuleType, folder: Path, seen: dict[str, Path]) -> Iterable[Path]:
    """Return the files of a module and the modules it uses, below a folder. Earlier imports are included."""
    file = getattr(module, "__file__", None)
    path = Path(file).resolve() if file else folder.parent
    foreign = "site-packages" in path.parts or module.__name__.partition(".")[0] == "trialbed"
    if module.__name__ in seen or foreign or not path.is_relative_to(folder):
        return seen.values()
    seen[module.__name__] = path
    for value in list(vars(module).values()):
        used = value if isinstance(value, ModuleType) else sys.modules.get(str(getattr(value, "__module__", "")))
        if used is not None:
            _files(used, folder, seen)
    return seen.values()


@contextmanager
def first_then_last(folder: str) -> Iterator[None]:
    """Search a folder for modules before all others, and afterwards after all others."""
    sys.path.insert(0, folder)
    try:
        yield
    finally:
        sys.path.remove(folder)
        put_last(folder)


def parts_of(file: Path) -> Iterator[Path]:
    """Yield a file, its bytecode, and the data it names by paths relative to the file or the current folder.

    Data are files other than Python, anywhere, and folders without Python below these two folders, at any depth.
    A folder with Python may contain an agent.
    """
    yield file
    yield file.parent / BYTECODE
    texts = {
        node.value
        for node in ast.walk(syntax_of(file))
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and 0 < len(node.value) <= LONGEST
    }
    for folder in dict.fromkeys((file.parent, Path.cwd())):
        for text in sorted(texts):
            yield from _data(folder / text, folder.resolve())


def _data(path: Path, folder: Path) -> list[Path]:
    """Return the data at a path. For a folder with Python further below, return the data next to it."""
    try:
        found = path.resolve()
        is_below = found.is_relative_to(folder)
        if found.is_file():
            is_foreign = not is_below and any(found.is_relative_to(place) for place in MACHINE)
            return [] if is_foreign or path.suffix == ".py" else [found]
        # Skip folders like ".." and "/tmp", which contain unrelated files.
        if not is_below or found == folder or not found.is_dir() or any(found.glob("*.py")):
            return []
        if not _has_python(found):
            return [found]
        inside = [child for child in sorted(found.iterdir()) if not (child.is_symlink() and child.is_dir())]
        return [part for child in inside for part in _data(child, folder)]
    except (OSError, ValueError, RuntimeError):  # not a path
        return []


def _has_python(folder: Path) -> bool:
    walk = islice(os.walk(folder), MOST)
    return any(name.endswith(".py") for _, _, names in walk for name in names)


def syntax_of(file: Path) -> ast.Module:
    """Return the syntax of a file. Files other than Python, such as compiled modules, have an empty one."""
    try:
        return ast.parse(file.read_bytes() if file.suffix == ".py" else b"")
    except (OSError, SyntaxError, ValueError, RecursionError):
        return ast.Module([], [])


def with_imports(files: Iterable[Path], folder: Path) -> tuple[Path, ...]:
    """Return files and their imports from a folder, recursively.

    This finds imports that the modules do not show, such as imports of plain values or inside functions.
    """
    found = dict.fromkeys(files)
    # A file may have added folders to the path. Folders of an environment are not its own.
    places = [path for path in map(Path, sys.path) if path.is_relative_to(folder)]
    places = [path for path in places if not any(path.is_relative_to(top) for top in (sys.prefix, sys.base_prefix))]
    finder = ModuleFinder([str(folder), *map(str, places)], excludes=[OWN])
    for file in found:
        if file.suffix == ".py":
            with suppress(OSError, ImportError, SyntaxError, ValueError, RecursionError):
                finder.run_script(str(file))
    named = (getattr(module, "__file__", None) for module in finder.modules.values())
    paths = (Path(name).resolve() for name in named if name)
    return tuple(found | dict.fromkeys(path for path in paths if path.is_relative_to(folder)))
