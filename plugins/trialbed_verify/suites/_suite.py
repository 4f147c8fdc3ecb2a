"""A suite, and the lines of its test set."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Line = dict[str, Any]
Message = dict[str, Any]


@dataclass(frozen=True)
class Suite:
    """A test set that is made by code, always the same.

    Attributes:
        about: what it measures, in one sentence.
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
    """One line of a test set: a request, and under ``suite`` what a right answer is.

    Args:
        case: its name, unique in the suite.
        expect: what must be true of an answer, by the keys of ``EXPECTATIONS``.
        answer: a right answer, which simulated vendors give: ``calls`` or ``text``.
        by: properties by which the summary breaks the score down.
        request: further fields of the request.
    """
    about = {"name": suite, "case": case, "by": dict(by or {}), "expect": dict(expect), "answer": dict(answer)}
    offered = {"tools": list(tools)} if tools else {}
    return {"messages": list(messages), **offered, **request, "stream": stream, "suite": about}


def user(text: str) -> Message:
    """A message of the user."""
    return {"role": "user", "content": text}


def called(*calls: tuple[str, Mapping[str, Any]]) -> dict[str, Any]:
    """A right answer that calls these tools."""
    return {"calls": [{"name": name, "arguments": dict(arguments)} for name, arguments in calls]}


def said(text: str) -> dict[str, Any]:
    """A right answer in text."""
    return {"text": text}


def function(name: str, description: str, parameters: Mapping[str, Any]) -> dict[str, Any]:
    """A tool as requests declare it."""
    return {"type": "function", "function": {"name": name, "description": description, "parameters": parameters}}


def names(tools: Iterable[Mapping[str, Any]]) -> list[str]:
    """The names of declared tools."""
    return [tool["function"]["name"] for tool in tools]
