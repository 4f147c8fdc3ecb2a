"""The files that belong to a file of tasks in Python: what it imports, and the data that it names."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from trialbed_tasks.python import read_python


@pytest.fixture(autouse=True)
def own_modules() -> Iterator[None]:
    """Forget what a file imported: others have modules of the same names."""
    before = set(sys.modules)
    yield
    for name in set(sys.modules) - before:
        sys.modules.pop(name)


def write(folder: Path, text: str, name: str) -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def empty(folder: Path, *names: str) -> None:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).touch()


def names_of(desk: Path) -> list[str]:
    return [str(file.relative_to(desk.parent)) for file in read_python(desk).files if file.name != "__pycache__"]


def test_what_a_file_knows_is_its_own_with_its_bytecode_and_the_data_that_it_names(tmp_path: Path) -> None:
    empty(tmp_path, "data/orders.json", "agent/main.py", "prices.csv", "other.csv")
    desk = tmp_path / "desk.py"
    texts = (
        "data",
        "agent",
        "agent/main.py",
        "prices.csv",
        ".",
        "..",
        "/etc",
        "a" * 9000,
        "a\0b",
        "é\ud800",
        "gone.csv",
    )
    desk.write_text(
        "\n".join(["import stockroom", *(f"print({text!a})" for text in texts), "tasks = []"]), encoding="utf-8"
    )
    (tmp_path / "stockroom.py").write_text("def prices():\n    return open('data/orders.json')\n")
    files = read_python(desk).files
    assert [str(file.relative_to(tmp_path)) for file in files] == [
        *("desk.py", "__pycache__", "data", "prices.csv", "stockroom.py", "data/orders.json")
    ]


def test_what_a_file_imports_is_its_own_however_and_whenever_it_does(tmp_path: Path) -> None:
    modules = {
        "values.py": "from shelf.gold import ANSWERS\nfrom trialbed import Task\n",
        "shelf/__init__.py": "",
        "shelf/gold.py": "from .deep import ANSWERS\nfrom . import near\n",
        "shelf/deep.py": "ANSWERS = {1: 'a'}\n",
        "shelf/near.py": "NUMBER = 3\n",
        "later.py": "import faulty_later\n",
        "faulty_later.py": "(",
        "other.py": "",
        "agent.py": "",
    }
    for name, text in modules.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        write(tmp_path, text, name)
    text = """
from values import ANSWERS

def tool():
    import json, later, trialbed.tasks, gone
    from ... import above
    return later

tasks = []
"""
    assert sorted(names_of(write(tmp_path, text, "imports.py"))) == [
        *("imports.py", "later.py"),
        *("shelf/__init__.py", "shelf/deep.py", "shelf/gold.py", "shelf/near.py", "values.py"),
    ]
