"""Reads a Python file of tasks: its tools, tasks, checks and scores."""

from __future__ import annotations

import ast
import hashlib
import importlib.util
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from trialbed.errors import DataError
from trialbed.import_path import put_last
from trialbed.records import Query
from trialbed.scoring import Scorer
from trialbed.suggestions import closest, did_you_mean
from trialbed.tasks import MARK, Task
from trialbed.tracebacks import own_line
from trialbed_tasks._parts import parts_of, with_imports


@dataclass(frozen=True)
class PythonFile:
    """The content of a Python file of tasks.

    Attributes:
        tools: functions and classes that ``tool`` marks, in the file's order.
        tasks: the list ``tasks``; empty without one.
        scorers: the functions that ``scorer`` marks.
        sources: the file, and those beside it that it imports.
        files: these, their bytecode and the data that they name, which no agent may read.
    """

    path: Path
    module: ModuleType
    tools: tuple[Callable[..., Any], ...]
    tasks: tuple[Task | Query, ...]
    scorers: dict[str, Scorer]
    sources: tuple[Path, ...]

    @property
    def files(self) -> tuple[Path, ...]:
        return tuple(dict.fromkeys(part for file in self.sources for part in parts_of(file)))

    def function(self, name: str) -> Callable[..., Any]:
        """Return a function of the file.

        Raises:
            DataError: it has none of this name.
        """
        found = getattr(self.module, name, None)
        if not callable(found):
            names = [name for name, value in vars(self.module).items() if callable(value) and not name.startswith("_")]
            raise DataError(f"{self.path}: there is no function {name!r}{did_you_mean(closest(name, names))}")
        return found  # type: ignore[no-any-return] # it is callable


def read_python(path: Path) -> PythonFile:
    """Run a Python file, and return its content.

    Raises:
        DataError: it cannot be run, or ``tasks`` is no list of tasks; names the line.
    """
    module, sources = _load(path)
    _refuse_two_of_a_name(path)
    tasks = getattr(module, "tasks", ())
    if not isinstance(tasks, (list, tuple)):
        raise DataError(f"{path}: tasks is {tasks!r:.60}; write a list: tasks = [Task(…), …]")
    for number, task in enumerate(tasks, 1):
        if not isinstance(task, (Task, Query)):
            raise DataError(f"{path}: tasks: item {number} is {task!r:.60}; write Task(…)")
    values = list(dict.fromkeys(value for value in vars(module).values() if _is_hashable(value)))
    tools = tuple(value for value in values if callable(value) and getattr(value, MARK, False) is True)
    scorers = {value.name: value for value in values if isinstance(value, Scorer)}
    return PythonFile(path, module, tools, tuple(tasks), scorers, sources)


def _refuse_two_of_a_name(path: Path) -> None:
    """Refuse a tool that another definition of its name replaces: it would be missing without a word."""
    lines: dict[str, int] = {}
    for node in ast.parse(path.read_bytes()).body:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            if node.name in lines:
                first = lines[node.name]
                raise DataError(
                    f"{path}:{node.lineno}: the tool {node.name} is defined a second time, after line {first}"
                )
            if any(_is_mark(decorator) for decorator in node.decorator_list):
                lines[node.name] = node.lineno


def _is_mark(decorator: ast.expr) -> bool:
    """Return whether a decorator is ``tool``, by its name or as an attribute of a module."""
    return getattr(decorator, "id", getattr(decorator, "attr", None)) == "tool"


def _load(path: Path) -> tuple[ModuleType, tuple[Path, ...]]:
    """Run a file as a module, with its folder in reach, as ``python FILE`` does."""
    # No module of its own name: a file may be called as a package that is imported later.
    name = f"trialbed_tasks_of_{hashlib.sha256(str(path.resolve()).encode()).hexdigest()[:12]}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise DataError(f"{path}: is not a Python file")
    module = importlib.util.module_from_spec(spec)
    # Types in annotations are looked up in the module by its name.
    sys.modules[name] = module
    try:
        # Functions of the file may import later, too.
        with first_then_last(str(path.resolve().parent)):
            spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        sys.modules.pop(name, None)
        line = own_line(name, error)
        raise DataError(f"{path}: raised {type(error).__name__}: {error}{line}") from error
    folder = path.resolve().parent
    return module, with_imports(_files(module, folder, {}), folder)


def _files(module: ModuleType, folder: Path, seen: dict[str, Path]) -> Iterable[Path]:
    """Return the files below a folder of a module and of those that it uses, however early they were imported."""
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


def _is_hashable(value: Any) -> bool:
    try:
        hash(value)
    except TypeError:
        return False
    return True


@contextmanager
def first_then_last(folder: str) -> Iterator[None]:
    """Look in a folder before all others, in this process, and afterwards after all others."""
    sys.path.insert(0, folder)
    try:
        yield
    finally:
        sys.path.remove(folder)
        put_last(folder)
