"""The parts of requests that a recording ignores."""

from __future__ import annotations

import time
import uuid
from typing import Any

from support.cases import for_each

from trialbed_plugins.recordings._mask import MASK, apply_masks, find_masks


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
    assert MASK.fullmatch(path)
    assert apply_masks(request, [path]) == left
    assert request == {"a": 0, "b": [1, {"c": 2, "d e": 3}]}


@for_each("wrong", ["", "times", "$", "messages", "$..a", "$.a[-1]", "$.a[?(@.b)]", "time uuid"])
def test_other_texts_are_no_masks(wrong: str) -> None:
    assert not MASK.fullmatch(wrong)


@for_each("text", ["1" * 200_000, "12:" * 100_000, "Sunday, " * 50_000, "deadbeef-" * 50_000, "2026-11-" * 50_000])
def test_long_texts_are_read_in_time(text: str) -> None:
    began = time.process_time()
    apply_masks(asked(text), ["time", "uuid"])
    assert time.process_time() - began < 1
