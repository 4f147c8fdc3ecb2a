"""The suite *multi-turn*: whether the decision to call depends on how long the conversation is."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence

from trialbed_verify.suites._catalog import CatalogTool, catalog, choose_tools
from trialbed_verify.suites._leaks import exchange
from trialbed_verify.suites._suite import Line, Suite, calls_answer, line, text_answer, user

NAME = "multi-turn"

DEPTHS = (1, 3, 8)
"""The turn of the user that is measured; the turns before it are given, and the same for every vendor."""

QUESTIONS = 24


def _cases() -> Iterator[Line]:
    chance = random.Random(NAME)  # noqa: S311 - shall be the same again
    talkative = [tool for tool in catalog() if tool.result]
    asked = [tool for tool in catalog() if not tool.result][:QUESTIONS]
    for number, tool in enumerate(asked):
        history = chance.sample(talkative, max(DEPTHS) - 1)
        tools = _tools(tool, history, chance)
        for depth in DEPTHS:
            yield _case(tool, history[: depth - 1], tools, depth, needs_call=number % 2 == 0)


def _tools(tool: CatalogTool, history: Sequence[CatalogTool], chance: random.Random) -> list[dict[str, object]]:
    """The tools of a question are the same at every depth, so that nothing but the depth differs."""
    others = choose_tools(chance, 4, without=(tool.name, *(one.name for one in history)))
    tools = [*(dict(one.declared) for one in (tool, *history)), *others]
    chance.shuffle(tools)
    return tools


def _case(
    tool: CatalogTool, history: Sequence[CatalogTool], tools: list[dict[str, object]], depth: int, *, needs_call: bool
) -> Line:
    messages = [message for number, one in enumerate(history) for message in exchange(one, str(number))]
    request = tool.requests[0]
    return line(
        NAME,
        f"{tool.name}-depth-{depth}",
        [*messages, user(request.text if needs_call else tool.near)],
        tools=tools,
        expect={"calls": True, "tool": [tool.name]} if needs_call else {"calls": False},
        by={"depth": depth, "kind": "a tool is needed" if needs_call else "no tool is needed"},
        answer=calls_answer((tool.name, tool.arguments(request))) if needs_call else text_answer("That needs no tool."),
    )


SUITE = Suite(
    NAME,
    "whether the decision to call is the same at the first, third and eighth turn of a given conversation",
    QUESTIONS * len(DEPTHS),
    _cases,
)
