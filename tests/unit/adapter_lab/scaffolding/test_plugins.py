"""Packages for plugins: complete, named throughout, and refused where their folder exists."""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path

import pytest

from trialbed.errors import UsageError
from trialbed_adapter_lab.plugin_check import KINDS, check_plugin
from trialbed_adapter_lab.scaffolding import PLUGIN_TEMPLATES, free_names, write_plugin


def test_every_kind_but_datasets_and_executors_can_be_started() -> None:
    started = {word: template.kind for word, template in PLUGIN_TEMPLATES.items()}
    assert started | {"dataset": "datasets", "executor": "executors"} == KINDS


@pytest.mark.parametrize("word", PLUGIN_TEMPLATES)
def test_a_package_has_tests_tox_and_a_workflow_and_no_word_of_the_template(word: str, tmp_path: Path) -> None:
    files = [
        path.relative_to("trialbed-my-thing").as_posix()
        for path in write_plugin(word, free_names("my-thing", word), tmp_path)
    ]
    assert files == sorted(files)
    assert {*files} == {
        ".github/workflows/test.yml",
        ".gitignore",
        "README.md",
        "pyproject.toml",
        "src/trialbed_my_thing/__init__.py",
        "src/trialbed_my_thing/py.typed",
        "tests/test_conformance.py",
        "tox.ini",
    }
    texts = {name: (tmp_path / "trialbed-my-thing" / name).read_text() for name in files}
    for text in texts.values():
        assert not any(left in text for left in ("new-", "NewPlugin", "new_plugin"))
    compile(texts["src/trialbed_my_thing/__init__.py"], "plugin", "exec")
    (points,) = tomllib.loads(texts["pyproject.toml"])["project"]["entry-points"].values()
    module, _, attribute = points["my-thing"].partition(":")
    assert module == "trialbed_my_thing"
    assert not attribute or f"class {attribute}(" in texts["src/trialbed_my_thing/__init__.py"]


@pytest.mark.parametrize("word", PLUGIN_TEMPLATES)
def test_the_file_of_a_package_fulfils_its_contract(word: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRIALBED_STATE_DIR", str(tmp_path / "state"))
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.setenv("PYTHONPATH", "")
    write_plugin(word, free_names("my-thing", word), tmp_path)
    file = tmp_path / f"{word}.py"
    file.write_bytes((tmp_path / "trialbed-my-thing/src/trialbed_my_thing/__init__.py").read_bytes())
    target = PLUGIN_TEMPLATES[word].target.replace("NewPlugin", "MyThing")
    assert check_plugin(f"{file}:{target}" if target else str(file)).problem == ""


def test_a_folder_that_exists_and_a_wrong_name_are_refused(tmp_path: Path) -> None:
    write_plugin("judge", free_names("mine", "judge"), tmp_path)
    with pytest.raises(UsageError, match="trialbed-mine already exists"):
        write_plugin("judge", free_names("mine", "judge"), tmp_path)
    with pytest.raises(UsageError, match=r"'Mine' cannot be the judge's name: .* try 'mine'"):
        free_names("Mine", "judge")


@pytest.mark.parametrize(("word", "name"), [("model", "scripted"), ("judge", "rule")])
def test_a_name_that_an_installed_plugin_has_is_refused(word: str, name: str) -> None:
    with pytest.raises(UsageError, match=f"trialbed already provides the {word} '{name}'; choose another name"):
        free_names(name, word)
    assert free_names(name, "selector").name == name
