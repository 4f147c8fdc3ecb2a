"""The files that hold what a Python file of tasks knows, which no agent may read."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from trialbed_tasks._imports import syntax_of

LONGEST = 200
"""Characters of a path in a text."""

BYTECODE = "__pycache__"


def parts_of(file: Path) -> Iterator[Path]:
    """Yield a file, its bytecode, and the data that it names by paths relative to it or to the current folder.

    Data are files that are not Python, and folders without any: an agent may be in one.
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
            if _is_data(path) and (found := path.resolve()).is_relative_to(folder.resolve()) and found != folder:
                yield found


def _is_data(path: Path) -> bool:
    try:
        if path.is_dir():
            return not any(path.glob("*.py"))
        return path.suffix != ".py" and path.is_file()
    except (OSError, ValueError):  # no path at all
        return False
