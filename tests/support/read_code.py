"""What files of code import and define, each read once; of their trees, which are large, nothing is kept."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

BLOCKS = ("body", "handlers", "cases", "orelse", "finalbody")
"""Fields of statements that hold statements."""


class Import(NamedTuple):
    """An import of a file, wherever it stands.

    Attributes:
        module: as it is written.
        name: that is taken of the module; empty for ``import x``.
        here: the name that it gets.
        level: how many folders up the module is looked for; 0 for an absolute import.
    """

    module: str
    name: str = ""
    here: str = ""
    level: int = 0


@cache
def imports_of(file: Path) -> tuple[Import, ...]:
    """All imports of a file."""
    statements = _statements(ast.parse(file.read_text(encoding="utf-8")).body)
    return tuple(found for node in statements for found in _imports(node))


def _statements(nodes: Sequence[ast.AST]) -> Iterator[ast.AST]:
    """Each statement of a block and of the blocks in it."""
    for node in nodes:
        yield node
        for field in BLOCKS:
            yield from _statements(getattr(node, field, None) or ())


def _imports(node: ast.AST) -> Iterator[Import]:
    if isinstance(node, ast.Import):
        yield from (Import(alias.name) for alias in node.names)
    elif isinstance(node, ast.ImportFrom):
        for alias in node.names:
            yield Import(node.module or "", alias.name, alias.asname or alias.name, node.level)
