from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import psutil
import pytest

from trialbed import evaluate, open_store
from trialbed.cli import main
from trialbed.errors import ApiRefused, NothingMeasured, UsageError
from trialbed.records import Query
from trialbed_pages.report import run_report
from trialbed_plugins.datasets.tau2 import driver
from trialbed_plugins.datasets.tau2.driver import Tau2Driver, TauEnvironment
from trialbed_scripted import call, say, serve


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
    names = ["retail", "retail-scripted", "telecom", "telecom-scripted"]
    assert found.import_folder(checkout, data_dir) == found.test_sets(data_dir) == names
    assert [path.name for path in data_dir.rglob("*") if path.is_file()] == ["package.txt"]
    with pytest.raises(UsageError, match=r"tau2:airline needs .*db\.json, which is missing"):
        found.open("airline", data_dir)
    with pytest.raises(UsageError, match="and no 'banking_knowledge': the agents of banking_knowledge search"):
        found.open("banking_knowledge", data_dir)
    (checkout / "data/tau2/domains/telecom/tasks.json").unlink()
    with pytest.raises(UsageError, match=r"tau2:telecom-scripted needs .*tasks\.json, which is missing"):
        found.open("telecom-scripted", data_dir)


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
    (checkout / "data").rename(checkout / "moved")
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


MET, UNMET = {"checks": "as expected"}, "assert_engine {'engine': 'on'} is not True"
STARTED, FILLED = "start_engine {} [engine: on, oil: 1", 'fill_oil {"litres": 2} [engine: off, oil: 2'


@pytest.mark.parametrize(
    ("policy", "solved", "user_calls"),
    [
        ("gold", [1, 1, 1], [[STARTED], [FILLED, "start_engine {} [engine: on, oil: 2"], [STARTED]]),
        ("partial", [1, 0, 1], [[STARTED], [FILLED, "start_engine {} [engine: on, oil: 2"], [STARTED]]),
        ("wrong-args", [0, 0, 0], [[], [], []]),
        ("none", [0, 0, 0], [[], [], []]),
    ],
)
def test_a_scripted_user_acts_when_the_agent_asks_for_it(
    tau2_driver: Tau2Driver, policy: str, solved: list[int], user_calls: list[list[str]]
) -> None:
    report = evaluate("reference", "tau2:telecom-scripted", model=f"scripted:{policy}", progress=False)
    found = sorted(report.trials(), key=lambda trial: str(trial.key.query_id))
    made = [[call for turn in trial.wire.turns for call in turn.user_calls] for trial in found]
    texts = [[f"{one.api.api_name} {json.dumps(one.arguments)} {one.response}" for one in calls] for calls in made]
    assert texts == user_calls
    assert [trial.score("sopr_score").value for trial in found] == solved


def test_what_the_user_did_is_shown(tau2_driver: Tau2Driver, capsys: pytest.CaptureFixture[str]) -> None:
    report = evaluate("reference", "tau2:telecom-scripted", query_ids=["0", "1"], progress=False)
    first, second = sorted(report.trials(), key=lambda trial: str(trial.key.query_id))
    assert [turn.text for turn in first.wire.turns] == [
        "You want a boat.",
        "Done: start engine. [engine: on, oil: 1",
    ]
    assert [turn.why for turn in second.wire.turns] == ["goal", "asked to fill oil", "asked to start engine"]
    assert second.wire.turns[0].answer == 'Noted. Please do this: fill_oil {"litres": 2}.'
    assert second.wire.turns[-1].end == "goal reached"
    assert second.score("final_state").detail["found"] == MET
    assert main(["show", report.run.run_id, "reference/1"]) == 0
    shown = capsys.readouterr().out
    assert '  expected of the user: user/fill_oil {"litres": 2}\n' in shown
    assert '  the user: fill_oil {"litres": 2} → [engine: off, oil: 2\n' in shown
    with open_store() as store:
        page = run_report(store.run(report.run.run_id))
    assert "The user: start_engine → [engine: on, oil: 1" in page


