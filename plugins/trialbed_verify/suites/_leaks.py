"""The suite *leaks*: whether marks of templates, tools and thoughts stay out of answers."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator

from trialbed_verify.suites._catalog import CatalogTool, catalog, choose_tools
from trialbed_verify.suites._suite import Line, Suite, calls_answer, line, text_answer, user

NAME = "leaks"

THINKING = (
    "Think it through step by step, then tell me only the result: three friends share 47 marbles as evenly as they "
    "can. How many does each get, and how many are left over?",
    "Take your time and reason carefully. A train leaves at 14:10 and needs 95 minutes, but starts 7 minutes late. "
    "When does it arrive? Just the time, please.",
    "Which is larger, 9.11 or 9.9? Consider it for a moment before you answer.",
    "Überlege gründlich: Wie viele Tage liegen zwischen dem 27. Februar und dem 3. März eines Schaltjahres?",
    "Réfléchis bien avant de répondre : combien de carrés y a-t-il sur un damier de trois cases sur trois ?",
    "请仔细想一想再回答：一只青蛙每天向上爬三米，晚上滑下两米，井深十米，它第几天能爬出来？",  # noqa: RUF001 - Chinese
    "Antes de responder, piensa: si hoy es miércoles, ¿qué día será dentro de cien días?",
    "Work out in your head whether 2027 is a prime number. Answer with yes or no and one reason.",
)
"""Questions that make models think."""

MARKED = (
    "Write a small example of an XML file with two books. No explanation.",
    "Show me a JSON object that describes a bicycle, with three keys.",
    "How do I write a table with two columns in Markdown? Give an example.",
    "Give me a Python function that adds two numbers, in a code block.",
    "What does the HTML element <br> do?",
    "Write a bash one-liner that counts the lines of all .txt files, using a pipe | and wc.",
    "List three emoji for good weather and what they mean.",
    "Give me the first verse of a song for children about a snail, in Japanese, with the reading in rōmaji.",
)
"""Questions whose answers hold brackets, bars and letters beyond ASCII, all of them legitimate."""

AFTER_TOOLS = "Thank you. Now answer without looking anything up: what would you have done if that had failed?"


def _cases() -> Iterator[Line]:
    chance = random.Random(NAME)  # noqa: S311 - shall be the same again
    for number, question in enumerate(THINKING, 1):
        yield _text(f"thinking-{number}", "a question to think about", question, chance, 0)
    for number, question in enumerate(MARKED, 1):
        yield _text(f"marked-{number}", "brackets and bars in text", question, chance, 0)
    for number, tool in enumerate(catalog()[:12], 1):
        yield _text(f"near-{number}", "text, with tools offered", tool.near, chance, 8)
    talkative = [tool for tool in catalog() if tool.result]
    for number, tool in enumerate(talkative[:8], 1):
        yield _after_result(f"result-{number}", tool, chance)
    for number, tool in enumerate(catalog()[12:24], 1):
        yield _call(f"call-{number}", tool, chance)


def _text(case: str, kind: str, question: str, chance: random.Random, count: int) -> Line:
    return line(
        NAME,
        case,
        [user(question)],
        tools=choose_tools(chance, count) if count else (),
        expect={"answered": True, "clean": True},
        by={"kind": kind},
        answer=text_answer("Here is the answer, in plain words."),
    )


def _call(case: str, tool: CatalogTool, chance: random.Random) -> Line:
    return line(
        NAME,
        case,
        [user(tool.requests[0].text)],
        tools=choose_tools(chance, 8, with_=tool),
        expect={"answered": True, "clean": True},
        by={"kind": "a call"},
        answer=calls_answer((tool.name, tool.arguments(tool.requests[0]))),
    )


def _after_result(case: str, tool: CatalogTool, chance: random.Random) -> Line:
    return line(
        NAME,
        case,
        [*exchange(tool, "1"), user(AFTER_TOOLS)],
        tools=choose_tools(chance, 6, with_=tool),
        expect={"answered": True, "clean": True},
        by={"kind": "after a tool's result"},
        answer=text_answer("I would have told you what failed, and asked how to go on."),
    )


def exchange(tool: CatalogTool, number: str) -> list[dict[str, object]]:
    """Return the messages of a request, its call, the tool's result, and the assistant's answer."""
    identity = f"call_{tool.name}_{number}"
    request = tool.requests[0]
    function = {"name": tool.name, "arguments": json.dumps(tool.arguments(request), ensure_ascii=False)}
    return [
        user(request.text),
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": identity, "type": "function", "function": function}],
        },
        {"role": "tool", "tool_call_id": identity, "content": tool.result},
        {"role": "assistant", "content": tool.reply},
    ]


SUITE = Suite(NAME, "whether marks of templates, tools and thoughts stay out of answers", 48, _cases)
