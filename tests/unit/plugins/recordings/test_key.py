"""Which requests count as the same: a test for each field of the table in the documentation."""

from __future__ import annotations

import copy
import json
import re
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from support.cases import for_each

from trialbed_plugins.recordings._key import canonical, canonical_text, request_key

TOOL = {"type": "function", "function": {"name": "look", "description": "Look.", "parameters": {"type": "object"}}}
OTHER = {"type": "function", "function": {"name": "find", "description": "Find.", "parameters": {"type": "object"}}}
REQUEST: dict[str, Any] = {
    "model": "gpt-4o",
    "messages": [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Where?"},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [
                {"id": "call_a", "type": "function", "function": {"name": "look", "arguments": '{"x": 1}'}},
                {"id": "call_b", "type": "function", "function": {"name": "find", "arguments": "{}"}},
            ],
        },
        {"role": "tool", "tool_call_id": "call_a", "content": "here"},
        {"role": "tool", "tool_call_id": "call_b", "content": "there"},
    ],
    "tools": [TOOL, OTHER],
    "tool_choice": "auto",
    "parallel_tool_calls": True,
    "temperature": 0,
    "top_p": 1,
    "seed": 7,
    "max_tokens": 100,
    "stop": ["END"],
    "response_format": {"type": "text"},
    "frequency_penalty": 0,
    "presence_penalty": 0,
    "logit_bias": {"50256": -100},
    "n": 1,
    "reasoning_effort": "low",
    "stream": False,
    "user": "someone",
    "metadata": {"trace": "1"},
}

MATTER: dict[str, Any] = {
    "messages": [*REQUEST["messages"], {"role": "user", "content": "Go on."}],
    "tools": [OTHER, TOOL],
    "tool_choice": "required",
    "parallel_tool_calls": False,
    "temperature": 0.5,
    "top_p": 0.9,
    "seed": 8,
    "max_tokens": 101,
    "stop": ["STOP"],
    "response_format": {"type": "json_object"},
    "frequency_penalty": 0.1,
    "presence_penalty": 0.1,
    "logit_bias": {},
    "n": 2,
    "reasoning_effort": "high",
    "model": "gpt-4o-mini",
    "a_vendors_own": True,
    "input": [{"role": "user", "content": "Where?"}],
    "system": "Be brief.",
}
IGNORED: dict[str, Any] = {
    "stream": True,
    "stream_options": {"include_usage": True},
    "user": "someone else",
    "metadata": {"trace": "2"},
    "store": True,
    "prompt_cache_key": "other",
    "safety_identifier": "other",
}
DOCS = Path(__file__).parents[4] / "docs" / "how-to" / "record-and-replay.md"


def key(request: dict[str, Any], *, identity: str = "m", seed: int = 1, occurrence: int = 0) -> str:
    text = canonical_text(canonical(request, {"gpt-4o"}))
    return request_key(text, identity=identity, seed=seed, occurrence=occurrence)


@for_each("name", MATTER)
def test_a_field_that_the_model_sees_matters(name: str) -> None:
    assert key(REQUEST | {name: MATTER[name]}) != key(REQUEST)


@for_each("name", IGNORED)
def test_a_field_that_the_model_does_not_see_does_not(name: str) -> None:
    assert key(REQUEST | {name: IGNORED[name]}) == key(REQUEST)


@for_each("other", [{"identity": "n"}, {"seed": 2}, {"occurrence": 1}])
def test_model_seed_and_occurrence_matter(other: dict[str, Any]) -> None:
    assert key(REQUEST, **other) != key(REQUEST)


@for_each("told", ["gpt-4o", "own-name", None])
def test_the_name_of_the_runs_model_does_not(told: str | None) -> None:
    text = canonical_text(canonical(REQUEST | {"model": told}, {"gpt-4o", "own-name"}))
    assert text == canonical_text(canonical(REQUEST, {"gpt-4o"}))


