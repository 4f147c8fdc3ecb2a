"""What other people's distributions add, built and installed, and used by the command line.

The commands that look for plugins have an environment as users have it; what is done with plugins afterwards is
tried beside the checkout, where a command starts without the wait for its imports.
"""

from __future__ import annotations

import json
import subprocess
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from support.bench import own_environment
from support.distributions import Installation, Wheels, uv
from support.warm import run_warm

from trialbed_scripted import ModelTurn, ReceivedRequest, say, serve

pytestmark = pytest.mark.packaging(40)


@pytest.fixture(scope="session")
def installation(wheels: Wheels, new_installation: Callable[..., Installation]) -> Installation:
    """Trialbed with Acme's distribution and the broken one."""
    return new_installation(wheels.acme, wheels.broken)


@dataclass(frozen=True)
class Beside:
    """Distributions that are installed beside the checkout."""

    packages: Path

    def bench(self, *arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
        variables = {"XDG_CACHE_HOME": str(cwd / ".cache"), "COLUMNS": "100", "PYTHONPATH": str(self.packages)}
        environment = own_environment(**variables)
        kept = {name: value for name, value in environment.items() if not name.startswith("OPENAI_")}
        return run_warm("trialbed", arguments, cwd=cwd, env=kept, timeout=300)

    def bench_json(self, *arguments: str, cwd: Path) -> Any:
        done = self.bench(*arguments, "--json", cwd=cwd)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)


@pytest.fixture(scope="session")
def beside(wheels: Wheels, tmp_path_factory: pytest.TempPathFactory) -> Beside:
    """The same distributions, beside the checkout."""
    folder = tmp_path_factory.mktemp("packages")
    uv("pip", "install", "--quiet", "--no-deps", "--target", str(folder), str(wheels.acme), str(wheels.broken))
    return Beside(folder)


@pytest.fixture(scope="session")
def acme_run(beside: Beside, tmp_path_factory: pytest.TempPathFactory) -> Callable[..., dict[str, Any]]:
    def run(model: str, where: Beside | Installation = beside) -> dict[str, Any]:
        folder = tmp_path_factory.mktemp("run")
        (document,) = where.bench_json("run", "--framework", "acme", "--dataset", "acme", "--model", model, cwd=folder)
        assert (folder / "results" / "tools" / "acme_acme.json").is_file()
        return document

    return run


def test_a_framework_a_dataset_and_scores_of_others_work_together(
    acme_run: Callable[..., dict[str, Any]], installation: Installation
) -> None:
    document = acme_run("scripted:gold", installation)
    assert document["metadata"]["agent_name"] == "acme"
    summary = document["summary"]
    assert (summary["total_queries"], summary["error_count"]) == (3, 0)
    assert summary["average_sopr_score"] == 1.0
    assert summary["average_api_call_score"] == 1.0
    assert summary["average_acme_begins_right"] == 1.0
    assert summary["acme_api_calls"] == 5
    assert [entry["scores"]["acme_begins_right"] for entry in document["results"]] == [1.0, 1.0, 1.0]


def test_a_score_of_others_can_be_a_threshold(beside: Beside, tmp_path: Path) -> None:
    command = ("run", "-f", "acme", "-d", "acme", "--model", "scripted:reordered", "--fail-under")
    done = beside.bench(*command, "acme_begins_right=0.3", cwd=tmp_path)
    assert done.returncode == 0
    shown = beside.bench("show", "latest", "--full", cwd=tmp_path).stdout
    assert "  acme_boot_time, ms" in shown, "a score has the unit that its scorer declares"
    failed = beside.bench(*command, "acme_begins_right=0.5", cwd=tmp_path)
    assert failed.returncode == 1
    assert "acme: acme_begins_right is 0.3333, below 0.5" in failed.stderr


