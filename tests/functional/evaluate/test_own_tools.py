"""Agents with their own tools, whose calls are read from their requests to the model."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import pytest
from openai import OpenAI

from trialbed import Expect, Task, call, evaluate, open_run

ORDERS = {7: {"item": "lamp", "price": 12.5}}
SCHEMA = {"type": "object", "properties": {"id": {"type": "integer"}}, "required": ["id"]}
NAMES = ("find_order", "refund")


def find_order(id: int) -> dict[str, Any]:  # noqa: A002
    """Find an order."""
    return ORDERS[id]


CLIENTS: list[Any] = []
Client = TypeVar("Client")


def opened(client: Client) -> Client:
    CLIENTS.append(client)
    return client


@pytest.fixture(scope="module", autouse=True)
def closed_clients() -> Iterator[None]:
    yield
    for client in CLIENTS:
        client.close()


def chat(query: str, base_url: str, api_key: str, model: str) -> str:
    """A loop over chat completions with its own tools, as every framework has one."""
    client, messages = opened(OpenAI(base_url=base_url, api_key=api_key)), [{"role": "user", "content": query}]
    tools = [{"type": "function", "function": {"name": name, "parameters": SCHEMA}} for name in NAMES]
    while True:
        said = client.chat.completions.create(model=model, messages=messages, tools=tools).choices[0].message  # type: ignore[call-overload]
        if not said.tool_calls:
            return said.content or ""
        messages.append(said.model_dump(exclude_none=True))
        for asked in said.tool_calls:
            result = json.dumps(find_order(**json.loads(asked.function.arguments)))
            messages.append({"role": "tool", "tool_call_id": asked.id, "content": result})


def responses(query: str, base_url: str, api_key: str, model: str) -> str:
    client, items = opened(OpenAI(base_url=base_url, api_key=api_key)), [{"role": "user", "content": query}]
    tools = [{"type": "function", "name": name, "parameters": SCHEMA} for name in NAMES]
    while True:
        said = client.responses.create(model=model, input=items, tools=tools)  # type: ignore[call-overload]
        calls = [item for item in said.output if item.type == "function_call"]
        if not calls:
            return str(said.output_text)
        for asked in calls:
            result = json.dumps(find_order(**json.loads(asked.arguments)))
            items += [asked.model_dump(), {"type": "function_call_output", "call_id": asked.call_id, "output": result}]


def messages(query: str, endpoint: Any) -> str:
    from anthropic import Anthropic  # takes seconds, in each process that finds the tests

    client, sent = (
        opened(Anthropic(base_url=endpoint.root_url, api_key=endpoint.api_key)),
        [{"role": "user", "content": query}],
    )
    tools = [{"name": name, "input_schema": SCHEMA} for name in NAMES]
    while True:
        said = client.messages.create(model=endpoint.model, max_tokens=100, messages=sent, tools=tools)  # type: ignore[arg-type]
        calls = [block for block in said.content if block.type == "tool_use"]
        if not calls:
            return "".join(getattr(block, "text", "") for block in said.content)
        sent.append({"role": "assistant", "content": [block.model_dump() for block in said.content]})  # type: ignore[dict-item]
        results = []
        for asked in calls:
            failed = asked.input["id"] not in ORDERS  # type: ignore[index]
            told = "no such order" if failed else json.dumps(find_order(**asked.input))  # type: ignore[arg-type]
            results.append({"type": "tool_result", "tool_use_id": asked.id, "content": told, "is_error": failed})
        sent.append({"role": "user", "content": results})  # type: ignore[dict-item]


def ends_with_the_result(query: str, base_url: str, api_key: str, model: str) -> str:
    """Answers with the tool's result, and sends it to no model."""
    tools = [{"type": "function", "function": {"name": name, "parameters": SCHEMA}} for name in NAMES]
    sent = [{"role": "user", "content": query}]
    client = opened(OpenAI(base_url=base_url, api_key=api_key))
    said = client.chat.completions.create(model=model, messages=sent, tools=tools).choices[0].message  # type: ignore[call-overload]
    return json.dumps([find_order(**json.loads(asked.function.arguments)) for asked in said.tool_calls or ()])


def _text(client: OpenAI, model: str, messages: list[Any], **more: Any) -> Any:
    return client.chat.completions.create(model=model, messages=messages, **more).choices[0].message


