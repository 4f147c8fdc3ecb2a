from __future__ import annotations

import dataclasses
import importlib
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.cases import for_each
from support.scoring import api_call, context

from trialbed.contracts import ApiRefused
from trialbed.records import Api, Query, ToolSpec, WireTurn
from trialbed_plugins.datasets.bfcl import BfclDriver, BfclSimulator, problem_of_turns, score_trial

CODE = """
class TicketAPI:
    def __init__(self):
        self.tickets, self._asked = {}, 0

    def _load_scenario(self, scenario, long_context=False):
        self.tickets = dict(scenario["tickets"])

    def open_ticket(self, title, priority=1):
        if not title:
            raise ValueError("a ticket needs a title")
        self.tickets[title] = priority
        return {"title": title, "priority": priority}

    def close_ticket(self, title):
        return {"closed": self.tickets.pop(title)}

    def count(self):
        return len(self.tickets)

    def power(self, base, exponent):
        return {"result": base**exponent}

    def kill(self):
        self.tickets = {}
"""


def function(name: str, **properties: str) -> dict[str, Any]:
    described = {key: {"type": kind} for key, kind in properties.items()}
    return {
        "name": name,
        "description": name,
        "parameters": {"type": "dict", "properties": described, "required": list(properties)[:1]},
    }


ROW = {
    "id": "multi_turn_base_0",
    "question": [[{"role": "user", "content": "Open a ticket 'a'."}], [{"role": "user", "content": "And now 'b'."}]],
    "initial_config": {"TicketAPI": {"tickets": {"old": 3}}},
    "involved_classes": ["TicketAPI"],
    "excluded_function": ["count"],
}
LATE = ROW | {
    "id": "multi_turn_miss_func_0",
    "question": [*ROW["question"], []],
    "missed_function": {"2": ["close_ticket"]},
}
RIGHT = [["open_ticket('a', priority=2)"], ["open_ticket(title='b')", "close_ticket('old')"]]


@pytest.fixture(autouse=True)
def wheel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    folder = tmp_path / "site" / "bfcl_eval"
    code = folder / "eval_checker" / "multi_turn_eval" / "func_source_code"
    code.mkdir(parents=True)
    (code / "ticket_api.py").write_text(CODE)
    for package in (folder, code.parent.parent, code.parent, code):
        (package / "__init__.py").touch()
    data = folder / "data"
    for name, *lines in (
        ("BFCL_v4_multi_turn_base", ROW),
        ("possible_answer/BFCL_v4_multi_turn_base", {"id": ROW["id"], "ground_truth": RIGHT}),
        ("BFCL_v4_multi_turn_miss_func", LATE),
        (
            "possible_answer/BFCL_v4_multi_turn_miss_func",
            {"id": LATE["id"], "ground_truth": [RIGHT[0], [], ["close_ticket('old')"]]},
        ),
        (
            "multi_turn_func_doc/ticket_api",
            function("open_ticket", title="string", priority="integer"),
            function("close_ticket", title="string"),
            function("count"),
        ),
    ):
        file = data / f"{name}.json"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    known = {name: module for name, module in sys.modules.items() if name.partition(".")[0] == "bfcl_eval"}
    for name in known:
        del sys.modules[name]
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    importlib.invalidate_caches()
    yield data
    for name in [name for name in sys.modules if name.partition(".")[0] == "bfcl_eval"]:
        del sys.modules[name]
    sys.modules.update(known)


def opened(tmp_path: Path, name: str = "multi_turn_base") -> Query:
    (query,) = BfclDriver().open(name, tmp_path).queries()
    return query


def played(query: Query) -> list[Any]:
    """What the objects answer to the right calls, and to the first one again."""
    world = BfclSimulator().world_from(query.initial_state)
    assert world is not None
    apis = {api.ref: api for api in query.apis}
    return [world.call(apis[call.api], call.arguments or {}) for call in (*query.gold_calls, query.gold_calls[0])]


def test_a_case_is_a_conversation_with_the_right_calls_of_each_request(tmp_path: Path) -> None:
    query = opened(tmp_path)
    assert query.text == "Open a ticket 'a'."
    assert [(turn.text, turn.calls) for turn in query.turns] == [(query.text, 1), ("And now 'b'.", 2)]
    assert [api.api_name for api in query.apis] == ["open_ticket", "close_ticket"]
    assert [(call.api.api_name, call.arguments) for call in query.gold_calls] == [
        ("open_ticket", {"title": "a", "priority": 2}),
        ("open_ticket", {"title": "b"}),
        ("close_ticket", {"title": "old"}),
    ]
    assert played(query)[-1] == {"title": "a", "priority": 2}
    assert BfclDriver().open("multi_turn_base", tmp_path).simulator == "bfcl"


def test_functions_that_come_later_are_described_then_and_called_by_name(tmp_path: Path) -> None:
    query = opened(tmp_path, "multi_turn_miss_func")
    assert [api.api_name for api in query.apis] == ["open_ticket", "bfcl_use_function"]
    assert [turn.calls for turn in query.turns] == [1, 0, 1]
    assert '"name": "close_ticket"' in query.turns[2].text
    later = query.gold_calls[1]
    assert (later.api.api_name, later.arguments) == (
        "bfcl_use_function",
        {"function": "close_ticket", "arguments": {"title": "old"}},
    )
    assert played(query)[1] == {"closed": 3}


