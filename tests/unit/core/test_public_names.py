"""What each package offers: named, sorted, complete and there."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pathlib import Path

import pytest
from support.read_code import classes_of

ROOT = Path(__file__).parents[3]
FOLDERS = tuple(
    file.parent
    for root in ("core", "server", "tool_selection", "plugins")
    for file in sorted((ROOT / root).glob("*/__init__.py"))
)
OWN = tuple(folder.name for folder in FOLDERS)


@cache
def packages() -> tuple[str, ...]:
    """The packages that offer names. Looked for when a test needs them: all workers import this file."""
    files = ((folder, file) for folder in FOLDERS for file in sorted(folder.rglob("__init__.py")))
    return tuple(".".join(file.parent.relative_to(folder.parent).parts) for folder, file in files if bound_names(file))


def bound_names(file: Path) -> set[str]:
    """The public names of a package: those of its stub where it loads them lazily.

    Elsewhere what its ``__init__`` defines, or else takes from its own modules.
    """
    stub = file.with_suffix(".pyi")
    if stub.exists():
        return _public(_stubbed(ast.parse(stub.read_text())))
    tree = ast.parse(file.read_text())
    return _public(_defined(tree)) or _public(_taken(tree))


def _stubbed(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            yield from (alias.asname or alias.name for alias in node.names)


def _defined(tree: ast.Module) -> Iterator[str]:
    for statement in tree.body:
        if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            yield statement.name
        elif isinstance(statement, (ast.Assign, ast.AnnAssign)):
            targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
            yield from (target.id for target in targets if isinstance(target, ast.Name))


def _taken(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] in OWN:
            yield from (alias.asname or alias.name for alias in node.names)


def _public(names: Iterator[str]) -> set[str]:
    return {name for name in names if not name.startswith("_")}


def order(name: str) -> tuple[bool, bool, str]:
    """Constants, then classes, then functions; each by the alphabet."""
    return not name.isupper(), not name[0].isupper(), name


def test_the_packages_were_found() -> None:
    assert {"trialbed", "trialbed.records", "trialbed_server", "trialbed_selection"} <= set(packages())


def test_all_is_sorted_and_is_all() -> None:
    for package in packages():
        module = import_module(package)
        assert module.__file__ is not None
        file = Path(module.__file__)
        assert set(module.__all__) == bound_names(file), package
        key = None if file.with_suffix(".pyi").exists() else order
        assert module.__all__ == sorted(module.__all__, key=key), package


def test_every_name_is_there() -> None:
    for package in packages():
        module = import_module(package)
        for name in module.__all__:
            assert getattr(module, name) is not None, f"{package}.{name}"
            assert name in dir(module), f"{package}.{name}"


def test_a_name_that_is_not_there_is_an_attribute_error() -> None:
    import trialbed

    with pytest.raises(AttributeError, match="no_such_name"):
        _ = trialbed.no_such_name
    assert trialbed.__version__[0].isdigit()


ADAPTERS = ("agent-framework", "agno", "autogen", "crewai", "google-adk", "langgraph", "openai-agents")
ADAPTERS += ("pydantic-ai", "smolagents")

PARTS = {"NativeAgent", "ControlledAgent", "MessagesAgent", "ResponsesAgent", "ApiTool", "SealedTool", "TunedAgent"}
"""Names that adapters share: each is a distribution of its own, and the same part is named the same in all."""


def class_names(folder: Path) -> Iterator[str]:
    for file in folder.rglob("*.py"):
        if "templates" not in file.parts:
            yield from classes_of(file)


def test_no_two_classes_have_one_name() -> None:
    bundled = [name for folder in FOLDERS for name in class_names(folder)]
    adapters = [name for adapter in ADAPTERS for name in class_names(ROOT / "adapters" / adapter / "src")]
    counts = Counter([*bundled, *adapters])
    assert {name for name, times in counts.items() if times > 1} == PARTS
    assert not PARTS & {*bundled}
