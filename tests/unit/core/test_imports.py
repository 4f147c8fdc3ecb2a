"""Who may import whom, and what is not imported before it is needed."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from support.read_code import imports_of

import trialbed
import trialbed.conversations
import trialbed.metrics
import trialbed.wire
import trialbed_controlled

ROOT = Path(__file__).parents[3]
CORE = "trialbed"
PUBLIC = {
    module.__name__: module
    for module in (trialbed, trialbed.wire, trialbed.conversations, trialbed.metrics, trialbed_controlled)
}
FOLDERS = {
    CORE: "core",
    "trialbed_server": "server",
    "trialbed_selection": "tool_selection",
    "trialbed_plugins": "plugins",
    "trialbed_verify": "plugins",
    "trialbed_pages": "plugins",
    "trialbed_evaluation": "plugins",
    "trialbed_adapter_lab": "plugins",
    "trialbed_controlled": "plugins",
    "trialbed_scripted": "plugins",
    "trialbed_tasks": "plugins",
    "trialbed_testing": "plugins",
    "trialbed_tools": "plugins",
    "trialbed_ray": "plugins",
}
ARROWS: dict[tuple[str, str], str] = {
    ("trialbed.conversations", "trialbed_evaluation.conversations"): "a public name, which loads nothing by itself",
    ("trialbed.metrics", "trialbed_evaluation.metrics"): "a public name, which loads nothing by itself",
    ("trialbed_adapter_lab", "trialbed_scripted"): "adapters are checked against scripted models",
    ("trialbed_adapter_lab", "trialbed_server"): "an adapter's trials meet the server of a run",
    ("trialbed_evaluation.plan", "trialbed_verify"): "one command plans comparisons of both kinds of runs",
    ("trialbed_evaluation.score", "trialbed_tasks"): "scorers in Python files are read as those of tasks are",
    ("trialbed_pages", "trialbed_plugins.recordings"): "results are published with the recording of the model",
    ("trialbed_pages", "trialbed_plugins.reporters"): "pages have the tables of reports",
    ("trialbed_pages", "trialbed_verify.pages"): "results files of vendors are shown next to runs",
    ("trialbed_plugins.datasets", "trialbed_tools"): "queries in YAML are read as files of tools are",
    ("trialbed_plugins.frameworks", "trialbed_controlled"): "the reference loop reads answers as they do",
    ("trialbed_ray", "trialbed_plugins.executors"): "on each node, the local executor runs trials",
    ("trialbed_server", "trialbed_plugins.recordings"): "the gateway keeps the answers of models, and gives them again",
    ("trialbed_tasks", "trialbed_tools"): "files of tasks name files of tools, and are read alike",
    ("trialbed_testing", "trialbed_pages"): "a trial that failed is kept as a page",
    ("trialbed_testing", "trialbed_tasks"): "bench init drafts a file of tasks",
    ("trialbed_testing", "trialbed_scripted"): "a script is a model of a test",
    ("trialbed_testing", "trialbed_plugins.recordings"): "the answers of real models are recorded",
    ("trialbed_tools", "trialbed_scripted.schemas"): "an import shows a call with arguments that its tool takes",
    ("trialbed_server", "trialbed_scripted"): "the gateway plays scripted models; the server simulates vendors",
}
"""(what imports, what it imports): why a package builds on another product's public names. All import core."""


HEAVY = {
    "aiohttp",
    "bm25s",
    "fastapi",
    "httpx",
    "jsonschema_rs",
    "mcp",
    "numpy",
    "pydantic",
    "rich",
    "scipy",
    "sqlalchemy",
    "uvicorn",
}
FOREIGN = [
    *sorted((ROOT / "adapters").glob("*/src/*/*.py")),
    *sorted((ROOT / "tests" / "functional" / "third_party" / "trialbed-acme").rglob("*.py")),
]

TESTS = [file for file in sorted((ROOT / "tests").rglob("*.py")) if file not in FOREIGN]
UNIT_ROOTS = {package.removeprefix("trialbed_"): package for package in FOLDERS} | {
    "core": CORE,
    "tool_selection": "trialbed_selection",
}
"""Folder of ``tests/unit`` -> package."""


def imported(file: Path) -> Iterator[tuple[str, str]]:
    """``(module, name)`` of every import of a file, wherever it stands; the name is empty for ``import x``."""
    for found in imports_of(file):
        assert found.level == 0, f"{file}: imports are absolute"
        yield found.module, found.name


@cache
def sources() -> dict[Path, str]:
    """The files of all packages, and the modules that they are."""
    return {
        file: ".".join(file.relative_to(ROOT / folder).with_suffix("").parts).removesuffix(".__init__")
        for package, folder in FOLDERS.items()
        for file in sorted((ROOT / folder / package).rglob("*.py"))
    }


