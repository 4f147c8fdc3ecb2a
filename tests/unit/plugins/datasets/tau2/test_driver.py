from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from trialbed import evaluate
from trialbed.errors import ApiRefused, NothingMeasured, UsageError
from trialbed.records import Query
from trialbed_plugins.datasets.tau2 import driver
from trialbed_plugins.datasets.tau2.driver import Tau2Driver, TauEnvironment
from trialbed_scripted import call, serve


@pytest.fixture
def tau2_driver(checkout: Path, data_dir: Path) -> Tau2Driver:
    found = Tau2Driver()
    found.import_folder(checkout, data_dir)
    return found


@pytest.fixture
def environment(tau2_driver: Tau2Driver, data_dir: Path) -> Iterator[Callable[[str], TauEnvironment]]:
    body = next(iter(tau2_driver.open(None, data_dir).functions.values()))
    made: list[TauEnvironment] = []

    def make(task: str) -> TauEnvironment:
        made.append(body.make_owner({"task": task}))
        return made[-1]

    yield make
    for one in made:
        one.close()


def test_a_checkout_is_noted_and_not_copied(checkout: Path, data_dir: Path) -> None:
    found = Tau2Driver()
    assert found.test_sets(data_dir) == []
    with pytest.raises(UsageError, match="the dataset 'tau2' needs a checkout of tau2-bench"):
        found.open(None, data_dir)
    assert found.recognises(checkout)
    assert not found.recognises(data_dir)
    assert found.import_folder(checkout, data_dir) == ["retail", "retail-scripted"]
    assert found.test_sets(data_dir) == ["retail", "retail-scripted"]
    assert [path.name for path in data_dir.rglob("*") if path.is_file()] == ["package.txt"]
    with pytest.raises(UsageError, match=r"tau2:airline needs .*db\.json, which is missing"):
        found.open("airline", data_dir)
    with pytest.raises(UsageError, match="and no 'telecom': the users of τ²-bench's other domains have tools"):
        found.open("telecom", data_dir)


