"""Packages written from the template."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from trialbed_adapter_lab.scaffolding import MARK, free_names, write_package

TEMPLATE = Path(__file__).parents[4] / "adapters" / "_template"


def content(folder: Path) -> dict[str, bytes]:
    """``path -> content`` of what is in a folder, without what Python and installers made there."""
    return {
        file.relative_to(folder).as_posix(): file.read_bytes()
        for file in folder.rglob("*")
        if file.is_file() and "__pycache__" not in file.parts and ".egg-info" not in str(file)
    }


def test_under_its_own_name_the_template_comes_out_as_it_is(tmp_path: Path) -> None:
    write_package(free_names("new-framework"), tmp_path)
    assert content(tmp_path / "trialbed-new-framework") == content(TEMPLATE)


def test_the_package_has_what_it_needs_and_no_word_of_the_template(tmp_path: Path) -> None:
    files = write_package(free_names("my-loop2"), tmp_path)
    assert [path.relative_to("trialbed-my-loop2").as_posix() for path in files] == [
        ".github/workflows/test.yml",
        ".gitignore",
        "README.md",
        "pyproject.toml",
        "src/trialbed_my_loop2/__init__.py",
        "src/trialbed_my_loop2/_agent.py",
        "src/trialbed_my_loop2/_loop.py",
        "src/trialbed_my_loop2/py.typed",
        "tests/test_agent.py",
        "tests/test_conformance.py",
        "tox.ini",
    ]
    for path in files:
        text = (tmp_path / path).read_text()
        assert not any(word in text.lower() for word in ("new-framework", "new_framework", "newframework"))
        if path.suffix == ".py":
            ast.parse(text)


def test_the_workflow_runs_each_environment_of_tox(tmp_path: Path) -> None:
    pytest.importorskip("tox")
    write_package(free_names("acme"), tmp_path)
    folder = tmp_path / "trialbed-acme"
    workflow = yaml.safe_load((folder / ".github/workflows/test.yml").read_text())
    matrix = workflow["jobs"]["test"]["strategy"]["matrix"]["include"]
    command = [sys.executable, "-m", "tox", "list", "--no-desc", "-c", str(folder / "tox.ini")]
    listed = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    assert [entry["env"] for entry in matrix] == listed
    for entry in matrix:
        assert entry["env"].startswith(f"py{entry['python'].replace('.', '')}-")


def test_every_place_to_change_is_marked(tmp_path: Path) -> None:
    write_package(free_names("acme"), tmp_path)
    folder = tmp_path / "trialbed-acme"
    counts = {path: text.count(MARK.encode()) for path, text in content(folder).items() if MARK.encode() in text}
    assert counts.pop("src/trialbed_acme/_agent.py") >= 6
    assert set(counts) == {
        ".github/workflows/test.yml",
        "README.md",
        "pyproject.toml",
        "src/trialbed_acme/_loop.py",
        "tests/test_agent.py",
    }
