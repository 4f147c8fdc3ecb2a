"""Saying what was expected and what was seen."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from trialbed.conformance._check import CheckFailed
from trialbed.conformance._recording import ModelRequest, Play
from trialbed.records import Answer

SHOWN = 300
"""Characters of a value that a message shows."""


def expect(right: bool, expected: str, seen: Any) -> None:
    """Fail unless it is right.

    Raises:
        CheckFailed: with both, the seen one shortened.
    """
    if not right:
        raise CheckFailed(f"expected {expected}; seen: {shown(seen)}")


def expect_equal(what: str, seen: Any, expected: Any) -> None:
    """Fail unless both are the same JSON value; says where they part.

    Raises:
        CheckFailed: they differ.
    """
    place = difference(expected, seen)
    if place is not None:
        raise CheckFailed(f"{what}: {place}")


def answered(play: Play, text: str | None = None) -> Answer:
    """The answer of a trial that did not fail, and that said this.

    Raises:
        CheckFailed: it failed, or said something else.
    """
    if play.answer is None:
        raise CheckFailed(f"expected an answer; seen: the trial failed: {_failure(play)}")
    if text is not None:
        expect_equal("final_answer", play.answer.final_answer, text)
    return play.answer


def asked(play: Play, times: int) -> tuple[ModelRequest, ...]:
    """The requests of a trial that asked the model so often.

    Raises:
        CheckFailed: it asked more or less often.
    """
    ended = f", and the trial failed: {_failure(play)}" if play.failure else ""
    expect(len(play.requests) == times, f"{times} model requests", f"{len(play.requests)}{ended}")
    return play.requests


def called(play: Play, *calls: tuple[str, Any]) -> None:
    """Fail unless exactly these calls were made, in any order.

    Raises:
        CheckFailed: others were made.
    """
    made = [[call.tool, call.arguments] for call in play.calls]
    expect_equal("calls that reached the Apis", in_order(made), in_order([list(pair) for pair in calls]))


def in_order(values: Iterable[Any]) -> list[Any]:
    """The values, in an order that does not depend on the one they came in."""
    return sorted(values, key=lambda value: json.dumps(value, sort_keys=True))


def difference(expected: Any, seen: Any, place: str = "") -> str | None:
    """Where two JSON values part, and what stands there; None if they are the same.

    Types are told apart: 1 is not true, and not "1".
    """
    if isinstance(expected, dict) and isinstance(seen, dict):
        for key in [*expected, *(key for key in seen if key not in expected)]:
            here = f"{place}.{key}" if place else str(key)
            if key not in seen:
                return f"expected {here} = {shown(expected[key])}; seen: it is missing"
            if key not in expected:
                return f"expected nothing at {here}; seen: {shown(seen[key])}"
            if found := difference(expected[key], seen[key], here):
                return found
        return None
    if isinstance(expected, list) and isinstance(seen, list):
        for index, (one, other) in enumerate(zip(expected, seen, strict=False)):
            if found := difference(one, other, f"{place}[{index}]"):
                return found
        if len(expected) == len(seen):
            return None
        return f"expected {len(expected)} entries{_at(place)}; seen: {len(seen)}: {shown(seen)}"
    if _same(expected, seen):
        return None
    return f"expected {shown(expected)}{_at(place)}; seen: {_seen(expected, seen)}"


def shown(value: Any) -> str:
    """A value in a message, shortened."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=repr)
    text = json.dumps(text, ensure_ascii=False) if isinstance(value, str) and not value else text
    return text if len(text) <= SHOWN else f"{text[: SHOWN - 60]} … {text[-40:]} ({len(text)} characters)"


def _same(expected: Any, seen: Any) -> bool:
    if isinstance(expected, bool) or isinstance(seen, bool):
        return expected is seen
    return type(expected) is type(seen) and bool(expected == seen)


def _seen(expected: Any, seen: Any) -> str:
    if isinstance(expected, str) and isinstance(seen, str):
        return _text_difference(expected, seen)
    return shown(seen) if type(expected) is type(seen) else f"{shown(seen)} ({type(seen).__name__})"


def _text_difference(expected: str, seen: str) -> str:
    """The text, and for a long one where it begins to differ."""
    if max(len(expected), len(seen)) <= SHOWN:
        return repr(seen)
    at = next((i for i, pair in enumerate(zip(expected, seen, strict=False)) if pair[0] != pair[1]), None)
    at = min(len(expected), len(seen)) if at is None else at
    return f"{len(seen)} characters instead of {len(expected)}, different from {at}: {seen[at : at + 60]!r}"


def _at(place: str) -> str:
    return f" at {place}" if place else ""


def _failure(play: Play) -> str:
    if play.failure is None:
        return "no"
    lines = [line for line in play.failure.detail.splitlines() if line.strip()]
    return f"{play.failure.kind}: {play.failure.message}" + "".join(f"\n    {line}" for line in lines[-6:-1])
