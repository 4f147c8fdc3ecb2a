from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import psutil
import pytest

from trialbed import evaluate
from trialbed.errors import ApiRefused, NothingMeasured, UsageError
from trialbed.records import Query
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


def test_a_task_is_a_conversation(tau2_driver: Tau2Driver, data_dir: Path, caplog: pytest.LogCaptureFixture) -> None:
    first, second, third = tau2_driver.open("retail", data_dir).queries()
    assert caplog.messages == ["tau2:retail: skipped, because they are graded in other ways: 3"]
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