def writes_results_as_text(query: str, base_url: str, api_key: str, model: str) -> str:
    """Sends the call back as a text of the assistant, and its result as one of the user."""
    client, sent = opened(OpenAI(base_url=base_url, api_key=api_key)), [{"role": "user", "content": query}]
    tools = [{"type": "function", "function": {"name": name, "parameters": SCHEMA}} for name in NAMES]
    while calls := (said := _text(client, model, sent, tools=tools)).tool_calls:
        sent.append({"role": "assistant", "content": f"Calling tools:\n{[call.model_dump() for call in calls]}"})
        results = [json.dumps(find_order(**json.loads(call.function.arguments))) for call in calls]
        sent.append({"role": "user", "content": "Observation:\n" + "\n".join(results)})
    return said.content or ""


def renames_calls(query: str, base_url: str, api_key: str, model: str) -> str:
    """Sends calls and results back with ids of its own."""
    client, sent = opened(OpenAI(base_url=base_url, api_key=api_key)), [{"role": "user", "content": query}]
    tools = [{"type": "function", "function": {"name": name, "parameters": SCHEMA}} for name in NAMES]
    while calls := (said := _text(client, model, sent, tools=tools)).tool_calls:
        renamed = [call.model_dump() | {"id": f"mine{len(sent)}{place}"} for place, call in enumerate(calls)]
        sent.append({"role": "assistant", "tool_calls": renamed})  # type: ignore[dict-item]
        for one in renamed:
            result = json.dumps(find_order(**json.loads(one["function"]["arguments"])))
            sent.append({"role": "tool", "tool_call_id": one["id"], "content": result})
    return said.content or ""


def writes_code(query: str, base_url: str, api_key: str, model: str) -> str:
    """Tells the model of its tools in words, and would run the code that it answers."""
    told = {"role": "system", "content": "Write Python. There is def find_order(id): ..."}
    client = opened(OpenAI(base_url=base_url, api_key=api_key))
    return f"{_text(client, model, [told, {'role': 'user', 'content': query}])} 12.5"


def edits(query: str, base_url: str, api_key: str, model: str) -> str:
    """A person changes the call before it is made."""
    tools = [{"type": "function", "function": {"name": name, "parameters": SCHEMA}} for name in NAMES]
    sent: list[Any] = [{"role": "user", "content": query}]
    client = opened(OpenAI(base_url=base_url, api_key=api_key))
    said = client.chat.completions.create(model=model, messages=sent, tools=tools).choices[0].message  # type: ignore[call-overload]
    for asked in said.tool_calls or ():
        asked.function.arguments = '{"id": 99}'
        sent += [said.model_dump(exclude_none=True), {"role": "tool", "tool_call_id": asked.id, "content": "12.5"}]
    return str(client.chat.completions.create(model=model, messages=sent, tools=tools).choices[0].message.content)  # type: ignore[call-overload]


def says_nothing(query: str) -> str:
    return "12.5"


def made_up(query: str, base_url: str, api_key: str, model: str, tools: list[Any]) -> str:
    """Takes the trial's tools, and writes their results itself."""
    return chat(query, base_url, api_key, model)


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Any:
    wanted = [call("find_order", id=7)]
    tasks = [
        Task("How much did order 7 cost?", expect=Expect("12.5", calls=wanted), id="own"),
        Task("How much did order 7 cost?", tools=[find_order], expect=Expect("12.5", calls=wanted), id="declared"),
        Task("What did order 7 cost?", expect=Expect("12.5", calls=wanted, never=["find_order"]), id="never"),
        Task("And order 7?", expect=Expect("12.5", calls=wanted, never=["delete_order"]), id="unknown"),
        Task("Refund order 8.", expect=Expect(calls=[call("find_order", id=8)], state={}), id="failing"),
    ]
    agents: list[Callable[..., str]] = [chat, responses, messages, ends_with_the_result, says_nothing, made_up, edits]
    agents += [writes_results_as_text, renames_calls, writes_code]
    store = str(tmp_path_factory.mktemp("own") / "store.db")
    evaluate(agents, tasks, store=store, progress=False)
    return open_run("latest", store)


