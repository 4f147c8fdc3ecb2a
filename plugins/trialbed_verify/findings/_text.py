"""Search an answer's text for leaked tokens and markup, encoding errors and calls."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Container, Iterator
from contextlib import suppress
from importlib.resources import files
from itertools import islice, product
from typing import Any

from trialbed.texts import json_leaves
from trialbed.wire import lenient_json, written_calls
from trialbed_verify.findings._answers import CUT, AnsweredRow, function_of, text_of
from trialbed_verify.findings._kinds import Check

_FILE: dict[str, Any] = tomllib.loads(files("trialbed_verify.findings").joinpath("parsers.toml").read_text("utf-8"))
PARSERS = {name: re.compile(pattern) for name, pattern in _FILE["calls"].items()}
LEAKS = {kind: (words, re.compile("|".join(_FILE[group].values()))) for kind, (group, words) in _FILE["leaks"].items()}
CLOSING = re.compile(rf"</(?P<name>{_FILE['arguments']['names']}|[\w.-]{{1,64}})>")
OF_PARSERS = re.compile(_FILE["arguments"]["names"])
CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
SURROGATE = re.compile(r"[\ud800-\udfff]")
NOTHING = re.compile(r"[\s\u200b-\u200d\u2060\ufeff]*")
"""A text without a visible character."""

MARKS = re.compile(r"[<\[\]\u25c1\u0120\u2581\u273f]|functions\.|default_api|assistantfinal")
"""Characters without which nothing leaks."""

UNKNOWN = "unknown"

MOST_TAGS = 200
"""Closing tags per argument that are matched with opening ones."""

EXAMINED = 500_000
"""Characters of the text, of the reasoning, and of all calls that are searched for leaks and odd characters.

Models never generate as many; searching the largest accepted answer would take minutes.
"""


def check_text(answer: AnsweredRow) -> Iterator[Check]:
    """Yield checks of the text, the reasoning and the calls."""
    content, reasoning = answer.content[:EXAMINED], answer.reasoning[:EXAMINED]
    is_empty, is_cut = NOTHING.fullmatch(content) is not None, answer.reason in CUT
    is_silent = is_empty and not any(answer.message.get(key) for key in ("tool_calls", "function_call", "refusal"))
    # An empty answer that announces calls is another finding.
    yield is_silent and not is_cut and answer.reason != "tool_calls", "empty_answer", "", answer.message
    yield from _check_characters(answer, content)
    # A raw completion is the template's own text.
    if not answer.is_raw:
        yield from _find_leaks(answer, content, "the text")
        # The reasoning may speak of tags, but has no control tokens.
        for leak in _find_leaks(answer, reasoning, "the reasoning") if "<" in reasoning else ():
            yield leak[1] != "leaked_tool_call" or leak[3][1:2] in ("|", "\uff5c"), *leak[1:]
    if not answer.is_raw and not answer.calls:
        yield from find_call(answer, content, "text")
        found = find_call(answer, reasoning, "reasoning") if not is_cut else ()
        # Next to a text, a call without the marks of a parser is a plan.
        yield from (one for one in found if is_empty or one[2][2] != UNKNOWN)
    left = EXAMINED
    for function, key in product(map(function_of, answer.listed_calls), ("name", "arguments")):
        text = text_of(function.get(key))[: max(left, 0)]
        left -= len(text) + 1
        if "<" in text or not text.isascii():
            yield from _find_leaks(answer, text, f"a call's {key}", ("leaked_tool_call", "leaked_tokens"))
            yield from _check_characters(answer, text)
        if "</" in text and key == "arguments":
            yield from _find_markup(answer, text, answer.arguments_of(function.get("name")))
        yield "\\u" in text and _has_half(text), "lone_surrogate", f"a call's {key} contain half of a character", text


def has_leaks(text: str) -> bool:
    """Return whether tokens of a template, markup, or the marks of broken encoding are in a text, asked for or not."""
    found = MARKS.search(text) is not None and any(pattern.search(text) for _, pattern in LEAKS.values())
    return found or "\ufffd" in text


def find_call(answer: AnsweredRow, text: str, place: str) -> Iterator[Check]:
    """Yield the first call of an offered tool in a text, unless the request has it too."""
    call = next((call for call in written_calls(text, answer.tool_schemas) if call.is_made), None) if text else None
    if call is not None and not answer.is_asked(text[call.place : call.place + 60]):
        near = text[max(0, call.place - 200) : call.place + 400]
        parser = next((name for name, pattern in PARSERS.items() if pattern.search(near)), UNKNOWN)
        kind = "call_in_reasoning" if place == "reasoning" else "call_in_text"
        yield True, kind, (call.name, place, parser), text if len(text) <= 300 else near[-500:]


def _find_markup(answer: AnsweredRow, arguments: str, own: Container[str]) -> Iterator[Check]:
    """Yield a closing tag of a parser, or of an argument, that an argument has without the tag that opens it."""
    for text in json_leaves(lenient_json(arguments, arguments)):
        for found in islice(CLOSING.finditer(text), MOST_TAGS) if isinstance(text, str) else ():
            tag = found["name"]
            if (tag in own or OF_PARSERS.fullmatch(tag)) and text.find(f"<{tag}", 0, found.start()) < 0:
                yield not answer.is_asked(found[0]), "markup_in_arguments", found[0], text
                return


def _find_leaks(answer: AnsweredRow, text: str, where: str, kinds: Container[str] = LEAKS) -> Iterator[Check]:
    for kind, (words, pattern) in LEAKS.items() if MARKS.search(text) else ():
        # A conversation about templates has them in its questions.
        tokens = dict.fromkeys(match[0] for match in pattern.finditer(text)) if kind in kinds else ()
        if token := next((token for token in tokens if not answer.is_asked(token)), ""):
            yield True, kind, f"{where} has {words}: {token[:80]}", text[text.find(token) :]
            if kind == "leaked_tool_call":
                # Its tokens are those of the call.
                return


def _check_characters(answer: AnsweredRow, text: str) -> Iterator[Check]:
    is_replaced = "\ufffd" in text and not answer.is_asked("\ufffd")
    yield is_replaced, "replacement_characters", text.count("\ufffd"), text
    if not text.isascii():
        is_half = SURROGATE.search(text) is not None
        yield is_half, "lone_surrogate", "the text has half of a character", text
        meant = None if is_half else _redecode(text)
        yield meant and not answer.is_asked(text[:40]), "wrong_encoding", repr((meant or "")[:40]), text
    if not text.isprintable() and (match := CONTROL.search(text)):
        yield True, "control_characters", f"{ord(match[0]):04X}", repr(text)


def _has_half(arguments: str) -> bool:
    """Return whether arguments contain a lone surrogate, escaped or not."""
    with suppress(ValueError, RecursionError):
        return SURROGATE.search(json.dumps(json.loads(arguments), ensure_ascii=False)) is not None
    return False


def _redecode(text: str) -> str | None:
    """Return the intended text of UTF-8 that was read as Latin-1 or Windows-1252; None if it is not that."""
    for encoding in ("latin-1", "cp1252"):
        with suppress(UnicodeError):
            meant = text.encode(encoding).decode()
            return meant if len(text) - len(meant) > 1 else None
    return None
