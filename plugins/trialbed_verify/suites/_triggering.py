"""The suite *triggering*: whether a model calls a tool where one is needed, and only there."""

from __future__ import annotations

import random
from collections.abc import Iterator

from trialbed_verify.suites._catalog import CatalogTool, Request, catalog, choose_tools
from trialbed_verify.suites._suite import Line, Suite, calls_answer, line, text_answer, user

NAME = "triggering"

OFFERED = (5, 10, 20, 30)
"""Numbers of tools offered, in turn."""

NO_TOOL = "I have no tool for that here, so I cannot do it myself."
NO_NEED = "That needs no tool; here is what I know about it."


def _cases() -> Iterator[Line]:
    chance = random.Random(NAME)  # noqa: S311 - shall be the same again
    for number, tool in enumerate(catalog()):
        first, second = tool.requests
        yield _call(chance, tool, first, 1, OFFERED[number % 4])
        yield _call(chance, tool, second, 2, OFFERED[(number + 1) % 4])
        yield _no_call(chance, tool, tool.near, "near", OFFERED[(number + 2) % 4])
        yield _no_call(chance, tool, second.text, "tool absent", OFFERED[(number + 3) % 4])


def _call(chance: random.Random, tool: CatalogTool, request: Request, number: int, count: int) -> Line:
    return line(
        NAME,
        f"{tool.name}-{number}",
        [user(request.text)],
        tools=choose_tools(chance, count, with_=tool),
        expect={"calls": True, "tool": [tool.name]},
        by={"tools offered": count, "kind": "a tool is needed"},
        answer=calls_answer((tool.name, tool.arguments(request))),
    )


def _no_call(chance: random.Random, tool: CatalogTool, text: str, kind: str, count: int) -> Line:
    near = kind == "near"
    return line(
        NAME,
        f"{tool.name}-{kind.replace(' ', '-')}",
        [user(text)],
        tools=choose_tools(chance, count, with_=tool) if near else choose_tools(chance, count, without=(tool.name,)),
        expect={"calls": False},
        by={"tools offered": count, "kind": "no tool is needed" if near else "the tool is absent"},
        answer=text_answer(NO_NEED if near else NO_TOOL),
    )


SUITE = Suite(
    NAME, "whether a model calls a tool where one is needed, and only there, among 5 to 30 tools", 200, _cases
)
