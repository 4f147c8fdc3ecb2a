"""``evaluate``: settings of an evaluation, and what is refused before anything runs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from support.cases import for_each
from support.evaluation import about, counting, population

from trialbed import (
    Query,
    Setup,
    Task,
    evaluate,
    open_store,
    scorer,
)
from trialbed.errors import EnvironmentFailed, SettingsError, UsageError
from trialbed_plugins.frameworks.reference import ReferenceAgent


def test_settings_come_from_keywords_variables_and_the_file_in_this_order(monkeypatch: pytest.MonkeyPatch) -> None:
    Path("bench.toml").write_text('[run]\nrepeat = 2\nseed = 5\nmodel = "scripted:none"\ntag = ["file"]\n')
    monkeypatch.setenv("TRIALBED_SEED", "6")
    monkeypatch.setenv("TRIALBED_TAG", "one two")
    report = evaluate(counting, [about("Paris")], repeat=1)
    config = report.run.config
    assert (config.repeat, config.seed, config.models, report.run.tags) == (1, 6, ("scripted:none",), ("one", "two"))
    monkeypatch.setenv("TRIALBED_SEED", "six")
    with pytest.raises(SettingsError, match="TRIALBED_SEED: 'six' is not a valid integer"):
        evaluate(counting, [about("Paris")])


def test_progress_is_shown_where_it_is_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    evaluate(counting, [about("Paris")])
    assert capsys.readouterr().err == ""
    report = evaluate(counting, [about("Paris")], progress=True)
    assert capsys.readouterr().err.startswith(f"run {report.run.run_id}: 1 trial\n[1/1]")


def test_environments_are_built_where_that_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    async def provide(store: Any, requests: Any) -> dict[str, Any]:
        asked.extend(request.framework.text for request in requests)
        raise EnvironmentFailed("not here")

    monkeypatch.setattr("trialbed.environments.provide", provide)
    monkeypatch.setenv("TRIALBED_ENV_DIR", "environments")
    agents = ["crewai==0.0.1", "crewai:controlled==0.0.1"]
    with pytest.raises(EnvironmentFailed, match=r"crewai==0.0.1 is not installed here: build an environment"):
        evaluate(agents, Task("?"))
    with pytest.raises(EnvironmentFailed, match="not here"):
        evaluate(agents, Task("?"), build=True)
    monkeypatch.setenv("TRIALBED_YES", "true")
    with pytest.raises(EnvironmentFailed, match="not here"):
        evaluate(agents, Task("?"))
    assert set(asked) == {"crewai==0.0.1"}


def test_a_dataset_by_its_name_and_a_sweep() -> None:
    for model in ("scripted:gold", "scripted:none"):
        evaluate(["reference"], "mini", model=model, query_ids=[1])
    with open_store() as store:
        models = [run.config.models[0] for run in store.runs()]
    assert models == ["scripted:none", "scripted:gold"]


def test_changed_code_is_a_new_run_and_the_same_code_goes_on() -> None:
    def first(query: str) -> str:
        raise ValueError

    evaluate({"mine": first}, Task("?"))
    with open_store() as store:
        before = store.run("latest").config
    evaluate({"mine": counting}, Task("?"))
    with open_store() as store:
        after = store.run("latest").config
    assert before.code_digest != after.code_digest
    assert before.dataset_digest == after.dataset_digest


@for_each(
    ("given", "says"),
    [
        ({"repat": 2}, r"evaluate: unknown setting 'repat'; did you mean 'repeat'\?"),
        ({"model": ["scripted:gold", counting]}, "model: give several by name; an object is the only model of a run"),
        ({"judge": "rul"}, "did you mean 'rule'"),
        ({"judge": Query}, "judge: .* is not a judge"),
        ({"scorers": [3]}, r"scorers: 3 is neither a function nor an object with score_trial"),
        ({"scorers": [scorer(counting), counting]}, "scorers: two are called 'counting'"),
        ({"agents": [counting, counting]}, "agents: two are called 'counting'; give them names"),
        ({"agents": []}, "agents: there are none"),
        ({"agents": {"mine": 3}}, "mine: int is not an agent"),
        ({"agents": {"mine": lambda query, secret: ""}}, "mine: unknown parameter 'secret'"),
        ({"system_prompt": " "}, "system_prompt: ' ' is empty"),
        ({"system_prompt": "promt.txt"}, "system_prompt: promt.txt: cannot be read: .*No such file"),
        (
            {"system_prompt": ["Be brief.", "Be long."]},
            "never: the agent takes no system_prompt, so the prompt is not sent",
        ),
        ({"agents": "lang-graph"}, "did you mean 'langgraph'"),
        ({"tasks": ["What?"]}, r"tasks: 'What\?' is not a task; write Task\('What\?', …\)"),
        ({"agents": {"": counting}}, "agents: '' cannot be an agent's name"),
        ({"agents": {None: counting}}, "agents: None cannot be an agent's name"),
        ({"tasks": None}, "tasks: None was given; leave tasks out to run the dataset of the settings"),
        ({"tasks": []}, "tasks: there are none"),
        ({"tasks": [Task("?", tools=[3])]}, "task 1: 3 is not a tool"),
        (
            {"tasks": [Task("?", tools=[population], calls=["poplation"])]},
            "no tool 'poplation'; did you mean 'population'",
        ),
        ({"tasks": [Task("?", tools=[lambda x, /: x])]}, "cannot be a tool"),
        ({"tasks": [Task("?", tools=[print])]}, r"print cannot be a tool: .* arguments$"),
        ({"tasks": "mni"}, "did you mean 'mini'"),
        ({"sandbox": True}, "cannot be put into a sandbox"),
        ({"server_url": "http://127.0.0.1:9", "tasks": [Task("?", tools=[population])]}, "leave out server_url"),
    ],
)
def test_what_is_wrong_is_said_before_anything_runs(given: dict[str, Any], says: str) -> None:
    def never(query: str) -> str:
        raise AssertionError("must not be asked")

    asked = {"agents": never, "tasks": [Task("?")], **given}
    with pytest.raises(Exception, match=says) as raised:
        evaluate(**asked)
    assert getattr(raised.value, "exit_code", None) in (2, 3)


async def test_inside_an_event_loop_the_other_form_is_named() -> None:
    with pytest.raises(UsageError, match="await aevaluate"):
        evaluate(counting, Task("?"))


def test_prompts_reach_the_agents_and_columns_have_names_of_their_own() -> None:
    Path("terse.txt").write_text("Be brief.")
    agents = {"mine": "reference", "hot": Setup("reference", temperature=0.7), "told": Setup(tell, "Tell it.")}
    report = evaluate(agents, "mini", limit=1, system_prompt=["You are a desk.", "terse.txt"])
    found = {}
    for trial in report.trials():
        sent = [json.loads(call.request) for call in trial.wire.model_calls[:1]]
        said = trial.outcome.answer.final_answer if trial.outcome.answer else ""
        found[trial.key.framework] = [(one["messages"][0]["content"], one["temperature"]) for one in sent] or said
    assert found == {
        "mine@prompt 1": [("You are a desk.", 0.0)],
        "hot@prompt 1": [("You are a desk.", 0.7)],
        "told": "Tell it.",
        "mine@terse": [("Be brief.", 0.0)],
        "hot@terse": [("Be brief.", 0.7)],
    }


def test_a_prompt_that_an_agent_does_not_take_is_named_before_the_run(caplog: pytest.LogCaptureFixture) -> None:
    class Takes:
        def __init__(self, system_prompt: str) -> None:
            self.prompt = system_prompt

        def answer(self, query: str) -> str:
            return self.prompt + query

    agents = {"deaf": counting, "told": tell, "made": Takes, "bound": Takes("Mine."), "adapter": ReferenceAgent}
    evaluate(agents, Task("?"), system_prompt="Be brief.")
    says = "the agent takes no system_prompt, so the prompt is not sent; give it a parameter of this name"
    assert [record.getMessage() for record in caplog.records if "system_prompt" in record.getMessage()] == [
        f"deaf: {says}",
        f"bound: {says}",
    ]
    caplog.clear()
    evaluate(counting, Task("?"))
    assert not caplog.records


def test_a_setup_with_its_own_value_stands_once() -> None:
    told, hot = Setup("reference", system_prompt="Tell it."), Setup("reference", temperature=0.7)
    given = {"system_prompt": ["Be short.", "Be long."], "temperature": [0.0, 1.0]}
    report = evaluate({"told": told, "hot": hot}, "mini", limit=1, **given)
    cells = [cell for cell in report.run.config.cells if cell.framework == "reference"]
    assert sum(cell.system_prompt == "Tell it." for cell in cells) == len(given["temperature"])
    assert sum(cell.temperature == 0.7 for cell in cells) == len(given["system_prompt"])
    assert len(cells) == 4


def tell(query: str, system_prompt: str) -> str:
    return system_prompt
