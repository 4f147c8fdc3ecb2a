"""Files do not import each other in a circle, and neither do rooms, the folders and files directly in a package.

Imports inside of functions and for types only count too.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest
from support.read_code import imports_of

ROOT = Path(__file__).parents[3]
ROOTS = ("core", "server", "tool_selection", "plugins")


def modules() -> dict[str, Path]:
    """Every module, and the file that says what it imports: its stub, where its names are loaded lazily."""
    found = {}
    for root in ROOTS:
        for file in sorted((ROOT / root).rglob("*.py")):
            stub = file.with_suffix(".pyi")
            name = ".".join(file.relative_to(ROOT / root).with_suffix("").parts).removesuffix(".__init__")
            found[name] = stub if stub.exists() else file
    return found


def imports(module: str) -> Iterator[tuple[str, str, str]]:
    """``(module, name, name here)`` of every import of a file, wherever it stands."""
    parent = module if module in PACKAGES else module.rpartition(".")[0]
    for found in imports_of(FILES[module]):
        source = ".".join(filter(None, (parent, found.module))) if found.level else found.module
        yield source, found.name, found.here


def defining(module: str, name: str) -> str | None:
    """The module that defines a name, whichever package it is imported from; None for what is not ours."""
    while f"{module}.{name}" not in FILES:
        if name not in offers().get(module, {}):
            return module if module in FILES else None
        module, name = offers()[module][name]
    return f"{module}.{name}"


def room(module: str) -> str:
    """The folder or file directly in its distribution's package that a module is of."""
    return ".".join(module.split(".")[:2])


FILES = modules()
PACKAGES = {module for module, file in FILES.items() if file.stem == "__init__"}


@cache
def offers() -> dict[str, dict[str, tuple[str, str]]]:
    """Package -> each name that it offers -> the module that it has it from, and its name there."""
    found = {module: imports(module) for module in PACKAGES}
    return {module: {here: (source, name) for source, name, here in names if here} for module, names in found.items()}


def needs(module: str) -> set[str]:
    """The modules that define the names which a file imports."""
    return {found for source, name, _ in imports(module) if (found := defining(source, name))} - {module}


def test_there_is_no_circle_among_files() -> None:
    check({module: needs(module) for module in FILES if module not in PACKAGES})


def test_there_is_no_circle_among_rooms() -> None:
    rooms: dict[str, set[str]] = {}
    for module in FILES.keys() - PACKAGES:
        here = room(module)
        rooms.setdefault(here, set()).update(room(one) for one in needs(module))
        rooms[here].discard(here)
    check(rooms)


def check(needed: Mapping[str, set[str]]) -> None:
    """Fail with a circle, if there is one."""
    try:
        TopologicalSorter(needed).prepare()
    except CycleError as error:
        pytest.fail(f"each imports the next: {' → '.join(reversed(error.args[1]))}")
