"""The files that hold what a Python file of tasks knows, which no agent may read."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

from trialbed_tasks._imports import syntax_of

LONGEST = 200
"""Characters of a path in a text."""

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

    Data are files that are not Python, wherever they are, and folders below these two without any: an agent may be in
    one.
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
            path = folder / text
            if _is_data(path) and _may_be_hidden(found := path.resolve(), folder.resolve()):
                yield found


def _may_be_hidden(found: Path, folder: Path) -> bool:
    """Whether data are those of the file: ``".."`` and ``"/tmp"`` name folders that hold much else."""
    if found.is_relative_to(folder):
        return found != folder
    return found.is_file() and not any(found.is_relative_to(place) for place in MACHINE)


def _is_data(path: Path) -> bool:
    try:
        if path.is_dir():
            return not any(path.glob("*.py"))
        return path.suffix != ".py" and path.is_file()
    except (OSError, ValueError):  # no path at all
        return False
