"""A suite, and the lines of its test set."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Line = dict[str, Any]
Message = dict[str, Any]


@dataclass(frozen=True)
class Suite:
    """A test set that is made by code, always the same.

    Attributes:
        about: its purpose, in one sentence.
        size: number of its cases.
        cases: makes its lines, one at a time.
    """

    name: str
    about: str
    size: int
    cases: Callable[[], Iterator[Line]]


def line(
    suite: str,
    case: str,
    messages: Sequence[Message],
    *,
    tools: Sequence[Mapping[str, Any]] = (),
    expect: Mapping[str, Any],
    answer: Mapping[str, Any],
    by: Mapping[str, Any] | None = None,
    stream: bool = True,
    **request: Any,
) -> Line:
    """Make one line of a test set: a request, and under ``suite`` a right answer.

    Args:
        case: its name, unique in the suite.
        expect: the expectations of an answer, by the keys of ``EXPECTATIONS``.
        answer: a right answer, which simulated vendors give: ``calls`` or ``text``.
        by: properties by which the summary breaks the score down.
        request: further fields of the request.
    """
    about = {"name": suite, "case": case, "by": dict(by or {}), "expect": dict(expect), "answer": dict(answer)}
    offered = {"tools": list(tools)} if tools else {}
    return {"messages": list(messages), **offered, **request, "stream": stream, "suite": about}


def user(text: str) -> Message:
    """Make a message of the user."""
    return {"role": "user", "content": text}


def calls_answer(*calls: tuple[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Make a right answer that calls these tools."""
    return {"calls": [{"name": name, "arguments": dict(arguments)} for name, arguments in calls]}


def text_answer(text: str) -> dict[str, Any]:
    """Make a right answer in text."""
    return {"text": text}


def function(name: str, description: str, parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Declare a tool as requests do."""
    return {"type": "function", "function": {"name": name, "description": description, "parameters": parameters}}