def found(report: Any, agent: str, task: str) -> dict[str, Any]:
    trial = report.trial(agent, task)
    score = trial.score("sopr_score")
    return {
        "calls": [(made.api.api_name, made.arguments, made.error, made.source) for made in trial.wire.api_calls],
        "solved": None if score is None else score.label or "Unsure",
        "found": trial.score("api_call_score").value if trial.score("api_call_score") else None,
        "lost": [one.reason for one in trial.gold_calls],
    }


SEEN = ("find_order", {"id": 7}, "", "conversation")
OBSERVED = {"calls": [SEEN], "solved": "Solved", "found": 1.0, "lost": [""]}
UNSEEN = {"calls": [], "solved": "Unsure", "found": None, "lost": ["no later request shows its result"]}
WRITTEN = UNSEEN | {"lost": ["the prompt describes the tool in words, so its calls are text or code"]}
SILENT = {
    "calls": [],
    "solved": "Unsure",
    "found": None,
    "lost": ["the agent takes no tools and sent no model request: its calls are not observed"],
}


@pytest.mark.parametrize(
    ("agent", "task", "expected"),
    [
        ("chat", "own", OBSERVED),
        ("responses", "own", OBSERVED),
        ("messages", "own", OBSERVED),
        ("made_up", "own", OBSERVED),
        ("writes_results_as_text", "own", OBSERVED),
        ("renames_calls", "own", OBSERVED),
        ("writes_code", "own", WRITTEN),
        ("writes_code", "never", WRITTEN),
        ("ends_with_the_result", "own", UNSEEN),
        ("says_nothing", "own", SILENT),
        # It takes no tools: so that of the task cannot be the one that it calls.
        ("chat", "declared", OBSERVED),
        ("says_nothing", "declared", SILENT),
        ("chat", "never", {**OBSERVED, "solved": "Unsolved"}),
        ("ends_with_the_result", "never", UNSEEN),
        ("chat", "unknown", OBSERVED),
        ("says_nothing", "unknown", SILENT),
        ("messages", "failing", {
            "calls": [("find_order", {"id": 8}, "no such order", "conversation")],
            "solved": "Unsolved", "found": 1.0, "lost": ["the agent's own tool failed: no such order"],
        }),
    ],
)  # fmt: skip
def test_calls_count_if_their_results_come_back(report: Any, agent: str, task: str, expected: dict[str, Any]) -> None:
    assert found(report, agent, task) == expected


def test_a_result_that_an_agent_writes_for_a_served_tool_is_no_call(report: Any) -> None:
    made_up = found(report, "made_up", "declared")
    assert (made_up["calls"], made_up["solved"], made_up["found"]) == ([], "Unsolved", 0.0)
    assert "it sent the model a result of its own" in made_up["lost"][0]


def test_a_call_whose_result_is_not_observed_has_not_failed(report: Any) -> None:
    trial = report.trial("ends_with_the_result", "own")
    (expectation,) = [one for one in trial.score("sopr_score").detail["expectations"] if "calls" in one["text"]]
    assert (expectation["met"], expectation["reason"]) == (None, "the result of find_order is not observed")


def test_what_is_not_measured_has_no_value(report: Any) -> None:
    trial = report.trial("messages", "failing")
    by_name = {score.name: score.value for score in trial.scores}
    assert by_name.keys().isdisjoint({"tool_time", "framework_time", "final_state"})
    (expectation,) = [one for one in trial.score("sopr_score").detail["expectations"] if "state" in one["text"]]
    assert (expectation["met"], expectation["reason"]) == (None, "the state of the agent's own tools is not observed")
    assert report.calls_frame()["source"].unique().tolist() == ["conversation"]


def test_a_call_that_was_edited_is_the_one_that_was_made(report: Any) -> None:
    edited = found(report, "edits", "own")
    assert (edited["calls"], edited["solved"]) == ([("find_order", {"id": 99}, "", "conversation")], "Unsolved")


def test_a_forbidden_tool_that_an_agent_lacks_is_reported_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    expected = Expect("12.5", calls=[call("find_order", id=7)], never=["refnd"])
    tasks = [Task("How much did order 7 cost?", expect=expected)]
    evaluate(chat, tasks, repeat=2, store=str(tmp_path / "store.db"), progress=False)
    assert caplog.messages == ["chat: task 1: this cannot fail: refnd is not called (no request offers it)"]
