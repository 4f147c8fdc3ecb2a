"""The files beside a Python file of tasks that it imports, at once or when a tool is called."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterable, Iterator
from importlib.machinery import all_suffixes
from pathlib import Path

OWN = "trialbed"


def syntax_of(file: Path) -> ast.Module:
    """Return the syntax of a file; that of an empty one where it is no Python, such as a compiled module."""
    try:
        return ast.parse(file.read_bytes() if file.suffix == ".py" else b"")
    except (OSError, SyntaxError, ValueError, RecursionError):
        return ast.Module([], [])


def with_imports(files: Iterable[Path], folder: Path) -> tuple[Path, ...]:
    """Return files, and those below a folder that their imports name, and so on.

    Modules do not show where a plain value was imported from, nor the later imports of a function.
    """
    found = dict.fromkeys(files)
    waiting = list(found)
    while waiting:
        file = waiting.pop(0)
        new = [path for path in _imports(file, folder) if path not in found]
        found.update(dict.fromkeys(new))
        waiting += dict.fromkeys(new)
    return tuple(found)


def _imports(file: Path, folder: Path) -> Iterator[Path]:
    for node in ast.walk(syntax_of(file)):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield from _places(alias.name, folder)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            name = node.module or ""
            for module in (name, *(f"{name}.{alias.name}" for alias in node.names)):
                yield from _places(module, folder)
        elif isinstance(node, ast.ImportFrom):
            base = [file.parent, *file.parent.parents][node.level - 1 :][:1]
            for place in base:
                if place.is_relative_to(folder):
                    whole = place.joinpath(*(node.module or "").split("."))
                    for path in (whole, *(whole / alias.name for alias in node.names)):
                        yield from _module_files(path)


def _places(name: str, folder: Path) -> Iterator[Path]:
    """Yield the files of a module, where they are below the folder: a file may have put other folders in reach."""
    if name.partition(".")[0] == OWN:
        return
    yield from _module_files(folder.joinpath(*name.split(".")))
    file = getattr(sys.modules.get(name), "__file__", None)
    if file and (path := Path(file).resolve()).is_relative_to(folder) and "site-packages" not in path.parts:
        yield path


def _module_files(path: Path) -> Iterator[Path]:
    for suffix in all_suffixes():
        for file in (path.with_name(path.name + suffix), path / f"__init__{suffix}"):
            try:
                if file.is_file():
                    yield file.resolve()
            except OSError:  # no name that a file can have
                return
