"""``evaluate``: settings of an evaluation, and what is refused before anything runs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from support.cases import for_each
from support.evaluation import about, counting, population

from trialbed import Setup, Task, evaluate, scorer
from trialbed.errors import SettingsError, UsageError
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


@for_each(
    ("given", "says"),
    [
        ({"repat": 2}, r"evaluate: unknown setting 'repat'; did you mean 'repeat'\?"),
        (
            {"model": ["scripted:gold", counting]},
            "model: give several by name; a model that is an object must be the only one",
        ),
        ({"judge": "rul"}, "did you mean 'rule'"),
        ({"scorers": [3]}, r"scorers: 3 is neither a function nor an object with score_trial"),
        ({"scorers": [scorer(counting), counting]}, "scorers: two are called 'counting'"),
        ({"agents": [counting, counting]}, "agents: two are called 'counting'; give them names"),
        ({"agents": {"mine": 3}}, "mine: int is not an agent"),
        ({"agents": {"mine": lambda query, secret: ""}}, "mine: unknown parameter 'secret'"),
        ({"agents": "lang-graph"}, "did you mean 'langgraph'"),
        ({"tasks": ["What?"]}, r"tasks: 'What\?' is not a task; write Task\('What\?', …\)"),
        ({"agents": {"": counting}}, "agents: '' cannot be an agent's name"),
        ({"agents": {None: counting}}, "agents: None cannot be an agent's name"),
        ({"tasks": [Task("?", tools=[3])]}, "task 1: 3 is not a tool"),
        (
            {"tasks": [Task("?", tools=[population], calls=["poplation"])]},
            "no tool 'poplation'; did you mean 'population'",
        ),
        ({"tasks": [Task("?", tools=[lambda x, /: x])]}, "cannot be a tool"),
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


def tell(query: str, system_prompt: str) -> str:
    return system_prompt
