"""Which part of verification may import which, and by which names."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[4]
PACKAGE = "trialbed.verification"
FOLDER = ROOT / "core" / "trialbed" / "verification"
PARTS = ("wire", "cases", "targets", "results")
"""Each imports only those before it."""

SOURCES = [
    file
    for root in ("core/trialbed", "server/trialbed_server", "tool_selection/trialbed_selection", "plugins")
    for file in sorted((ROOT / root).rglob("*.py"))
]


def imported(file: Path) -> Iterator[str]:
    """What of verification a file imports, wherever it stands: ``wire``, ``wire._sse``, ``""`` for all of it."""
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        modules = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
        modules += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        yield from (module[len(PACKAGE) + 1 :] for module in modules if f"{module}.".startswith(f"{PACKAGE}."))


def part_of(file: Path) -> str | None:
    """The part that a file is in; empty for the work itself, None outside."""
    if not file.is_relative_to(FOLDER):
        return None
    first = file.relative_to(FOLDER).parts[0]
    return first if first in PARTS else ""


def test_the_parts_are_all_there_is() -> None:
    assert {file.parent.name for file in FOLDER.glob("*/__init__.py")} == set(PARTS)


@pytest.mark.parametrize("number", range(len(PARTS)), ids=PARTS)
def test_a_part_imports_itself_and_those_before_it(number: int) -> None:
    allowed = set(PARTS[: number + 1])
    found = [
        (file.name, module)
        for file in sorted((FOLDER / PARTS[number]).glob("*.py"))
        for module in imported(file)
        if module.split(".")[0] not in allowed
    ]
    assert found == []


def test_whoever_is_outside_a_part_uses_its_public_names() -> None:
    found = [
        (str(file.relative_to(ROOT)), module)
        for file in SOURCES
        for module in imported(file)
        if any(name.startswith("_") for name in module.split(".")) and module.rpartition(".")[0] != part_of(file)
    ]
    assert found == []


def test_there_is_something_to_see() -> None:
    assert {"wire", "wire._outcomes", "wire.json_text", "cases"} <= {
        module for file in SOURCES for module in imported(file)
    }
