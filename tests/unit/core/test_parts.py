"""Which part of a package may import which, and by which names."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from support.read_code import imports_of

ROOT = Path(__file__).parents[3]
PARTS = {
    "trialbed_adapter_lab": {
        "harness": ("differences", "errors"),
        "probes": ("differences", "errors", "harness", "probe"),
        "cli": (
            "",
            "fidelity",
            "fuzz",
            "kit_process",
            "plugin_check",
            "probe",
            "releases",
            "report_command",
            "scaffolding",
        ),
    },
}
"""Package -> its parts, and what each of them may import of it; ``""`` is the package itself."""

SOURCES = [
    file
    for root in ("core/trialbed", "server/trialbed_server", "tool_selection/trialbed_selection", "plugins")
    for file in sorted((ROOT / root).rglob("*.py"))
]


def folder(package: str) -> Path:
    return ROOT / "plugins" / package.replace(".", "/")


def imported(file: Path, package: str) -> Iterator[str]:
    """The modules of a package that a file imports, wherever it stands: ``wire._exchange``, ``""`` for the package."""
    modules = dict.fromkeys(found.module for found in imports_of(file))
    return (module[len(package) + 1 :] for module in modules if f"{module}.".startswith(f"{package}."))


def holder(module: str) -> str | None:
    """The package whose private module this is; None if all of the address is public."""
    names = module.split(".")
    private = [place for place, name in enumerate(names) if name.startswith("_")]
    return ".".join(names[: private[0]]) if private else None


def test_the_parts_are_all_there_is() -> None:
    for package, parts in PARTS.items():
        assert {file.parent.name for file in folder(package).glob("*/__init__.py")} == set(parts), package


def test_a_part_imports_itself_and_those_below_it() -> None:
    seen = 0
    for package, parts in PARTS.items():
        for part, below in parts.items():
            for file in sorted((folder(package) / part).rglob("*.py")):
                first = {module.split(".")[0] for module in imported(file, package)}
                seen += len(first)
                assert first <= {part, *below}, file
    assert seen > 50


def test_whoever_is_outside_a_part_uses_its_public_names() -> None:
    seen = 0
    for package in PARTS:
        for file in SOURCES:
            own = ".".join(file.parent.relative_to(ROOT / "plugins").parts) if "plugins" in file.parts else ""
            for module in imported(file, package):
                seen += 1
                holding = holder(module)
                inside = f"{own}.".startswith(f"{package}.{holding}.".replace("..", "."))
                assert holding is None or inside, f"{file} imports {module}"
    assert seen > 50
