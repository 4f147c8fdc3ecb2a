"""Which part of a package may import which, and by which names."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
PARTS = {
    "trialbed_adapter_lab.fidelity": {
        "reading": (),
        "probe": (),
        "measurements": ("reading", "probe"),
        "views": ("",),
    },
    "trialbed_verify.verification": {
        "wire": (),
        "cases": ("wire",),
        "targets": ("wire", "cases"),
        "results": ("wire", "cases", "targets"),
    },
}
"""Package -> its parts, and what each of them may import."""

EACH_PART = [(package, part) for package, parts in PARTS.items() for part in parts]

SOURCES = [
    file
    for root in ("core/trialbed", "server/trialbed_server", "tool_selection/trialbed_selection", "plugins")
    for file in sorted((ROOT / root).rglob("*.py"))
]


def folder(package: str) -> Path:
    return ROOT / "plugins" / package.replace(".", "/")


def imported(file: Path, package: str) -> Iterator[str]:
    """What of a package a file imports, wherever it stands: ``wire``, ``wire._exchange``, ``""`` for all of it."""
    return (module[len(package) + 1 :] for module in modules(file) if f"{module}.".startswith(f"{package}."))


@cache
def modules(file: Path) -> tuple[str, ...]:
    """All that a file imports."""
    found: list[str] = []
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        found += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
        found += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
    return tuple(found)


def part_of(file: Path, package: str) -> str | None:
    """The part that a file is in; empty for the package's own modules, None outside."""
    if not file.is_relative_to(folder(package)):
        return None
    first = file.relative_to(folder(package)).parts[0]
    return first if first in PARTS[package] else ""


@pytest.mark.parametrize("package", PARTS)
def test_the_parts_are_all_there_is(package: str) -> None:
    assert {file.parent.name for file in folder(package).glob("*/__init__.py")} == set(PARTS[package])


@pytest.mark.parametrize(("package", "part"), EACH_PART)
def test_a_part_imports_itself_and_those_below_it(package: str, part: str) -> None:
    allowed = {part, *PARTS[package][part]}
    found = [
        (file.name, module)
        for file in sorted((folder(package) / part).glob("*.py"))
        for module in imported(file, package)
        if module.split(".")[0] not in allowed
    ]
    assert found == []


@pytest.mark.parametrize("package", PARTS)
def test_whoever_is_outside_a_part_uses_its_public_names(package: str) -> None:
    found = [
        (str(file.relative_to(ROOT)), module)
        for file in SOURCES
        for module in imported(file, package)
        if any(name.startswith("_") for name in module.split("."))
        and module.rpartition(".")[0] != part_of(file, package)
    ]
    assert found == []


@pytest.mark.parametrize(
    ("package", "some"),
    [
        ("trialbed_adapter_lab.fidelity", {"_options", "measurements._load", "probe", "reading"}),
        ("trialbed_verify.verification", {"wire", "wire._attempts", "targets", "cases"}),
    ],
)
def test_there_is_something_to_see(package: str, some: set[str]) -> None:
    assert some <= {module for file in SOURCES for module in imported(file, package)}