def test_each_trial_has_objects_of_its_own(tmp_path: Path) -> None:
    query = opened(tmp_path)
    world, other = (BfclSimulator().world_from(query.initial_state) for _ in range(2))
    assert world is not None
    assert other is not None
    assert world.call(query.apis[0], {"title": "a"}) == {"title": "a", "priority": 1}
    assert world.state() == {"TicketAPI": {"tickets": {"old": 3, "a": 1}}}
    assert other.state() == {"TicketAPI": {"tickets": {"old": 3}}}
    with pytest.raises(ApiRefused, match="Error during execution: a ticket needs a title"):
        world.call(query.apis[0], {"title": ""})
    assert BfclSimulator().world_from(None) is None


START = {"classes": ["TicketAPI"], "config": ROW["initial_config"], "long_context": False}
A, B, CLOSE = (
    ("open_ticket", {"title": "a", "priority": 2}),
    ("open_ticket", {"title": "b"}),
    ("close_ticket", {"title": "old"}),
)
COUNT = ("count", {})


@for_each(
    ("made", "problem"),
    [
        ([[A], [B, CLOSE]], ""),
        ([[A], [CLOSE, B]], ""),
        ([[COUNT, A, COUNT], [B, CLOSE, COUNT]], ""),
        ([[A, ("nothing", {})], [B, CLOSE]], ""),
        ([[A, B], [CLOSE]], "turn 1: TicketAPI.tickets is not as the right calls leave it"),
        ([[B, A], [CLOSE]], "turn 1: TicketAPI.tickets is not as"),
        ([[A], [B]], "turn 2: TicketAPI.tickets is not as"),
        ([[A], []], "turn 2: nothing was called"),
        ([[], [A, B, CLOSE]], "turn 1: nothing was called"),
        ([[A, B, CLOSE]], "it ended with request 1 of 2"),
        ([], "it ended with request 0 of 2"),
        ([[A], [B, CLOSE, ("open_ticket", {"title": "c"})]], "turn 2: TicketAPI.tickets is not as"),
        ([[A], [B, CLOSE, ("kill", {})]], ""),
        ([[("open_ticket", {"title": "a", "priority": 1})], [B, CLOSE]], "turn 1: TicketAPI.tickets is not as"),
    ],
)
def test_calls_are_right_if_every_turn_ends_as_the_right_calls_leave_it(made: Any, problem: str) -> None:
    found = problem_of_turns(START, RIGHT, made)
    assert problem in found
    assert bool(found) is bool(problem)


@for_each("text", ["open_ticket(f())", "a.b()", "__import__('os').system('true')", "1", "f(", "f(*x)"])
def test_right_calls_hold_values_and_nothing_is_evaluated(text: str) -> None:
    assert "the right calls cannot be read" in problem_of_turns(START, [[text]], [[A]])


@pytest.mark.parametrize("arguments", [{"base": 10, "exponent": 10**9}, {"base": 10**2000, "exponent": 1}])
def test_arithmetic_that_would_not_end_is_refused(arguments: dict[str, int]) -> None:
    world = BfclSimulator().world_from(START)
    assert world is not None
    power = Api(category="BFCL", tool_name="", api_name="power")
    assert world.call(power, {"base": 2, "exponent": 10}) == {"result": 1024}
    with pytest.raises(ApiRefused, match="too large"):
        world.call(power, arguments)


@pytest.mark.parametrize(("priority", "value"), [(2, 1), (1, 0)])
async def test_trials_are_scored_by_what_their_calls_did(tmp_path: Path, priority: int, value: float) -> None:
    query = opened(tmp_path)
    tools = tuple(
        ToolSpec(name=api.api_name, description="", parameters=api.parameters_schema(), api=api.ref)
        for api in query.apis
    )
    opening, closing = query.apis
    made = [(opening, {"title": "a", "priority": priority}), (opening, {"title": "b"}), (closing, {"title": "old"})]
    calls = tuple(
        api_call("a").model_copy(update={"api": api.ref, "arguments": given, "started": float(place)})
        for place, (api, given) in enumerate(made)
    )
    # A fault on purpose kept this one from the objects.
    calls += (calls[0].model_copy(update={"started": 0.5, "fault": "server_error", "error": "down", "status": 503}),)
    trial = dataclasses.replace(context((), calls), query=query, tools=tools)
    turns = tuple(WireTurn(started=at, text="", at_limit=not at) for at in (0.0, 0.9))
    trial = dataclasses.replace(trial, wire=trial.wire.model_copy(update={"turns": turns}))
    (score,) = await score_trial(trial)
    assert (score.name, score.value) == ("bfcl_correct", value)
    problem = str(score.detail["problem"])
    assert problem.endswith("; turn 1 ended at the limit of requests (max_steps)") is (value == 0)
