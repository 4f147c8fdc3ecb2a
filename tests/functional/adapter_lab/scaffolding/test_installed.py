"""A package that ``bench adapter new`` made, installed in a fresh environment and used by name."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from support.distributions import Installation

from trialbed.cli import main
from trialbed.records import Environment

pytestmark = pytest.mark.packaging(40)

NAME = "agents-4-you"


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("author")


@pytest.fixture(scope="session")
def installation(new_installation: Callable[..., Installation], folder: Path) -> Installation:
    """Trialbed from its wheel, and the package that its own ``bench`` made, as its author installs it."""
    made = new_installation()
    done = made.bench("adapter", "new", NAME, cwd=folder)
    assert done.returncode == 0, done.stderr
    made.install(f"{folder / f'trialbed-{NAME}'}[test]")
    return made


def test_its_own_tests_pass(installation: Installation, folder: Path) -> None:
    """With what its ``test`` extra brings, and nothing else of ours."""
    python = str(installation.python)
    done = installation.run(python, "-m", "pytest", "-p", "no:cacheprovider", cwd=folder / f"trialbed-{NAME}")
    assert done.returncode == 0, done.stdout
    assert " passed, " in done.stdout
    assert not re.search(r"\d failed", done.stdout)


def test_it_runs_by_name_beside_the_reference(installation: Installation, tmp_path: Path) -> None:
    documents = installation.bench_json("run", "-f", "reference", "-f", NAME, "--limit", "5", cwd=tmp_path)
    assert [document["metadata"]["agent_name"] for document in documents] == ["reference", NAME]
    for document in documents:
        assert document["summary"]["error_count"] == 0
        for score in ("api_call_score", "sopr_score", "claimed_vs_observed"):
            assert document["summary"][f"average_{score}"] == 1.0
    sent = [[result["tokens"]["prompt_tokens"] for result in document["results"]] for document in documents]
    assert sent[0] == sent[1]


def test_it_is_checked_where_it_is(
    installation: Installation, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """By a Trialbed that does not have it, in the environment that does."""
    own = Environment(python=str(installation.python), lock="")
    monkeypatch.setattr("trialbed.cli.env.chosen_environments", lambda labels, **_: dict.fromkeys(labels, own))
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "ours"))
    monkeypatch.chdir(tmp_path)
    label = f"{NAME}==0.1.0"
    assert main(["adapter", "check", label, "--check", "single_call", "--json"]) == 0
    report = json.loads(capfd.readouterr().out)
    assert (report["adapter"], report["conformant"]) == (f"trialbed-{NAME}", True)


@pytest.mark.usefixtures("installation")
def test_types_of_the_package_are_right(check_types: Callable[[Path], None], folder: Path) -> None:
    """Checked strictly against the installed Trialbed, as an author would."""
    check_types(folder / f"trialbed-{NAME}" / "src")
