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
from trialbed.errors import UsageError
from trialbed.records import Query, ToolSpec
from trialbed_plugins.datasets.bfcl import (
    BfclDriver,
    BfclSimulator,
    _objects,
    _scorer,
    _source,
    problem_of_turns,
    score_trial,
)
from trialbed_plugins.datasets.bfcl._requests import MORE, function_called, start_of, turns_of
from trialbed_plugins.datasets.bfcl._turns import right_call

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
    _source.read_rows.cache_clear()
    yield data
    for name in [name for name in sys.modules if name.partition(".")[0] == "bfcl_eval"]:
        del sys.modules[name]
    sys.modules.update(known)
    _source.read_rows.cache_clear()


def opened(tmp_path: Path, name: str = "multi_turn_base") -> Query:
    (query,) = BfclDriver().open(name, tmp_path).queries()
    return query


def played(query: Query) -> list[Any]:
    """What the objects answer to the right calls, and to one call after them."""
    world = BfclSimulator().world_from(query.initial_state)
    assert world is not None
    apis = {api.ref: api for api in query.apis}
    return [world.call(apis[call.api], call.arguments or {}) for call in (*query.gold_calls, query.gold_calls[1])]


def test_a_case_is_its_first_request_and_a_tool_gives_the_others(tmp_path: Path) -> None:
    query = opened(tmp_path)
    assert query.text.endswith("The first request:\n\nOpen a ticket 'a'.")
    assert [api.api_name for api in query.apis] == ["open_ticket", "close_ticket", "bfcl_next_request"]
    assert [(call.api.api_name, call.arguments) for call in query.gold_calls] == [
        ("open_ticket", {"title": "a", "priority": 2}),
        ("bfcl_next_request", {}),
        ("open_ticket", {"title": "b"}),
        ("close_ticket", {"title": "old"}),
    ]
    found = played(query)
    assert (found[1], found[-1]) == ("And now 'b'.", "There are no more requests. Give your answer.")
    assert BfclDriver().open("multi_turn_base", tmp_path).simulator == "bfcl"


def test_functions_that_come_later_are_described_then_and_called_by_name(tmp_path: Path) -> None:
    query = opened(tmp_path, "multi_turn_miss_func")
    assert [api.api_name for api in query.apis] == ["open_ticket", "bfcl_next_request", "bfcl_use_function"]
    assert [(call.api.api_name, call.arguments) for call in query.gold_calls[1:]] == [
        ("bfcl_next_request", {}),
        ("bfcl_next_request", {}),
        ("bfcl_use_function", {"function": "close_ticket", "arguments": {"title": "old"}}),
    ]
    found = played(query)
    assert found[2].startswith(MORE)
    assert '"name": "close_ticket"' in found[2]
    assert found[3] == {"closed": 3}


@for_each(
    ("arguments", "called"),
    [
        ({"function": "f", "arguments": {"a": 1}}, ("f", {"a": 1})),
        ({"function": "f", "arguments": '{"a": 1}'}, ("f", {"a": 1})),
        ({"function": "f", "arguments": "{"}, None),
        ({"function": "f"}, None),
        ({"function": 5, "arguments": {}}, None),
    ],
)
def test_a_function_that_came_later_is_called_with_its_arguments(arguments: Any, called: Any) -> None:
    assert function_called("bfcl_use_function", arguments) == (called or ("bfcl_use_function", arguments))


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


async def test_objects_get_what_the_model_sent_and_are_no_one_elses(tmp_path: Path) -> None:
    query = opened(tmp_path)
    world = BfclSimulator().world_from(query.initial_state)
    assert world is not None
    assert not world.checked
    assert world.call(query.apis[0], {"title": 5}) == {"title": 5, "priority": 1}
    assert "belongs to a trial" in (await BfclSimulator().simulate(None, "a/b/c", {})).error


START = start_of(ROW)
A, B, CLOSE = (
    ("open_ticket", {"title": "a", "priority": 2}),
    ("open_ticket", {"title": "b"}),
    ("close_ticket", {"title": "old"}),
)
COUNT, NEXT = ("count", {}), ("bfcl_next_request", {})


