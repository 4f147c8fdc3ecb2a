"""Tasks in which the user writes several messages."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest
from support.evaluation import trials

from trialbed import Answer, BaseAgent, Expect, Task, Turn, UsageError, User, call, evaluate
from trialbed.cli import main
from trialbed.tasks import compile_tasks
from trialbed_tasks.reading import read_tasks

ORDER = {"id": 7, "item": "teapot", "price": "25 euros"}

SHOP = '''
from trialbed import tool


@tool
class Shop:
    """A shop."""

    def __init__(self):
        self.refunded = []

    def find_order(self, id: int) -> dict:
        """Find an order."""
        return {"id": id, "item": "teapot", "price": "25 euros"}

    def refund(self, id: int) -> str:
        """Refund an order."""
        self.refunded.append(id)
        return "done"

    def state(self):
        return {"refunded": self.refunded}
'''

YAML = """
tools: shop.py
tasks:
  - id: refund
    turns:
      - Hello, my order number is 7.
      - user: How much did it cost?
        expect: {facts: 25 euros, calls: [find_order: {id: 7}]}
      - user: And refund it, please.
        expect: {calls: [refund: {id: 7}]}
      - user: Which order was that?
        expect: "7"
    policy: Refund no order twice.
    expect: {state: {refunded: [7]}}
