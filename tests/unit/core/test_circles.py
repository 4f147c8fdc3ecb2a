"""No file needs another that needs it: not at once, not later in a function, not for its types only."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
ROOTS = ("core", "server", "tool_selection", "plugins")
Names = Mapping[str, Mapping[str, tuple[str, str]]]
"""Package -> name that it offers -> (module, name) that it takes it from."""


def modules() -> dict[str, Path]:
    """Every module, and the file that says what it imports: its stub, where its names are loaded lazily."""
    found = {}
    for root in ROOTS:
        for file in sorted((ROOT / root).rglob("*.py")):
            stub = file.with_suffix(".pyi")
            name = ".".join(file.relative_to(ROOT / root).with_suffix("").parts).removesuffix(".__init__")
            found[name] = stub if stub.exists() else file
    return found


def imports(module: str, file: Path) -> Iterator[tuple[str, str, str]]:
    """``(module, name, name here)`` of every import of a file, wherever it stands."""
    parent = module if file.stem == "__init__" else module.rpartition(".")[0]
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from ((alias.name, "", "") for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            source = ".".join(filter(None, (parent, node.module))) if node.level else node.module or ""
            yield from ((source, alias.name, alias.asname or alias.name) for alias in node.names)


def defining(module: str, name: str, files: Mapping[str, Path], offered: Names) -> str | None:
    """The module that defines a name, whichever package it is imported from; None for what is not ours."""
    while f"{module}.{name}" not in files:
        if name not in offered.get(module, {}):
            return module if module in files else None
        module, name = offered[module][name]
    return f"{module}.{name}"


def test_there_is_no_circle_among_files() -> None:
    files = modules()
    found = {module: list(imports(module, file)) for module, file in files.items()}
    offered = {
        module: {here: (source, name) for source, name, here in found[module] if here}
        for module, file in files.items()
        if file.stem == "__init__"
    }
    needed = {
        module: {defining(source, name, files, offered) for source, name, _ in found[module]} - {None, module}
        for module in files
        if module not in offered
    }
    try:
        TopologicalSorter(needed).prepare()
    except CycleError as error:
        pytest.fail(f"each imports the next: {' → '.join(reversed(error.args[1]))}")