def blocks(identity: str) -> list[Any]:
    use = {"type": "tool_use", "id": identity, "name": "look", "input": {}}
    return [
        {"role": "assistant", "content": [use]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": identity, "content": "here"}]},
    ]


def items(identity: str) -> list[Any]:
    call = {"type": "function_call", "id": f"fc_{identity}", "call_id": identity, "name": "look", "arguments": "{}"}
    return [call, {"type": "function_call_output", "call_id": identity, "output": "here"}]


def test_ids_of_calls_do_not_matter_in_any_dialect() -> None:
    assert key({"messages": blocks("a")}) == key({"messages": blocks("b")})
    assert key({"input": items("a")}) == key({"input": items("b")})
    other = blocks("a")
    other[1]["content"][0]["tool_use_id"] = "b"
    assert key({"messages": other}) != key({"messages": blocks("a")})


def test_every_field_that_is_tested_stands_in_the_table_and_the_other_way_round() -> None:
    rows = dict(re.findall(r"^\| (yes|no) \| (.+) \|$", DOCS.read_text(), re.MULTILINE))
    named = {answer: set(re.findall(r"`(\w+)`", fields)) for answer, fields in rows.items()}
    assert named == {"yes": set(MATTER) - {"a_vendors_own"}, "no": set(IGNORED)}


def changed(path: tuple[Any, ...], value: Any) -> dict[str, Any]:
    found = copy.deepcopy(REQUEST)
    place: Any = found
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = value
    return found


@for_each(
    ("path", "value"),
    [
        (("messages", 0, "role"), "developer"),
        (("messages", 1, "content"), "Where? "),
        (("messages", 1, "content"), [{"type": "text", "text": "Where?"}]),
        (("messages", 2, "content"), ""),
        (("messages", 2, "tool_calls", 0, "function", "arguments"), '{"x":1}'),
        (("messages", 3, "content"), "elsewhere"),
        (("messages", 3, "tool_call_id"), "call_b"),
        (("tools", 0, "function", "description"), "Look!"),
        (("tools", 0, "function", "parameters", "additionalProperties"), False),
    ],
)
def test_a_change_inside_of_messages_and_tools_matters(path: tuple[Any, ...], value: Any) -> None:
    assert key(changed(path, value)) != key(REQUEST)


ids = st.lists(st.text(min_size=1), min_size=2, max_size=2, unique=True)


@given(ids)
def test_ids_of_calls_do_not_matter(names: list[str]) -> None:
    text = json.dumps(REQUEST)
    first, second = (json.dumps(name)[1:-1] for name in names)
    renamed = json.loads(text.replace("call_a", "\0").replace("call_b", second).replace("\0", first))
    assert key(renamed) == key(REQUEST)


@given(st.permutations(list(REQUEST)), st.booleans())
def test_the_order_of_fields_and_the_form_of_numbers_do_not_matter(order: list[str], floats: bool) -> None:
    def form(value: Any) -> Any:
        return float(value) if floats and isinstance(value, int) and not isinstance(value, bool) else value

    assert key({name: form(REQUEST[name]) for name in order} | {"functions": None}) == key(REQUEST)


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(values, values)
def test_what_is_equal_as_json_has_one_key_and_nothing_else(one: Any, other: Any) -> None:
    def is_same(a: Any, b: Any) -> bool:
        if isinstance(a, bool) or isinstance(b, bool):
            return a is b
        if isinstance(a, dict) and isinstance(b, dict):
            return a.keys() == b.keys() and all(is_same(a[name], b[name]) for name in a)
        if isinstance(a, list) and isinstance(b, list):
            return len(a) == len(b) and all(map(is_same, a, b))
        return (type(a) in (int, float) and type(b) in (int, float) and a == b) or (type(a) is type(b) and a == b)

    assert (key({"x": one}) == key({"x": other})) is is_same(one, other)


@given(values)
def test_a_canonical_request_stays_as_it_is(value: Any) -> None:
    once = canonical(REQUEST | {"extra": value}, {"gpt-4o"})
    assert canonical_text(canonical(json.loads(canonical_text(once)))) == canonical_text(once)