def within(module: str, package: str) -> bool:
    """Whether a module is the package or in it."""
    return f"{module}.".startswith(f"{package}.")


def test_every_package_of_the_roots_is_held_to_the_rules() -> None:
    there = {file.parent.name for root in set(FOLDERS.values()) for file in (ROOT / root).glob("*/__init__.py")}
    assert there == set(FOLDERS)


def test_a_package_imports_core_and_itself_and_what_an_arrow_allows() -> None:
    drawn = set()
    wrong = []
    for file, importing in sources().items():
        for module, name in imported(file):
            root = module.split(".")[0]
            if root not in FOLDERS or root in {CORE, importing.split(".")[0]}:
                continue
            found = {arrow for arrow in ARROWS if within(importing, arrow[0]) and within(module, arrow[1])}
            drawn |= found
            if not found or private_package(module, name):
                wrong.append(f"{importing} imports {module}.{name}")
    assert wrong == []
    assert set(ARROWS) - drawn == set(), "an arrow that nothing needs"


def test_what_is_not_ours_needs_public_names_only() -> None:
    wrong = [
        f"{file.relative_to(ROOT)} imports {module}.{name}"
        for file in FOREIGN
        for module, name in imported(file)
        if module.split(".")[0] in FOLDERS and (module not in PUBLIC or name not in PUBLIC[module].__all__)
    ]
    assert wrong == []


def private_package(module: str, name: str) -> str | None:
    """The package whose private module is imported; None if all of the address is public."""
    parts = [*module.split("."), name]
    private = [place for place, part in enumerate(parts) if part.startswith("_") and not part.startswith("__")]
    return ".".join(parts[: private[0]]) if private and parts[0] in FOLDERS else None


PRIVATE_IMPORT = re.compile(r"^\s*(?:from|import) .*\b_(?!_)|^\s+_\w+(?: as \w+)?,$", re.MULTILINE)
"""A line of each import of what is private, and few others: most files need not be parsed for it."""


def mirrored(file: Path) -> str:
    """The module that a unit test is for, as its folder and name say: what is private around it is not to the test."""
    root, *folders = file.relative_to(ROOT / "tests" / "unit").parent.parts
    return ".".join([UNIT_ROOTS[root], *folders, file.stem.removeprefix("test_")])


def test_only_unit_tests_import_private_modules_and_only_of_the_package_they_mirror() -> None:
    wrong = []
    for file in TESTS:
        if not PRIVATE_IMPORT.search(file.read_text(encoding="utf-8")):
            continue
        unit = file.is_relative_to(ROOT / "tests" / "unit")
        for module, name in imported(file):
            package = private_package(module, name)
            if package is not None and not (unit and within(mirrored(file), package)):
                wrong.append(f"{file.relative_to(ROOT)}: {module}.{name} is private to {package}")
    assert wrong == []


UNNEEDED = {
    "import trialbed": HEAVY,
    "import trialbed.wire": HEAVY,
    "from trialbed.metrics import tool_call_accuracy; tool_call_accuracy([], [])": HEAVY,
    "import trialbed_server": HEAVY,
    "import trialbed.cli; trialbed.cli.main(['--help'])": {*HEAVY, "asyncio"},
    "import trialbed.cli; trialbed.cli.main(['--version'])": HEAVY,
    "import trialbed.cli; trialbed.cli.main(['no-such-command'])": HEAVY,
    "import trialbed.cli; trialbed.cli.main(['verify', '--help'])": HEAVY,
    "import trialbed_verify.verification": HEAVY,
    "import trialbed_verify.compare, trialbed_verify.ranking": {"aiohttp", "jsonschema_rs", "pydantic", "yaml"},
    "import trialbed.worker._loop": {"click", "fastapi", "numpy", "pygments", "rich", "sqlalchemy"},
    "import trialbed_scripted.faults": {"fastapi", "numpy", "pydantic", "sqlalchemy", "starlette", "uvicorn"},
    "from trialbed_verify.verification import Verification": {"fastapi", "numpy", "uvicorn", "rich"},
    "from trialbed_server import ServerOptions, create_app; create_app(ServerOptions(cache='responses.db'))": {
        *("aiohttp", "fastapi", "httpx", "sqlalchemy.dialects.postgresql", "trialbed.model_access._access")
    },
}
"""Code -> modules that it does without."""


@pytest.mark.parametrize("code", UNNEEDED)
def test_parts_do_not_import_what_they_do_not_need(code: str, tmp_path: Path) -> None:
    script = f"import sys\n{code}\nprint('loaded', *sorted({UNNEEDED[code]!r} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, cwd=tmp_path, check=True)
    assert done.stdout.splitlines()[-1] == "loaded"