"""


class Shop:
    """A shop."""

    def __init__(self) -> None:
        self.refunded: list[int] = []

    def find_order(self, id: int) -> dict[str, Any]:  # noqa: A002 - the model's word
        """Find an order."""
        return {**ORDER, "id": id}

    def refund(self, id: int) -> str:  # noqa: A002 - the model's word
        """Refund an order."""
        self.refunded.append(id)
        return "done"

    def state(self) -> dict[str, Any]:
        """The state."""
        return {"refunded": self.refunded}


TASK = Task(
    id="refund",
    turns=[
        "Hello, my order number is 7.",
        Turn("How much did it cost?", expect="25 euros", calls=[call("find_order", id=7)]),
        Turn("And refund it, please.", calls=[call("refund", id=7)]),
        Turn("Which order was that?", expect="7"),
    ],
    tools=[Shop],
    expect=Expect(state={"refunded": [7]}),
    policy="Refund no order twice.",
)
HASTY = Task(
    turns=[
        Turn("Can order 7 be refunded?", expect=Expect(never=["refund"])),
        Turn("Then refund it.", calls=[call("refund", id=7)]),
    ],
    tools=[Shop],
)


def chat(messages: list[dict[str, Any]], base_url: str, model: str, tools: Any) -> str:
    """Ask the model and make its calls, until it answers in text."""
    by_name = {tool.name: tool for tool in tools}
    while True:
        body = {"model": model, "messages": messages, "tools": [tool.as_openai() for tool in tools]}
        found = httpx.post(f"{base_url}/chat/completions", json=body).raise_for_status().json()
        message = found["choices"][0]["message"]
        messages.append(message)
        if not message.get("tool_calls"):
            return str(message["content"])
        for made in message["tool_calls"]:
            result = by_name[made["function"]["name"]].text(json.loads(made["function"]["arguments"]))
            messages.append({"role": "tool", "tool_call_id": made["id"], "content": result})


def remembering(query: str, history: list[dict[str, str]], base_url: str, model: str, tools: Any) -> str:
    """Send the texts of all turns before this one."""
    return chat([*history, {"role": "user", "content": query}], base_url, model, tools)


def forgetting(query: str, history: list[dict[str, str]], base_url: str, model: str, tools: Any) -> str:
    """Send this turn and the one before it."""
    return chat([*history[-2:], {"role": "user", "content": query}], base_url, model, tools)


def keeping_three(query: str, history: list[dict[str, str]], base_url: str, model: str, tools: Any) -> str:
    """Send this turn and the three before it."""
    return chat([*history[-6:], {"role": "user", "content": query}], base_url, model, tools)


class Counting:
    """Made anew for each trial, it counts the messages that it gets."""

    def __init__(self) -> None:
        self.seen = 0

    def answer(self, query: str) -> str:
        """Return how many messages there were."""
        self.seen += 1
        return f"{self.seen}: {query}"


class SingleTurn(BaseAgent):
    """An adapter that can only be asked once."""

    contract = "3"

    async def answer(self, query: str) -> Answer:
        """Answer."""
        return Answer(final_answer=query)


def unmet(trial: Any) -> list[str]:
    """Name the expectations that a trial does not meet."""
    return [one["text"] for one in trial.score("sopr_score").detail["expectations"] if not one["met"]]


def test_the_reference_remembers_in_every_dialect() -> None:
    evaluate(["reference", "reference-messages", "reference-responses"], [TASK], model="scripted:gold", progress=False)
    for trial in trials():
        assert trial.score("sopr_score").value == 1, unmet(trial)
        said = [turn.answer for turn in trial.wire.turns]
        assert trial.wire.turns[0].text == "Hello, my order number is 7."
        assert "25 euros" in said[1]
        assert said[3] == "7." == trial.outcome.answer.final_answer
        assert len(trial.outcome.answer.calls) == 2
        assert trial.outcome.answer.model_turns == len(trial.wire.model_calls) == 6
        assert "Refund no order twice." in trial.wire.model_calls[0].request


def test_a_function_gets_the_history_and_what_it_forgets_is_lost() -> None:
    evaluate([remembering, forgetting], [TASK], model="scripted:gold", progress=False)
    found = {trial.key.framework: trial for trial in trials()}
    assert unmet(found["remembering"]) == []
    assert unmet(found["forgetting"]) == ["turn 4"]
    assert found["forgetting"].wire.turns[3].answer == "Noted."
    values = {name: [trial.score(key).value for key in ("turns_solved", "remembered")] for name, trial in found.items()}
    # The price that turn 2 asks for comes from its own call; 7 is needed in turns 2 to 4.
    assert values == {"remembering": [1, 1], "forgetting": [0.75, 2 / 3]}
    assert found["forgetting"].score("remembered").detail["reason"] == "turn 4: '7': not remembered"
    assert found["remembering"].score("history_kept").value == 0  # the results of tools
    assert found["forgetting"].score("tokens_at_turn_3").value < found["remembering"].score("tokens_at_turn_3").value


def test_a_call_is_lost_by_the_framework_that_forgot_its_argument(capsys: pytest.CaptureFixture[str]) -> None:
    turns = [*TASK.turns[:2], "Nice weather.", *TASK.turns[2:]]  # type: ignore[index] # a list
    evaluate({"mine": forgetting}, [replace(TASK, turns=turns)], model="scripted:gold", progress=False)
    (trial,) = trials()
    refund = trial.gold_calls[1]
    assert (refund.lost, trial.gold_calls[0].lost) == ("not called", None)
    assert refund.reason.startswith("the fact was no longer in the request: '7' is in request 3 (user: Hello")
    assert main(["show", "latest", "mine/refund"]) == 0
    shown = capsys.readouterr().out
    dropped = "4 of 6 messages dropped (first: user: Hello, my order number is 7.); 1 tool result gone"
    assert f"turn 3: the task's policy was not sent; {dropped}" in shown
    assert "seen in: request 3, request 5" in shown
    assert main(["show", "latest"]) == 0
    assert "history kept" in capsys.readouterr().out


def hasty(query: str, history: list[dict[str, str]], functions: Any) -> str:
    """Refund whatever is asked."""
    for function in functions:
        if function.__name__ == "refund" and not history:
            function(id=7)
    return f"Done: {query}"


def test_a_call_that_a_message_forbids_is_against_the_policy() -> None:
    evaluate([hasty, remembering], [HASTY], model="scripted:gold", progress=False)
    found = {trial.key.framework: trial for trial in trials()}
    names = ("turns_solved", "remembered", "policy_kept")
    values = {name: [trial.score(key).value for key in names] for name, trial in found.items()}
    assert values == {"hasty": [0, 0, 0], "remembering": [1, 1, 1]}
    assert found["hasty"].score("policy_kept").detail["reason"] == "refund: called against the policy"


def test_what_a_user_said_is_forgotten_by_the_framework() -> None:
    class Desk:
        """A desk."""

        def rename(self, id: int, name: str) -> str:  # noqa: A002 - the model's word
            """Rename an order."""
            return f"{id}: {name}"

    task = Task(
        user=User("Rename it.", knows={"id": 7, "name": "Ann"}), tools=[Desk], calls=[call("rename", id=7, name="Ann")]
    )

    def once(query: str, history: list[dict[str, str]], base_url: str, model: str, tools: Any) -> str:
        return forgetting(query, [], base_url, model, tools)

    evaluate({"once": once, "kept": remembering}, [task], model="scripted:gold", progress=False)
    found = {trial.key.framework: trial for trial in trials()}
    assert found["once"].gold_calls[0].reason.startswith("the fact was no longer in the request: ")
    assert {name: trial.score("remembered").value for name, trial in found.items()} == {"once": 0, "kept": 1}


def prompted(query: str, base_url: str, model: str, tools: Any, system_prompt: str, history: list[Any]) -> str:
    """Send the system prompt and the message alone."""
    return chat(
        [{"role": "system", "content": system_prompt}, {"role": "user", "content": query}], base_url, model, tools
    )


def test_a_policy_that_was_not_sent_or_shows_the_value_is_not_measured() -> None:
    turns = ["My order is 7.", Turn("Refund it.", calls=[call("refund", id=7)])]
    task = Task(turns=turns, tools=[Shop], policy="Refunds take 7 days.", expect=Expect(never=["find_order"]))
    evaluate([prompted, remembering], [task], model="scripted:gold", progress=False)
    found = {trial.key.framework: trial for trial in trials()}
    names = ("sopr_score", "remembered", "policy_kept", "history_kept")
    values = {name: [(one := trial.score(key)) and one.value for key in names] for name, trial in found.items()}
    assert values == {"prompted": [1, None, 1, 0], "remembering": [1, 1, None, 0]}


def claiming(query: str, history: list[dict[str, str]]) -> str:
    """Ask no model and call nothing."""
    return f"7 is refunded: {query}"


def test_what_is_not_observed_has_no_score() -> None:
    task = replace(HASTY, turns=[*HASTY.turns, Turn("Do it.", calls=[call("refund", id=7)])])  # type: ignore[misc] # a list
    evaluate([claiming], [task], model="scripted:gold", progress=False)
    (trial,) = trials()
    known = [trial.score(name) for name in ("remembered", "policy_kept", "tokens_at_turn_1", "tokens_at_last_turn")]
    assert known == [None] * 4


def test_a_call_that_an_earlier_turn_made_too_keeps_its_place() -> None:
    again = Expect(calls=[call("find_order", id=7), call("refund", id=8)], in_order=True)
    turns = [
        Turn("What is order 7?", calls=[call("find_order", id=7)]),
        Turn("Look again, and refund order 8.", expect=again),
    ]
    evaluate("reference", [Task(turns=turns, tools=[Shop])], model="scripted:parallel", progress=False)
    (trial,) = trials()
    assert unmet(trial) == []


CASES = {"none": [2, 3, 4], "wrong-args": [2, 3, 4], "extra": [], "parallel": []}


@pytest.mark.parametrize(("policy", "missed"), CASES.items())
def test_each_turn_has_its_own_expectations(policy: str, missed: list[int]) -> None:
    evaluate("reference", [TASK], model=f"scripted:{policy}", progress=False)
    (trial,) = trials()
    assert [f"turn {number}" for number in missed] == [name for name in unmet(trial) if name.startswith("turn")]


def test_a_class_is_asked_again_and_the_limit_counts_for_each_message() -> None:
    task = Task(turns=["one", "two", "three"], expect="3: three")
    evaluate(Counting, [task], model="scripted:gold", progress=False)
    (trial,) = trials()
    assert trial.score("sopr_score").value == 1
    evaluate("reference", [TASK], model="scripted:gold", max_steps=2, progress=False)
    assert trials()[0].score("sopr_score").value == 1


class Keeping:
    """Keeps its messages."""

    def __init__(self) -> None:
        self.messages: list[dict[str, Any]] = []

    def answer(self, query: str, base_url: str, model: str, tools: Any) -> str:
        """Send all messages."""
        self.messages.append({"role": "user", "content": query})
        return chat(self.messages, base_url, model, tools)


class Told(Keeping):
    """Begins again with its examples where the history is empty."""

    def answer(self, query: str, base_url: str, model: str, tools: Any, history: Any = ()) -> str:
        """Send the examples, and all messages of this conversation."""
        if not history:
            self.messages = [{"role": "user", "content": "Hi."}, {"role": "assistant", "content": "Noted."}]
        return super().answer(query, base_url, model, tools)


def test_an_object_that_keeps_an_earlier_conversation_fails() -> None:
    tasks = [replace(TASK, id=name, turns=[name, "Hi.", *TASK.turns]) for name in ("One.", "Two.")]  # type: ignore[misc] # a list
    evaluate({"kept": Keeping(), "class": Keeping, "told": Told()}, tasks, model="scripted:gold", progress=False)
    found = {(trial.key.framework, trial.key.query_id): trial for trial in trials()}
    (failed,) = (key for key, trial in found.items() if trial.outcome.failure)
    assert failed[0] == "kept"
    assert {trial.score("sopr_score").value for key, trial in found.items() if key != failed} == {1}
    failure, (begin,) = found[failed].outcome.failure, {"One.", "Two."} - {failed[1]}
    assert failure.kind == "agent"
    assert failure.message.startswith(f"request 1 has 14 messages of an earlier conversation (first: user: {begin})")


def test_a_turn_that_the_step_limit_ended_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    task = replace(TASK, turns=[*TASK.turns[:1], *TASK.turns])  # type: ignore[index] # a list
    evaluate("reference", [task], model="scripted:gold", max_steps=1, progress=False)
    (trial,) = trials()
    assert [turn.at_limit for turn in trial.wire.turns] == [False, False, True, True, False]
    assert trial.score("sopr_score").detail["reason"].endswith("turns 3, 4 ended at the limit of requests (max_steps)")
    find, refund = trial.gold_calls
    assert find.reason.endswith("in a later call: turn 3 ended at the limit of requests (max_steps)")
    assert refund.reason.endswith("in a later call: turn 4 ended at the limit of requests (max_steps)")
    assert main(["show", "latest", "reference/refund"]) == 0
    assert "turn 3: all 4 messages kept; ended at the limit of requests (max_steps); " in capsys.readouterr().out


def test_an_agent_that_can_be_asked_once_is_refused() -> None:
    for agent in (SingleTurn, lambda query: query):
        with pytest.raises(UsageError, match=r"task refund has 4 messages of the user, and .* can only be asked once"):
            evaluate({"mine": agent}, [TASK], model="scripted:gold", progress=False)


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"text": "Hi", "turns": ["Hi"]}, "give it a text or turns, not both"),
        ({"turns": ["Hi", 3]}, "turns: .* is not a list of texts and Turn"),
        ({"turns": [Turn("Hi", expect=Expect(state=1))]}, "turn 1: give the state"),
        ({"turns": [Turn("Hi", calls=["refund"])], "calls": ["refund"]}, "to the turns or to the task, not to both"),
        ({"turns": ["Hi", "Bye", "?"], "lengths": [2, 5]}, "lengths: .* is not a list of different numbers from 3 to"),
        ({"turns": ["Hi"] * 1001}, "turns: 1,001 messages; a task has at most 1,000"),
    ],
)
def test_malformed_turns_are_named(given: dict[str, Any], says: str) -> None:
    with pytest.raises(UsageError, match=says):
        compile_tasks([Task(**given, tools=[Shop])])


def test_a_task_of_several_lengths_has_small_talk_before_the_last_message(tmp_path: Path) -> None:
    task = replace(TASK, lengths=[4, 10, 60], tags=["order"])
    own, ten, _ = queries = compile_tasks([task]).queries
    (whole,) = compile_tasks([TASK]).queries
    assert [(query.query_id, len(query.turns), query.tags) for query in queries] == [
        (f"refund-turns-{number}", number, ("order", f"{number} turns")) for number in (4, 10, 60)
    ]
    assert (own.turns, own.expected) == (whole.turns, whole.expected)
    assert (*ten.turns[:3], ten.turns[-1]) == whole.turns
    talk = ten.turns[3:-1]
    assert len({turn.text for turn in talk}) == 6
    assert not any(turn.calls or turn.facts for turn in talk)
    assert ten.expected is not None
    assert [test.turn for test in ten.expected.tests] == [2, 3, 10]
    evaluate(["reference", keeping_three], [task], model="scripted:gold", progress=False)
    found = {
        f"{trial.key.framework}/{trial.key.query_id}": [
            trial.score(name).value for name in ("sopr_score", "history_kept")
        ]
        for trial in trials()
    }
    assert found == {
        **{f"reference/refund-turns-{number}": [1, 1] for number in (4, 10, 60)},
        **{f"keeping_three/refund-turns-{number}": [number == 4, 0] for number in (4, 10, 60)},
    }
    (tmp_path / "shop.py").write_text(SHOP)
    (tmp_path / "tasks.yaml").write_text(YAML.replace("    turns:", "    lengths: [4, 10, 60]\n    turns:"))
    found = read_tasks(tmp_path / "tasks.yaml").queries()
    assert [query.turns for query in found] == [query.turns for query in queries]


PROGRAM = """
import json
import sys
import urllib.request


