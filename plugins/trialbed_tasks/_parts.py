"""The files that hold what a Python file of tasks knows, which no agent may read."""

from __future__ import annotations

import ast
import os
import sys
from collections.abc import Iterable, Iterator
from importlib.machinery import all_suffixes
from itertools import islice
from pathlib import Path

LONGEST = 200
"""Characters of a path in a text."""

MOST = 1000
"""Folders within one that are looked through for Python."""

BYTECODE = "__pycache__"

MACHINE = (
    *map(
        Path, ("/bin", "/dev", "/etc", "/lib", "/lib64", "/proc", "/sbin", "/sys", "/usr/bin", "/usr/lib", "/usr/lib64")
    ),
    *map(Path, ("/usr/libexec", "/usr/local/bin", "/usr/local/lib", "/usr/sbin", "/usr/share")),
    *(Path(prefix).resolve() / name for prefix in (sys.prefix, sys.base_prefix) for name in ("bin", "lib")),
)
"""Folders of programs, which agents need as well."""
OWN = "trialbed"


def parts_of(file: Path) -> Iterator[Path]:
    """Yield a file, its bytecode, and the data that it names by paths relative to it or to the current folder.

    Data are files that are not Python, wherever they are, and folders below these two without any, at any depth:
    an agent may be in one.
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
    """Return the data at a path: itself, or, where there is Python further below, what lies beside that."""
    try:
        found = path.resolve()
        is_below = found.is_relative_to(folder)
        if found.is_file():
            is_foreign = not is_below and any(found.is_relative_to(place) for place in MACHINE)
            return [] if is_foreign or path.suffix == ".py" else [found]
        # ".." and "/tmp" name folders that hold much else.
        if not is_below or found == folder or not found.is_dir() or any(found.glob("*.py")):
            return []
        if not _has_python(found):
            return [found]
        inside = [child for child in sorted(found.iterdir()) if not (child.is_symlink() and child.is_dir())]
        return [part for child in inside for part in _data(child, folder)]
    except (OSError, ValueError, RuntimeError):  # no path at all
        return []


def _has_python(folder: Path) -> bool:
    walk = islice(os.walk(folder), MOST)
    return any(name.endswith(".py") for _, _, names in walk for name in names)


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
