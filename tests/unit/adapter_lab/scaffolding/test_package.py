"""Packages written from the template."""

from __future__ import annotations

import ast
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml

from trialbed import UsageError
from trialbed_adapter_lab import scaffolding
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


def test_the_entry_point_names_the_class_that_is_there(tmp_path: Path) -> None:
    write_package(free_names("my-loop2"), tmp_path)
    folder = tmp_path / "trialbed-my-loop2"
    project = tomllib.loads((folder / "pyproject.toml").read_text())["project"]
    assert project["name"] == "trialbed-my-loop2"
    assert project["entry-points"]["trialbed.frameworks"] == {"my-loop2": "trialbed_my_loop2:MyLoop2Agent"}
    assert "class MyLoop2Agent(BaseAgent)" in (folder / "src/trialbed_my_loop2/_agent.py").read_text()
    assert 'framework = "my-loop2"' in (folder / "tests/test_conformance.py").read_text()


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


def test_a_python_that_is_missing_is_skipped_and_the_fuzzer_has_what_it_needs(tmp_path: Path) -> None:
    pytest.importorskip("tox")
    write_package(free_names("acme"), tmp_path)
    folder = tmp_path / "trialbed-acme"
    config = [sys.executable, "-m", "tox", "config", "--core", "-k", "skip_missing_interpreters", "-c", str(folder)]
    shown = subprocess.run(config, capture_output=True, text=True, check=True).stdout
    assert "skip_missing_interpreters = True" in shown
    extras = tomllib.loads((folder / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    assert any(requirement.startswith("hypothesis>=") for requirement in extras["test"])


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


def test_lines_fit_with_a_long_name_too(tmp_path: Path) -> None:
    for path in write_package(free_names("-".join(["rather"] * 4)), tmp_path):
        if path.suffix == ".py":
            assert max(map(len, (tmp_path / path).read_text().splitlines()), default=0) <= 120


def test_what_is_there_is_not_overwritten(tmp_path: Path) -> None:
    (tmp_path / "trialbed-acme").mkdir()
    (tmp_path / "trialbed-acme" / "mine").write_text("precious")
    with pytest.raises(UsageError, match="trialbed-acme already exists; remove it, or choose another folder"):
        write_package(free_names("acme"), tmp_path)
    assert content(tmp_path) == {"trialbed-acme/mine": b"precious"}


def test_the_place_is_made_where_it_is_not_there(tmp_path: Path) -> None:
    write_package(free_names("acme"), tmp_path / "a" / "b")
    assert (tmp_path / "a" / "b" / "trialbed-acme" / "pyproject.toml").is_file()


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match=r"file/deeper/trialbed-acme cannot be written: Not a directory"):
        write_package(free_names("acme"), tmp_path / "file" / "deeper")


def test_nothing_is_left_of_a_package_that_could_not_be_written_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = [(Path("a"), b""), (Path("a/b"), b"")]  # a folder where a file is
    monkeypatch.setattr(scaffolding, "_template_files", lambda: iter(files))
    with pytest.raises(UsageError, match="trialbed-acme cannot be written"):
        write_package(free_names("acme"), tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_what_installers_and_developers_leave_in_the_template_is_not_copied(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    installed = shutil.copytree(TEMPLATE, tmp_path / "template", ignore=shutil.ignore_patterns("*.egg-info"))
    for folder in ("src/trialbed_new_framework/__pycache__", "src/x.egg-info", ".mypy_cache/3.11", "build/lib"):
        (installed / folder).mkdir(parents=True, exist_ok=True)
        (installed / folder / "made").write_bytes(b"\xff")
    monkeypatch.setattr(scaffolding, "INSTALLED", installed)
    write_package(free_names("new-framework"), tmp_path)
    assert content(tmp_path / "trialbed-new-framework") == content(TEMPLATE)


def test_an_installation_without_the_template_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for place in ("INSTALLED", "CHECKOUT"):
        monkeypatch.setattr(scaffolding, place, tmp_path / "nowhere")
    with pytest.raises(UsageError, match="nowhere is missing; reinstall trialbed"):
        write_package(free_names("acme"), tmp_path)
