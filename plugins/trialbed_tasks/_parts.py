"""The files that hold what a Python file of tasks knows, which no agent may read."""

from __future__ import annotations

import ast
import os
import sys
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from trialbed_tasks._imports import syntax_of

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