def test_a_tool_of_the_user_can_fail(tau2_driver: Tau2Driver, checkout: Path) -> None:
    file = checkout / "data/tau2/domains/telecom/tasks.json"
    file.write_text(file.read_text().replace('"litres": 2', '"litres": 0'))
    report = evaluate("reference", "tau2:telecom-scripted", query_ids=["1"], progress=False)
    (trial,) = report.trials()
    assert trial.wire.turns[1].user_calls[0].error == "Error: ValueError('there is no oil')"
    assert trial.wire.turns[2].text == "Done: start engine. Error: ValueError('there is no oil')"
    found = {"checks": "not as expected", "differences": [UNMET]}
    assert trial.score("final_state").detail["found"] == found


def test_an_agent_has_no_access_to_the_tools_of_the_user(tau2_driver: Tau2Driver) -> None:
    def agent(query: str, server_url: str, history: list[dict[str, str]]) -> str:
        fields = {"category": "telecom", "tool_name": "user", "api_name": "start_engine", "tool_input": "{}"}
        reply = httpx.post(server_url, json={**fields, "strip": "", "toolbench_key": ""})
        return str(reply.json())

    report = evaluate(agent, "tau2:telecom-scripted", query_ids=["0"], progress=False)
    (trial,) = report.trials()
    assert trial.score("sopr_score").value == 0
    assert trial.score("final_state").detail["found"] == {"checks": "not as expected", "differences": [UNMET]}


def test_a_model_that_plays_the_user_has_the_tools_of_the_user(tau2_driver: Tau2Driver) -> None:
    prompts: list[str] = []
    replies = [
        {"message": "", "done": False, "call": "look", "arguments": "{}"},
        {"message": "", "done": False, "call": "sing", "arguments": "{}"},
        {"message": "", "done": False, "call": "start_engine", "arguments": '{"litres": 3}'},
        {"message": "It runs.", "done": True, "call": "", "arguments": ""},
    ]

    def play(request: Any) -> Any:
        prompts.append(request.document["messages"][1]["content"])
        return say(json.dumps(replies[len(prompts) - 1]))

    with serve(play) as server:
        given = {"model": "scripted:gold", "user_model": "customer", "base_url": server.url, "progress": False}
        report = evaluate("reference", "tau2:telecom", query_ids=["0"], **given)
    (trial,) = report.trials()
    assert [call.api.api_name for call in trial.wire.turns[0].user_calls] == ["look", "start_engine"]
    assert [turn.text for turn in trial.wire.turns] == ["Hello, I need your help with something.", "It runs."]
    assert trial.score("sopr_score").value == 1
    assert '{"name": "fill_oil", "description": "fill_oil.", "parameters": {"type": "object"' in prompts[0]
    assert "Assistant: Noted. Please do this: start_engine.\nYou used look {}: [engine: off, oil: 1" in prompts[1]
    assert prompts[3].count("You used ") == 2
    assert not any("engine: " in call.request for call in trial.wire.model_calls)
    assert [(use.role, use.requests) for use in report.run.helpers] == [("user", 4)]


def test_a_model_that_plays_the_user_uses_few_tools_before_it_writes(tau2_driver: Tau2Driver) -> None:
    def play(request: Any) -> Any:
        prompt = request.document["messages"][1]["content"]
        reply = {"message": "I looked.", "done": True}
        return say(json.dumps({**reply, "call": "look", "arguments": "{}"} if "Your tools" in prompt else reply))

    with serve(play) as server:
        given = {"model": "scripted:gold", "user_model": "customer", "base_url": server.url, "progress": False}
        report = evaluate("reference", "tau2:telecom", query_ids=["0"], **given)
    (trial,) = report.trials()
    assert [len(turn.user_calls) for turn in trial.wire.turns] == [10, 0]
    assert trial.wire.turns[1].text == "I looked."


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