@for_each(
    ("calls", "problem"),
    [
        ([A, NEXT, B, CLOSE], ""),
        ([A, NEXT, CLOSE, B], ""),
        ([COUNT, A, COUNT, NEXT, B, CLOSE, COUNT], ""),
        ([A, NEXT, B, NEXT, CLOSE, NEXT], ""),
        ([A, ("nothing", {}), NEXT, B, CLOSE], ""),
        ([A, B, NEXT, CLOSE], "turn 1: TicketAPI.tickets is not as the right calls leave it"),
        ([B, A, NEXT, CLOSE], "turn 1: TicketAPI.tickets is not as"),
        ([A, NEXT, B], "turn 2: TicketAPI.tickets is not as"),
        ([A, NEXT], "turn 2: nothing was called"),
        ([NEXT, A, B, CLOSE], "turn 1: nothing was called"),
        ([A, B, CLOSE], "it ended with request 1 of 2"),
        ([], "it ended with request 1 of 2"),
        ([A, NEXT, B, CLOSE, ("open_ticket", {"title": "c"})], "turn 2: TicketAPI.tickets is not as"),
        ([A, NEXT, B, CLOSE, ("kill", {})], ""),
        ([("open_ticket", {"title": "a", "priority": 1}), NEXT, B, CLOSE], "turn 1: TicketAPI.tickets is not as"),
    ],
)
def test_calls_are_right_if_every_turn_ends_as_the_right_calls_leave_it(calls: Any, problem: str) -> None:
    found = problem_of_turns(START, RIGHT, turns_of(calls))
    assert problem in found
    assert bool(found) is bool(problem)


def test_what_the_right_calls_return_must_be_returned() -> None:
    right = [["open_ticket('a')", "count()"]]
    once = ("open_ticket", {"title": "a"})
    assert problem_of_turns(START, right, [[once, COUNT]]) == ""
    assert problem_of_turns(START, right, [[once]]) == "turn 1: nothing returned 2"
    assert problem_of_turns(START, [["count()", "count()"]], [[COUNT]]) == "turn 1: nothing returned 1"


def test_turns_without_right_calls_are_not_checked() -> None:
    assert problem_of_turns(START, [[], RIGHT[0], []], [[COUNT], [A], [B]]) == ""
    assert problem_of_turns(START, [[], RIGHT[0]], [[B], [A]]) != ""


@for_each("text", ["open_ticket(f())", "a.b()", "__import__('os').system('true')", "1", "f(", "f(*x)"])
def test_right_calls_hold_values_and_nothing_is_evaluated(text: str) -> None:
    with pytest.raises((TypeError, ValueError, SyntaxError)):
        right_call(text)
    assert "the right calls cannot be read" in problem_of_turns(START, [[text]], [[A]])


@pytest.mark.parametrize("arguments", [{"base": 10, "exponent": 10**9}, {"base": 10**2000, "exponent": 1}])
def test_arithmetic_that_would_not_end_is_refused(arguments: dict[str, int]) -> None:
    assert "too large" in _objects.CaseObjects(START).response("power", arguments)
    assert _objects.CaseObjects(START).response("power", {"base": 2, "exponent": 10}) == '{"result": 1024}'


def test_a_package_that_the_classes_need_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(_objects.NEEDED, "TicketAPI", "no_such_package")
    with pytest.raises(UsageError, match="pip install no_such_package"):
        BfclDriver().open("multi_turn_base", tmp_path)


@pytest.mark.parametrize(("priority", "value"), [(2, 1), (1, 0)])
async def test_trials_are_scored_by_what_their_calls_did(tmp_path: Path, priority: int, value: float) -> None:
    query = opened(tmp_path)
    tools = tuple(
        ToolSpec(name=api.api_name, description="", parameters=api.parameters_schema(), api=api.ref)
        for api in query.apis
    )
    opening, closing, following = query.apis
    made: list[tuple[Any, dict[str, Any]]] = [(opening, {"title": "a", "priority": priority}), (following, {})]
    made += [(opening, {"title": "b"}), (closing, {"title": "old"})]
    calls = tuple(
        api_call("a").model_copy(update={"api": api.ref, "arguments": given, "started": float(place)})
        for place, (api, given) in enumerate(made)
    )
    # A fault on purpose kept this one from the objects.
    calls += (calls[0].model_copy(update={"started": 0.5, "fault": "server_error", "error": "down", "status": 503}),)
    trial = dataclasses.replace(context((), calls), query=query, tools=tools)
    (score,) = await score_trial(trial)
    assert (score.name, score.value) == (_scorer.SCORE, value)
