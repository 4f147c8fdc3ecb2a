"""Which requests count as the same, and the parts of requests that a recording ignores."""

from __future__ import annotations

import copy
import re
import time
import uuid
from pathlib import Path
from typing import Any

from support.cases import for_each

from trialbed_plugins.recordings import apply_masks, canonical, canonical_text, find_masks, request_key

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


def asked(text: str, *tools: str, **more: Any) -> dict[str, Any]:
    return {"messages": [{"role": "user", "content": text}], "tools": [{"name": name} for name in tools], **more}


@for_each(
    ("one", "other", "masks"),
    [
        (asked("a"), asked("a"), ()),
        (asked("Now: 1795980254.83"), asked("Now: 1795980312"), ("time",)),
        (asked("It is 2026-11-29T19:24:13.5Z."), asked("It is 2026-11-30 07:01."), ("time",)),
        (asked("Sunday, November 29, 2026 at 7:24 PM UTC"), asked("Monday, 30 Nov 2026"), ("time",)),
        (asked("at 11/29/2026, 19:24:13+01:00"), asked("at 1/2/27"), ("time",)),
        (asked(f"id {uuid.uuid4()}"), asked(f"id {uuid.uuid4().hex}"), ("uuid",)),
        (asked("a", "x", "y"), asked("a", "y", "x"), ("order",)),
        (asked(f"{uuid.uuid4()} 10:30", "x", "y"), asked(f"{uuid.uuid4()} 10:31", "y", "x"), ("uuid", "time", "order")),
        (asked("a", session={"id": 1}), asked("a", session={"id": 2}), ("$.session.id",)),
        (asked("a"), asked("b"), ("$.messages[0].content",)),
        # No mask makes these the same.
        (asked("a", "x"), asked("a", "x", "y"), ()),
        ({f"f{number}": 0 for number in range(20)}, {f"f{number}": 1 for number in range(20)}, ()),
    ],
)
def test_what_varies_is_offered_as_a_mask(one: dict[str, Any], other: dict[str, Any], masks: tuple[str, ...]) -> None:
    assert find_masks(one, other) == masks
    assert not masks or apply_masks(one, masks) == apply_masks(other, masks)


@for_each(
    ("path", "left"),
    [
        ("$.a", {"b": [1, {"c": 2, "d e": 3}]}),
        ("$.b", {"a": 0}),
        ("$.b[0]", {"a": 0, "b": ["(ignored)", {"c": 2, "d e": 3}]}),
        ("$.b[*].c", {"a": 0, "b": [1, {"d e": 3}]}),
        ("$['b'][1]['d e']", {"a": 0, "b": [1, {"c": 2}]}),
        ("$.x.y", {"a": 0, "b": [1, {"c": 2, "d e": 3}]}),
    ],
)
def test_a_path_names_the_fields_that_are_ignored(path: str, left: dict[str, Any]) -> None:
    request = {"a": 0, "b": [1, {"c": 2, "d e": 3}]}
    assert apply_masks(request, [path]) == left
    assert request == {"a": 0, "b": [1, {"c": 2, "d e": 3}]}


@for_each("text", ["1" * 200_000, "12:" * 100_000, "Sunday, " * 50_000, "deadbeef-" * 50_000, "2026-11-" * 50_000])
def test_long_texts_are_read_in_time(text: str) -> None:
    began = time.process_time()
    apply_masks(asked(text), ["time", "uuid"])
    assert time.process_time() - began < 1
