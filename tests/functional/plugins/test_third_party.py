"""What other people's distributions add, installed as users install them and used by the command line."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.distributions import Installation, Wheels

from trialbed_scripted import ReceivedRequest, Turn, say, serve

pytestmark = pytest.mark.packaging(40)


@pytest.fixture(scope="session")
def installation(wheels: Wheels, new_installation: Callable[..., Installation]) -> Installation:
    """Trialbed with Acme's distribution and the broken one."""
    return new_installation(wheels.acme, wheels.broken)


@pytest.fixture(scope="session")
def acme_run(installation: Installation, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], dict[str, Any]]:
    def run(model: str) -> dict[str, Any]:
        folder = tmp_path_factory.mktemp("run")
        (document,) = installation.bench_json(
            "run", "--framework", "acme", "--dataset", "acme", "--model", model, cwd=folder
        )
        assert (folder / "results" / "tools" / "acme_acme.json").is_file()
        return document

    return run


def test_a_framework_a_dataset_and_scores_of_others_work_together(acme_run: Callable[[str], dict[str, Any]]) -> None:
    document = acme_run("scripted:gold")
    assert document["metadata"]["agent_name"] == "acme"
    summary = document["summary"]
    assert (summary["total_queries"], summary["error_count"]) == (3, 0)
    assert summary["average_sopr_score"] == 1.0
    assert summary["average_api_call_score"] == 1.0
    assert summary["average_acme_begins_right"] == 1.0
    assert summary["acme_api_calls"] == 5
    assert [entry["scores"]["acme_begins_right"] for entry in document["results"]] == [1.0, 1.0, 1.0]


def test_a_score_of_others_has_its_right_value_for_a_model_that_errs(
    acme_run: Callable[[str], dict[str, Any]],
) -> None:
    """Played in reverse, only the query with one gold call begins right."""
    document = acme_run("scripted:reordered")
    assert [entry["scores"]["acme_begins_right"] for entry in document["results"]] == [1.0, 0.0, 0.0]
    assert document["summary"]["average_acme_begins_right"] == pytest.approx(1 / 3)
    assert document["summary"]["acme_api_calls"] == 5
    assert document["summary"]["average_sopr_score"] == 1.0


def test_a_score_of_others_can_be_a_threshold(installation: Installation, tmp_path: Path) -> None:
    command = ("run", "-f", "acme", "-d", "acme", "--model", "scripted:reordered", "--fail-under")
    done = installation.bench(*command, "acme_begins_right=0.3", cwd=tmp_path)
    assert done.returncode == 0
    assert "\nacme_boot_time, ms  " in done.stdout, "a score has the unit that its scorer declares"
    failed = installation.bench(*command, "acme_begins_right=0.5", cwd=tmp_path)
    assert failed.returncode == 1
    assert "acme: acme_begins_right is 0.3333, below 0.5" in failed.stderr


def test_the_framework_of_others_stands_beside_ours(installation: Installation, tmp_path: Path) -> None:
    documents = installation.bench_json("run", "-f", "reference", "-f", "acme", "--limit", "4", cwd=tmp_path)
    ours, theirs = documents
    assert [document["metadata"]["agent_name"] for document in documents] == ["reference", "acme"]
    for score in ("average_sopr_score", "average_api_call_score", "average_claimed_vs_observed"):
        assert ours["summary"][score] == theirs["summary"][score] == 1.0


def helpful(request: ReceivedRequest) -> Turn:
    """What the model says to the helpers of Acme."""
    kind, text = (message["content"] for message in request.document["messages"])
    if kind == "select":
        return say("track depot quote")
    if kind == "simulate":
        made = {"depot": "Nordtor", "street": "Kai 7", "price": 14.7, "days": 2, "parcels": 812}
        return say(json.dumps(made))
    return say("yes" if "Nordtor" in text or "14.7" in text else "no")


def test_helpers_of_others_ask_the_model_that_the_user_names(installation: Installation, tmp_path: Path) -> None:
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
        (document,) = installation.bench_json(*command, cwd=tmp_path)
        models = Counter(request.asked.model for request in model.requests)
        (again,) = installation.bench_json(*command, cwd=tmp_path)
    assert document["summary"]["average_sopr_score"] == 1.0
    assert document["summary"]["average_api_call_score"] == 1.0
    assert {entry["evaluation"]["method"] for entry in document["results"]} == {"acme:grader"}
    assert document["metadata"]["judge"]["calibration"] is None
    assert models == {"picker": 3, "maker": 5, "grader": 3}
    # What was asked once is found in the caches.
    assert Counter(request.asked.model for request in model.requests) == models
    assert again["summary"]["average_sopr_score"] == 1.0


