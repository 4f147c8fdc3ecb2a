"""A row of results as the examiners see it, and the search of its text for leaks, encoding errors and calls."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable, Container, Iterator, Mapping
from contextlib import suppress
from functools import cached_property
from importlib.resources import files
from itertools import islice, product
from typing import Any, TypeGuard

from trialbed.texts import json_leaves
from trialbed.wire import lenient_json, written_calls
from trialbed.wire.dialects.chat_completions import answered_calls, first_choice, read_request
from trialbed_verify.call_schemas import declared_schemas
from trialbed_verify.findings._kinds import Check
from trialbed_verify.rows import offered_tools, sent_request, settle_row, usage_of

Json = Any

Count = Callable[[str], int | None]
"""Counts the tokens of a text; None if it cannot."""

CUT = ("length", "content_filter")
"""Finish reasons of answers that ended early."""


class AnsweredRow:
    """The request and the answer of a row.

    Attributes:
        count: the model's own tokenizer, if available.
        complete: whether the row is a success with a completion.
        request: the body that was sent, with the extra fields.
        choices: the choices that are objects; ``choice`` is the one that counts, and contains ``message``.
        calls: the message's ``tool_calls`` of any type; ``listed_calls`` are the objects among them.
        made: the calls, including a legacy one.
        content: the message's text; the texts of typed parts are joined.
        reason: the finish reason.
        is_raw: whether a raw prompt was sent instead of messages.
        reported_usage: the unchanged usage, from the first of the fields that vendors use for it.
        usage: its valid counts, including tokens of thoughts.
    """

    def __init__(self, row: Mapping[str, Any], count: Count | None = None) -> None:
        self.row, self.count, self.request = settle_row(row), count or (lambda _: None), sent_request(row)
        self.complete = row.get("status") == "success" and isinstance(row.get("response"), dict)
        self.response: dict[str, Json] = row["response"] if self.complete else {}
        self.choices, self.choice = objects_of(self.response.get("choices")), first_choice(self.response)
        self.message = object_of(self.choice.get("message"))
        self.calls: Json = self.message.get("tool_calls")
        self.listed_calls, self.made = objects_of(self.calls), answered_calls(self.message)
        self.content = text_of(self.message.get("content") or self.choice.get("text"))
        self.reason, self.is_raw = text_of(row.get("finish_reason")), "prompt" in self.request
        self.wanted_calls, self.reported_usage = read_request(self.request).tool_choice, usage_of(self.response)
        counts = {**object_of(self.reported_usage.get("completion_tokens_details")), **self.reported_usage}
        self.usage = {name: count for name, count in counts.items() if is_count(count)}
        # Routers send it in two fields at once.
        thoughts = [text_of(self.message.get(key)) for key in ("reasoning_content", "reasoning")]
        details = objects_of(self.message.get("reasoning_details"))
        parts = [text_of(detail.get(key)) for detail in details for key in ("text", "summary")]
        self.reasoning = max(thoughts, key=len) or "".join(parts)

    def is_asked(self, text: str) -> bool:
        """Return whether a text occurs in the request."""
        return text in self._request_text or json.dumps(text, ensure_ascii=False)[1:-1] in self._request_text

    @cached_property
    def _request_text(self) -> str:
        return json.dumps(self.request, ensure_ascii=False)

    @cached_property
    def tool_schemas(self) -> dict[str, Any]:
        """Return the names of the tools with the schemas of their arguments."""
        return declared_schemas(offered_tools(self.request))

    def arguments_of(self, name: Json) -> dict[str, Json]:
        """Return the schemas of a tool's arguments."""
        schema = self.tool_schemas.get(name) if isinstance(name, str) else None
        return object_of(object_of(schema).get("properties"))

    @cached_property
    def text(self) -> str:
        """Return all generated text of every choice, including reasoning, refusals and calls."""
        raw = "".join(text_of(choice.get("text")) for choice in self.choices) if self.is_raw else ""
        parts = [self.reasoning]
        for message in [object_of(choice.get("message")) or {"content": choice.get("text")} for choice in self.choices]:
            functions = [*map(function_of, list_of(message.get("tool_calls"))), object_of(message.get("function_call"))]
            parts += [text_of(message.get("content")), text_of(message.get("refusal"))]
            parts += [str(part) for function in functions for part in function.values()]
        return raw or "".join(parts)


def is_whole(value: Json) -> bool:
    """Return whether a value is a whole number."""
    return isinstance(value, int) and not isinstance(value, bool)


def is_count(value: Json) -> TypeGuard[int]:
    """Return whether a value is a number of tokens."""
    return is_whole(value) and value >= 0


def function_of(call: Json) -> dict[str, Json]:
    """Return the function of a call or of a declared tool; empty if missing."""
    return object_of(object_of(call).get("function"))


def alternatives_of(token: Json) -> list[Json]:
    """Return the alternatives of a token with log probabilities; empty if missing."""
    return list_of(object_of(token).get("top_logprobs"))


def text_of(content: Json) -> str:
    """Return the text of a message's content, which may come in typed parts."""
    if isinstance(content, list):
        return "".join(text for part in objects_of(content) if isinstance(text := part.get("text"), str))
    return content if isinstance(content, str) else ""


def object_of(value: Json) -> dict[str, Json]:
    """Return a value if it is an object; else an empty one."""
    return value if isinstance(value, dict) else {}


def list_of(value: Json) -> list[Json]:
    """Return a value if it is a list; else an empty one."""
    return value if isinstance(value, list) else []


def objects_of(value: Json) -> list[dict[str, Json]]:
    """Return the objects in a list; empty if it is not a list."""
    return [one for one in list_of(value) if isinstance(one, dict)]


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
