"""Packages that ``bench plugin new`` made, one of each kind, installed in a fresh environment; their tests pass."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from support.distributions import Installation

from trialbed_adapter_lab.scaffolding import PLUGIN_TEMPLATES

pytestmark = pytest.mark.packaging(60)

MAKE_ALL = """
import sys
from trialbed.cli import main

sys.exit(any([main(["plugin", "new", word, f"my-{word}"]) for word in sys.argv[1:]]))
"""
"""``bench plugin new``, time after time in one process, which starts once."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("author")


@pytest.fixture(scope="module")
def installation(new_installation: Callable[..., Installation], folder: Path) -> Installation:
    """Trialbed from its wheel, and a package of each kind that its own ``bench`` made."""
    made = new_installation()
    done = made.run(str(made.python), "-c", MAKE_ALL, *PLUGIN_TEMPLATES, cwd=folder)
    assert done.returncode == 0, done.stderr
    for word in PLUGIN_TEMPLATES:
        assert (folder / f"trialbed-my-{word}" / "tox.ini").is_file()
        assert (folder / f"trialbed-my-{word}" / ".github" / "workflows" / "test.yml").is_file()
    made.install(*(f"{folder / f'trialbed-my-{word}'}[test]" for word in PLUGIN_TEMPLATES))
    return made


def test_their_own_tests_pass(installation: Installation, folder: Path) -> None:
    """In one process, as it takes longer to begin than to run them."""
    folders = [f"trialbed-my-{word}" for word in PLUGIN_TEMPLATES]
    options = ("-p", "no:cacheprovider", "--import-mode", "importlib", "--rootdir", ".", "-v")
    done = installation.run(str(installation.python), "-m", "pytest", *options, *folders, cwd=folder)
    assert done.returncode == 0, done.stdout
    passed = [line for line in done.stdout.splitlines() if " PASSED " in line]
    assert [name for name in folders if not any(line.startswith(f"{name}/") for line in passed)] == []


def test_they_run_by_name(installation: Installation, tmp_path: Path) -> None:
    used = ("--judge", "my-judge", "--selector", "my-selector")
    (document,) = installation.bench_json("run", *used, cwd=tmp_path)
    assert document["summary"]["error_count"] == 0
    assert "average_trialbed_my_scorer_words" in document["summary"] or "trialbed_my_scorer_words" in str(document)
