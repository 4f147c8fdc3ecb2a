"""Tool calls that a model wrote as text instead of sending them."""

from __future__ import annotations

import ast
import json
import re
import warnings
from collections.abc import Collection, Iterator
from itertools import islice
from typing import Any

from trialbed.texts import json_values
from trialbed.wire._exchange import Call

LONGEST = 200_000
"""Characters of a text that are read."""

LONGEST_CODE = 10_000
"""Characters of the arguments of a call in Python."""

MOST_CODE = 100_000
"""Characters of all arguments in Python that are read in one text, which takes a fraction of a second."""

MOST = 200
"""Calls that are found in one text."""

NAMES = ("name", "tool", "tool_name", "function", "function_name", "action", "recipient_name", "next_tool_name")
ARGUMENTS = ("arguments", "parameters", "args", "input", "tool_input", "action_input", "kwargs", "next_tool_args")
LISTS = ("tool_calls", "tool_uses", "calls", "actions")

THOUGHTS = re.compile(r"<think(?:ing)?>.*?(?:</think(?:ing)?>|\Z)", re.DOTALL)
OPENING = re.compile(r"\{\s*\"|\[\s*[{\[]")
MARKED = re.compile(r"<(?:tool_call|tool_response|function_call|tool_use)>\s*\Z|\[TOOL_CALLS\]\s*\Z")
NAME = r"(?P<name>[A-Za-z0-9_.-]{1,128})"
FUNCTION = re.compile(rf"<function={NAME}>(?P<body>(?:(?!<function=|</function>).)*)", re.DOTALL)
PARAMETER = re.compile(r"<parameter=(?P<key>[^<>]{1,128})>(?P<value>[^<]*)</parameter>")
ACTION = re.compile(rf"^[ \t]*Action:[ \t]*{NAME}[ \t]*\n[ \t]*Action Input:[ \t]*(?P<body>[^\n]*)", re.MULTILINE)
FIELDS = re.compile(
    rf"\[\[ ## next_tool_name ## \]\]\s*{NAME}\s*\[\[ ## next_tool_args ## \]\](?P<body>(?:(?!\[\[ ## ).)*)", re.DOTALL
)
TOKENS = re.compile(
    rf"<\|tool_call_begin\|>\s*{NAME}(?::\d+)?\s*<\|tool_call_argument_begin\|>(?P<body>(?:(?!<\|tool_call).)*)",
    re.DOTALL,
)
CODE = re.compile(r"```(?:python|py|tool_code|tool_call)\b(?P<code>.*?)(?:```|\Z)", re.DOTALL)
CALL = re.compile(rf"(?<![\w.-])(?<!def )(?<!function ){NAME}\(")
BRACKET = re.compile(r"[()\[\]{}]")


def text_calls(text: str, names: Collection[str]) -> tuple[Call, ...]:
    """The calls of these tools that a text contains, in order; nothing that names none of them is taken for a call.

    Recognised are JSON objects with a name and arguments (alone, in a list, in a code fence, in ``<tool_call>`` or
    ``<tool_response>``, amid prose), ``<function=NAME>``, the tokens of Kimi's models, ``Action:`` with ``Action
    Input:``, the marked fields of DSPy, and calls in Python where code stands. Thoughts in ``<think>`` are left out.

    Args:
        names: of the tools on offer.
    """
    text = THOUGHTS.sub(lambda found: " " * len(found[0]), text[:LONGEST])
    if not names or not any(mark in text for mark in "{[<(:"):
        return ()
    return tuple(call for _, call in call_places(text, names))


Found = Iterator[tuple[int, Call]]


def call_places(text: str, names: Collection[str]) -> Found:
    """Yield the places of the calls of a text, and the calls, in order."""
    found = [*_in_markup(text, names), *_in_code(text, names), *islice(_in_json(text, names), MOST)]
    yield from sorted(found, key=lambda place: place[0])[:MOST]


def _in_markup(text: str, names: Collection[str]) -> Found:
    for pattern in (FUNCTION, TOKENS, ACTION, FIELDS):
        for match in pattern.finditer(text):
            name = _offered_name(match["name"], names)
            if name:
                yield match.start(), Call(name, _arguments_in(match["body"]))


def _arguments_in(body: str) -> str:
    parameters = {match["key"].strip(): match["value"].strip() for match in PARAMETER.finditer(body)}
    return json.dumps(parameters, ensure_ascii=False) if parameters else body.strip() or "{}"


def _in_code(text: str, names: Collection[str]) -> Found:
    stripped = text.strip()
    spans = [(match.start("code"), match["code"]) for match in CODE.finditer(text)]
    if stripped.startswith("[") and stripped.endswith(")]"):
        spans.append((0, text))
    left = MOST_CODE
    for start, code in spans:
        for match in CALL.finditer(code):
            name = _offered_name(match["name"], names)
            if name and left > 0:
                arguments = in_parentheses(code[match.end() - 1 : match.end() - 1 + LONGEST_CODE])
                left -= len(arguments)
                yield start + match.start(), Call(name, python_arguments(arguments))


def in_parentheses(code: str) -> str:
    """The code from its opening parenthesis to the closing one; all of it if that is missing."""
    depth = 0
    for match in BRACKET.finditer(code):
        depth += 1 if match[0] in "([{" else -1
        if depth == 0:
            return code[: match.end()]
    return code


def python_arguments(code: str) -> str:
    """The arguments of a call, in parentheses, as JSON if they are literals with names."""
    try:
        with warnings.catch_warnings():
            # Of strange escapes in strings, for example.
            warnings.simplefilter("ignore")
            call = ast.parse(f"_{code}", mode="eval").body
        if isinstance(call, ast.Call) and not call.args and all(keyword.arg for keyword in call.keywords):
            values = {str(keyword.arg): ast.literal_eval(keyword.value) for keyword in call.keywords}
            return json.dumps(values, ensure_ascii=False)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        pass
    return code[1:-1]


def _in_json(text: str, names: Collection[str]) -> Found:
    for start, _, value in json_values(text, OPENING):
        marked = MARKED.search(text, max(0, start - 40), start) is not None
        yield from ((start, call) for call in _calls_of(value, names, marked=marked))


def _calls_of(value: Any, names: Collection[str], *, marked: bool) -> Iterator[Call]:
    for item in value if isinstance(value, list) else [value]:
        if not isinstance(item, dict):
            continue
        call = _call_of(item, names, marked=marked) or _call_of(item.get("function"), names, marked=marked)
        if call:
            yield call
            continue
        for key in LISTS:
            if isinstance(item.get(key), list):
                yield from _calls_of([part for part in item[key] if isinstance(part, dict)], names, marked=marked)


def _call_of(item: Any, names: Collection[str], *, marked: bool) -> Call | None:
    """The call that an object is; the definition of a tool, which has a name and parameters too, is none."""
    if not isinstance(item, dict):
        return None
    named = (_offered_name(item[key], names) for key in NAMES if isinstance(item.get(key), str))
    name = next(filter(None, named), None)
    given = [item[key] for key in ARGUMENTS if key in item]
    if name is None or not (given or marked) or "description" in item or any(map(_is_schema, given)):
        return None
    value = given[0] if given else {}
    return Call(name, value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))


def _is_schema(value: Any) -> bool:
    return isinstance(value, dict) and isinstance(value.get("properties"), dict) and value.get("type") == "object"


def _offered_name(name: str, names: Collection[str]) -> str | None:
    """The tool of this name, with or without the namespace that models are taught to write."""
    bare = name.removeprefix("functions.").strip()
    return name if name in names else bare if bare in names else None