def test_a_helper_of_others_keeps_to_its_budget(installation: Installation, tmp_path: Path) -> None:
    with serve(helpful) as model:
        command = ("run", "-f", "reference", "-d", "acme", "--model", "scripted:gold", "--base-url", model.url)
        command += ("--judge", "acme", "--judge-model", "grader", "--max-helper-requests", "1", "-j", "1")
        command += ("--allow-incomplete",)
        (document,) = installation.bench_json(*command, cwd=tmp_path)
    judged = [entry["scores"]["sopr_score"] for entry in document["results"]]
    assert judged.count(None) == 2
    assert "the budget of 1 requests is used up" in json.dumps(document["summary"]["untold_reasons"])


def test_the_dataset_of_others_is_listed_and_shown(installation: Installation, tmp_path: Path) -> None:
    listed = {row["name"]: row for row in installation.bench_json("data", "list", cwd=tmp_path)}
    assert listed["acme"]["test_sets"] == ["acme"]
    assert installation.bench_json("data", "show", "acme", cwd=tmp_path)["gold_apis"] == 5


def test_a_command_of_others_is_there(installation: Installation, tmp_path: Path) -> None:
    done = installation.bench("acme-hello", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, "Hello from Acme\n")
    assert "Greet from another distribution." in installation.bench("--help", cwd=tmp_path).stdout


def test_a_reporter_of_others_is_chosen_by_name(installation: Installation, tmp_path: Path) -> None:
    command = ("run", "-f", "reference", "-f", "acme", "--limit", "2", "--format")
    done = installation.bench(*command, "acme", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, "reference solved 2\nacme solved 2\n")
    assert "written: results/tools/acme_mini.json" in done.stderr
    wrong = installation.bench(*command, "acne", cwd=tmp_path)
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
    installation: Installation, tmp_path: Path, framework: str, causes: list[str]
) -> None:
    done = installation.bench("run", "--framework", framework, "--limit", "1", cwd=tmp_path)
    assert done.returncode == 2, done.stderr
    assert done.stdout == ""
    for cause in causes:
        assert cause in done.stderr
    assert "Traceback" not in done.stderr


def test_plugins_names_each_broken_one_with_distribution_version_and_cause(
    installation: Installation, tmp_path: Path
) -> None:
    items = {(item["kind"], item["name"]): item for item in installation.bench_json("plugins", cwd=tmp_path)}
    for kind, name in (("frameworks", "acme"), ("datasets", "acme"), ("plugins", "acme")):
        assert items[kind, name] == {
            "kind": kind,
            "name": name,
            "distribution": "trialbed-acme",
            "version": "1.2.3",
            "problem": "",
        }
    problems = {key: item["problem"] for key, item in items.items() if item["distribution"] == "trialbed-broken"}
    assert {key for key, problem in problems.items() if problem} == {
        ("frameworks", "brokenone"),
        ("frameworks", "brokenold"),
        ("frameworks", "brokenname"),
        ("plugins", "a-unimportable"),
        ("plugins", "b-misfit"),
        ("plugins", "c-unknown"),
    }
    assert "flux capacitor" in problems["plugins", "a-unimportable"]
    assert "weather" in problems["plugins", "b-misfit"]
    assert "trial_scored" in problems["plugins", "c-unknown"]
    assert all("trialbed-broken 6.6.6" in problem for problem in problems.values())


def test_doctor_finds_the_broken_ones_and_says_what_to_do(installation: Installation, tmp_path: Path) -> None:
    done = installation.bench("doctor", cwd=tmp_path)
    assert done.returncode == 1
    assert done.stdout.count("update or uninstall trialbed-broken") == 6
    assert "flux capacitor" in done.stdout
    assert "acme, reference" in done.stdout


@pytest.mark.parametrize("arguments", [("--version",), ("--help",), ("data", "list"), ("run", "--limit", "1")])
def test_broken_plugins_harm_no_other_command(
    installation: Installation, tmp_path: Path, arguments: tuple[str, ...]
) -> None:
    done = installation.bench(*arguments, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr


def test_a_run_says_which_plugins_it_goes_without(installation: Installation, tmp_path: Path) -> None:
    done = installation.bench("run", "--limit", "1", cwd=tmp_path)
    for name in ("a-unimportable", "b-misfit", "c-unknown"):
        assert f"plugin '{name}' of trialbed-broken 6.6.6 cannot be loaded" in done.stderr


def test_an_error_of_a_driver_of_others_is_shown_as_ours_are(installation: Installation, tmp_path: Path) -> None:
    done = installation.bench("run", "--dataset", "acme:winter", cwd=tmp_path)
    assert done.returncode == 2
    assert "acme has no test set 'winter'; there is only 'acme'" in done.stderr