def helpful(request: ReceivedRequest) -> ModelTurn:
    """What the model says to the helpers of Acme."""
    kind, text = (message["content"] for message in request.document["messages"])
    if kind == "select":
        return say("track depot quote")
    if kind == "simulate":
        made = {"depot": "Nordtor", "street": "Kai 7", "price": 14.7, "days": 2, "parcels": 812}
        return say(json.dumps(made))
    return say("yes" if "Nordtor" in text or "14.7" in text else "no")


def test_helpers_of_others_ask_the_model_that_the_user_names(beside: Beside, tmp_path: Path) -> None:
    with serve(helpful) as model:
        command = (
            "run",
            "-f",
            "reference",
            "-d",
            "acme-simulated",
            "--model",
            "scripted:gold",
            "--base-url",
            model.url,
        )
        command += ("--selector", "acme", "--selector-model", "picker", "--simulator-model", "maker")
        command += ("--judge", "acme", "--judge-model", "grader")
        (document,) = beside.bench_json(*command, cwd=tmp_path)
        models = Counter(request.asked.model for request in model.requests)
        (again,) = beside.bench_json(*command, cwd=tmp_path)
    assert document["summary"]["average_sopr_score"] == 1.0
    assert document["summary"]["average_api_call_score"] == 1.0
    assert {entry["evaluation"]["method"] for entry in document["results"]} == {"acme:grader"}
    assert document["metadata"]["judge"]["calibration"] is None
    assert models == {"picker": 3, "maker": 5, "grader": 3}
    # What was asked once is found in the caches.
    assert Counter(request.asked.model for request in model.requests) == models
    assert again["summary"]["average_sopr_score"] == 1.0


def test_the_dataset_of_others_is_listed_and_shown(installation: Installation, tmp_path: Path) -> None:
    listed = {row["name"]: row for row in installation.bench_json("data", "list", cwd=tmp_path)}
    assert listed["acme"]["test_sets"] == ["acme"]
    assert installation.bench_json("data", "show", "acme", cwd=tmp_path)["gold_apis"] == 5


def test_a_reporter_of_others_is_chosen_by_name(beside: Beside, tmp_path: Path) -> None:
    command = ("run", "-f", "reference", "-f", "acme", "--limit", "2", "--format")
    done = beside.bench(*command, "acme", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, "reference solved 2\nacme solved 2\n")
    assert "written: 2 documents in results/tools" in done.stderr
    wrong = beside.bench(*command, "acne", cwd=tmp_path)
    assert (wrong.returncode, wrong.stdout) == (2, "")
    assert "'acne' is not installed; did you mean 'acme'?" in wrong.stderr


@pytest.mark.parametrize(
    ("framework", "causes"),
    [
        ("brokenone", ["'brokenone' of trialbed-broken 6.6.6", "RuntimeError: the flux capacitor is missing"]),
        ("brokenold", ["'brokenold' of trialbed-broken 6.6.6", "contract '0'", "contract '3'"]),
        ("brokenname", ["'brokenname' of trialbed-broken 6.6.6", "NoSuchAgent"]),
        ("brokennone", ["'brokennone' is not installed", "did you mean"]),
    ],
)
def test_a_framework_that_cannot_be_used_ends_with_2_and_its_cause(
    beside: Beside, tmp_path: Path, framework: str, causes: list[str]
) -> None:
    done = beside.bench("run", "--framework", framework, "--limit", "1", cwd=tmp_path)
    assert done.returncode == 2, done.stderr
    assert done.stdout == ""
    for cause in causes:
        assert cause in done.stderr
    assert "Traceback" not in done.stderr


def test_a_run_says_which_plugins_it_goes_without(beside: Beside, tmp_path: Path) -> None:
    done = beside.bench("run", "--limit", "1", cwd=tmp_path)
    for name in ("a-unimportable", "b-misfit", "c-unknown"):
        assert f"plugin '{name}' of trialbed-broken 6.6.6 cannot be loaded" in done.stderr