def test_the_installed_package_needs_no_import(
    checkout: Path, data_dir: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.syspath_prepend(str(checkout / "src"))
    assert len(Tau2Driver().open("retail", data_dir).queries()) == 3
    (checkout / "data").rename(tmp_path / "moved")
    assert Tau2Driver().test_sets(data_dir) == []
    monkeypatch.setenv("TAU2_DATA_DIR", str(tmp_path / "moved"))
    assert len(Tau2Driver().open("retail", data_dir).queries()) == 3


def test_code_that_cannot_run_is_named(checkout: Path, data_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (checkout / "src/tau2/data_model/message.py").write_text("import package_that_is_missing")
    with pytest.raises(NothingMeasured, match=r"No module named 'package_that_is_missing'; it needs .*`uv sync`"):
        Tau2Driver().import_folder(checkout, data_dir)
    assert not data_dir.exists()
    (checkout / ".venv/bin").mkdir(parents=True)
    (checkout / ".venv/bin/python").write_text("no program")
    with pytest.raises(NothingMeasured, match=r"\.venv/bin/python cannot be started"):
        Tau2Driver().import_folder(checkout, data_dir)
    monkeypatch.setenv("TRIALBED_TAU2_PYTHON", "/bin/false")
    with pytest.raises(NothingMeasured, match=r"retail \(/bin/false\): the process ended, or did not answer"):
        Tau2Driver().import_folder(checkout, data_dir)
    (checkout / "data/tau2/domains/retail/db.json").unlink()
    with pytest.raises(UsageError, match=r"there is no data/tau2/domains/retail/db.json"):
        Tau2Driver().import_folder(checkout, data_dir)


def test_a_task_is_a_conversation(tau2_driver: Tau2Driver, data_dir: Path, caplog: pytest.LogCaptureFixture) -> None:
    first, second, third = tau2_driver.open("retail", data_dir).queries()
    assert caplog.messages == ["tau2:retail: left out, as they are decided in other ways: 3"]
    assert first.policy == "Lend a boat once."
    assert [api.api_name for api in first.apis] == ["find_boat", "lend_boat", "sail"]
    assert first.apis[0].parameters_schema()["title"] == "parameters"
    assert [call.api.api_name for call in first.gold_calls] == ["find_boat", "lend_boat", "lend_boat"]
    assert first.user is not None
    assert (first.user.kind, first.text) == ("model", "Hello, I need your help with something.")
    assert (
        first.user.instructions
        == "Reason for call: You want a boat.\n\nKnown info: You like the gull.\n\nTask instructions: ."
    )
    assert [query.tags for query in (first, second, third)] == [("no judge",), ("test", "no judge"), ("judge",)]
    assert second.reference_facts == ("4",)
    assert third.expected is not None
    assert third.expected.criteria == ("The agent lends no boat.",)


def test_a_scripted_user_knows_the_arguments_that_its_scenario_names(tau2_driver: Tau2Driver, data_dir: Path) -> None:
    first, second, _ = tau2_driver.open("retail-scripted", data_dir).queries()
    assert facts_of(first) == ("You want a boat.", {"boat": "gull"}, "scripted")
    assert facts_of(second) == ("You want a boat.", {}, "scripted")


def facts_of(query: Query) -> tuple[str, dict[str, Any], str]:
    assert query.user is not None
    return query.user.goal, query.user.knows, query.user.kind


def test_the_state_decides(tau2_driver: Tau2Driver, data_dir: Path) -> None:
    models = ["scripted:gold", "scripted:none"]
    report = evaluate("reference", "tau2:retail-scripted", model=models, query_ids=["0", "1"], progress=False)
    found = {
        (trial.key.framework.partition("scripted:")[2], trial.key.query_id): (
            trial.score("sopr_score").value,
            trial.score("final_state").detail["found"],
        )
        for trial in report.trials()
    }
    kept = {"database": "as expected"}
    lent = {"database": "not as expected", "differences": ["boats.gull.lent: 0 instead of 1"]}
    assert found == {
        ("gold", "0"): (1.0, kept),
        ("gold", "1"): (1.0, kept),
        ("none", "0"): (0.0, lent),
        ("none", "1"): (0.0, kept),  # the answer lacks the fact
    }


def test_assertions_need_a_judge(tau2_driver: Tau2Driver) -> None:
    with pytest.raises(UsageError, match="task 2 has criteria, and no model that reads them"):
        evaluate("reference", "tau2:retail-scripted", model="scripted:none", progress=False)


def test_calls_reach_the_domain_as_they_are(
    environment: Callable[[str], TauEnvironment], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "secret")
    made = environment("0")
    assert made.call("find_boat", {"boat": "tern"}) == {"lent": 2, "seats": 4}
    assert made.call("sail", {"boat": "near"}) == "no key"
    for given, error in (({"boat": 7}, "KeyError(7)"), ({}, "missing 1 required"), ({"boat": "\ud800"}, "KeyError")):
        with pytest.raises(ApiRefused, match="Error: ") as refused:
            made.call("lend_boat", given)
        assert error in str(refused.value)


async def test_each_trial_has_an_environment_of_its_own(tau2_driver: Tau2Driver, data_dir: Path) -> None:
    body = next(iter(tau2_driver.open(None, data_dir).functions.values()))
    first, second = body.make_owner({"task": "0"}), body.make_owner({"task": "1"})
    first.call("lend_boat", {"boat": "gull"})
    assert first.state() == second.state() == {"database": "as expected"}
    await body.end_trial(first)
    again = body.make_owner({"task": "0"})
    assert again is first, "its process is used again"
    assert again.state()["differences"] == ["boats.gull.lent: 0 instead of 1"]
    for one in (again, second):
        await body.end_trial(one)
    assert len(bridges()) == 2
    await body.end_run()
    assert bridges() == []


def bridges() -> list[psutil.Process]:
    return [child for child in psutil.Process().children() if any("bridge.py" in word for word in child.cmdline())]


def test_a_call_that_hangs_leaves_its_trial_unmeasured(tau2_driver: Tau2Driver, data_dir: Path) -> None:
    dataset = tau2_driver.open("retail-scripted", data_dir)

    def play(_: Any) -> Any:
        return call("sail", boat="forever")

    given = {"model": "m", "query_ids": ["0"], "timeout": 2.0, "progress": False}
    with serve(play) as server, pytest.raises(NothingMeasured, match=r"failed because of a tool: .* did not return"):
        evaluate("reference", dataset, base_url=server.url, **given)
    assert bridges() == []


@pytest.mark.parametrize("boat", ["away", "forever"])
def test_a_process_that_ends_or_hangs_is_no_answer(
    environment: Callable[[str], TauEnvironment], monkeypatch: pytest.MonkeyPatch, boat: str
) -> None:
    made = environment("0")
    monkeypatch.setattr(driver, "SECONDS", 60.0 if boat == "away" else 0.2)
    with pytest.raises(NothingMeasured, match="the process ended, or did not answer"):
        made.call("sail", {"boat": boat})
    assert not made.is_ready


def test_an_answer_that_is_too_large_is_none(
    environment: Callable[[str], TauEnvironment], monkeypatch: pytest.MonkeyPatch
) -> None:
    made = environment("0")
    monkeypatch.setattr(driver, "LARGEST", 10)
    with pytest.raises(NothingMeasured, match="the process ended, or did not answer"):
        made.call("find_boat", {"boat": json.dumps("tern")})
