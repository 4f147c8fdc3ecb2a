"""Packages that ``bench plugin new`` made, one of each kind, installed in a fresh environment; their tests pass."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from support.distributions import Installation

from trialbed_adapter_lab.scaffolding import PLUGIN_TEMPLATES

pytestmark = pytest.mark.packaging(120)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("author")


@pytest.fixture(scope="module")
def installation(new_installation: Callable[..., Installation], folder: Path) -> Installation:
    """Trialbed from its wheel, and a package of each kind that its own ``bench`` made."""
    made = new_installation()
    for word in PLUGIN_TEMPLATES:
        done = made.bench("plugin", "new", word, f"my-{word}", cwd=folder)
        assert done.returncode == 0, done.stderr
        assert (folder / f"trialbed-my-{word}" / "tox.ini").is_file()
        assert (folder / f"trialbed-my-{word}" / ".github" / "workflows" / "test.yml").is_file()
    made.install(*(f"{folder / f'trialbed-my-{word}'}[test]" for word in PLUGIN_TEMPLATES))
    return made


@pytest.mark.parametrize("word", PLUGIN_TEMPLATES)
def test_its_own_tests_pass(installation: Installation, folder: Path, word: str) -> None:
    python = str(installation.python)
    done = installation.run(python, "-m", "pytest", "-p", "no:cacheprovider", cwd=folder / f"trialbed-my-{word}")
    assert done.returncode == 0, done.stdout
    assert " passed" in done.stdout


def test_they_run_by_name(installation: Installation, tmp_path: Path) -> None:
    used = ("--judge", "my-judge", "--selector", "my-selector", "--dataset", "my-dataset", "--executor", "my-executor")
    (document,) = installation.bench_json("run", *used, cwd=tmp_path)
    assert document["summary"]["error_count"] == 0
    assert "average_trialbed_my_scorer_words" in document["summary"] or "trialbed_my_scorer_words" in str(document)