def post(url, body):
    request = urllib.request.Request(url, json.dumps(body).encode(), {"Content-Type": "application/json"})
    return json.load(urllib.request.urlopen(request))


def chat(messages, base_url, model, tools, tools_url):
    offered = [
        {"type": "function", "function": {key: tool[key] for key in ("name", "description", "parameters")}}
        for tool in tools
    ]
    while True:
        body = {"model": model, "messages": messages, "tools": offered}
        message = post(f"{base_url}/chat/completions", body)["choices"][0]["message"]
        messages.append(message)
        if not message.get("tool_calls"):
            return message["content"]
        for made in message["tool_calls"]:
            called = made["function"]
            api = next(tool["api"] for tool in tools if tool["name"] == called["name"])
            given = {**api, "tool_input": called["arguments"], "strip": "", "toolbench_key": ""}
            result = json.dumps(post(tools_url, given))
            messages.append({"role": "tool", "tool_call_id": made["id"], "content": result})


def plain(tools):
    names = ("name", "description", "parameters")
    return [{**{name: getattr(tool, name) for name in names}, "api": tool.api.model_dump()} for tool in tools]


def remembering(query, history, base_url, model, tools, server_url):
    return chat([*history, {"role": "user", "content": query}], base_url, model, plain(tools), server_url)


def once(query, base_url, model, tools, server_url):
    return remembering(query, [], base_url, model, tools, server_url)


if __name__ == "__main__":
    print("started", file=sys.stderr)
    task, messages = json.loads(sys.stdin.readline()), []
    message = task
    while message:
        messages.append({"role": "user", "content": message["query"]})
        endpoint = task["endpoint"]
        said = chat(messages, endpoint["base_url"], endpoint["model"], task["tools"], task["tools_url"])
        print(json.dumps({"final_answer": said}), flush=True)
        message = json.loads(sys.stdin.readline() or "null")
    sys.exit("too late" if sys.argv[1:] else 0)
"""


def test_a_program_and_a_function_of_a_file_are_asked_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("agent.py").write_text(PROGRAM)
    Path("shop.py").write_text(SHOP)
    Path("tasks.yaml").write_text(YAML)
    agents = ["--command", f"{sys.executable} agent.py", "-f", "agent.py:remembering"]
    rest = ["--dataset", "tasks.yaml", "--model", "scripted:gold"]
    assert main(["run", *agents, "-f", "agent.py:once", *rest]) == 2
    assert "agent.once can only be asked once" in " ".join(capsys.readouterr().err.split())
    late = f"late={sys.executable} agent.py late"
    assert main(["run", *agents, "--command", late, *rest]) == 0
    found = {trial.key.framework: trial for trial in trials()}
    assert [unmet(found["agent"]), unmet(found["agent.remembering"])] == [[], []]
    assert [turn.answer for turn in found["agent"].wire.turns][3] == "7."
    outcome = found["late"].outcome
    assert (outcome.failure.kind, outcome.answer.final_answer) == ("agent", "7.")
    assert outcome.failure.message.endswith("agent.py late ended with exit code 1: too late")
