"""Examines the text of an answer: tokens and markup that leaked into it, its encoding, and calls in it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from trialbed.wire import text_calls
from trialbed_verify.findings._answers import AnsweredRow, function_of
from trialbed_verify.findings._kinds import Finding, finding

TOOL_CALL = re.compile(
    r"</?(?:tool_calls?|function_calls?|tool_use|minimax:tool_call|seed:tool_call|longcat_tool_call)>|<function=[\w.-]+>"
    r"|<invoke name=|<\|(?:tool_call|tool_calls_section|action_start|plugin|python_tag)\w*\|>"
    r"|<[\uff5c|]tool[\u2581_]\w+[\uff5c|]>|<[\uff5c|]tool[^>]{1,40}[\uff5c|]>|\[TOOL_CALLS\]|<arg_key>|functools\["
    r"|<[\uff5c|]DSML[\uff5c|]|\u273f(?:FUNCTION|ARGS|RESULT|RETURN)\u273f|\]<\]minimax\[>\["
    r"|(?<![\w.])functions\.[\w-]+:\d+\s*(?:\{|<\|)"
)
THINKING = re.compile(r"</?(?:think|thinking|seed:think|mm:think)>|[\u25c1]/?think[\u25b7]|\[/?THINK\]")
TOKENS = re.compile(
    r"<\|[A-Za-z0-9_]+\|>|<[\uff5c][^>\n]{1,40}[\uff5c]>|\A<s>|</s>\s*\Z|\[/?INST\]|<<SYS>>|<(?:start|end)_of_turn>"
    r"|<(?:bos|eos|pad|unk)>|<unused\d+>|<extra_id_\d+>|\[UNUSED_TOKEN_\d+\]|\[gMASK\]|\]~b\]|\[e~\[|<0x[0-9A-F]{2}>"
    r"|(?:\u0120[^\W\d_]+){2}|(?:\u2581[^\W\d_]+){3}"
)
"""Control tokens, and pieces of words as tokenizers write them: with their bytes, or with marks for spaces."""
CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
SURROGATE = re.compile(r"[\ud800-\udfff]")

LEAKS = {"leaked_tool_call": TOOL_CALL, "leaked_thinking": THINKING, "leaked_tokens": TOKENS}
MARKS = ("<", "[", "\u25c1", "]", "\u0120", "\u2581", "\u273f", "functions.")
"""Characters without which nothing leaks."""

CUT = ("length", "content_filter", "tool_calls")
"""Finish reasons of answers that may be empty, or whose emptiness is another finding."""

EXAMINED = 500_000
"""Characters of the text, of the reasoning, and of all calls in which leaks and odd characters are looked for.

No answer of a model has as many; an answer of the largest size that is read would take minutes.
"""

WORDS = {
    "leaked_tool_call": "the markup of a tool call",
    "leaked_thinking": "a tag of thinking",
    "leaked_tokens": "a control token",
}


def examine_text(answer: AnsweredRow) -> Iterator[Finding]:
    """Yield faults in the text, and in that of calls."""
    content = answer.content[:EXAMINED]
    if not (content.strip() or answer.calls or answer.message.get("function_call") or answer.message.get("refusal")):
        if answer.reason not in CUT:
            yield finding("empty_answer", "the answer has no text, no calls and no refusal", answer.message)
    elif content:
        # A raw completion is the template's own text.
        if not answer.is_raw and any(mark in content for mark in MARKS):
            yield from _leaks(answer, content, "the text")
        yield from _characters(answer, content)
        yield from _written_calls(answer, content)
    if answer.reasoning and not answer.is_raw:
        yield from _reasoning(answer, answer.reasoning[:EXAMINED])
    left = EXAMINED
    for call in answer.listed_calls:
        for key in ("name", "arguments"):
            text = function_of(call).get(key)
            if not isinstance(text, str):
                continue
            text = text[: max(left, 0)]
            left -= len(text) + 1
            if "<" in text or not text.isascii():
                yield from (
                    found for found in _leaks(answer, text, f"a call's {key}") if found.kind != "leaked_thinking"
                )
                yield from _characters(answer, text)
            if "\\u" in text and _has_half(text):
                yield finding("lone_surrogate", f"a call's {key} contain half of a character", text)


def has_leaks(text: str) -> bool:
    """Return whether tokens of a template, markup, or the marks of broken encoding are in a text, asked for or not."""
    found = any(mark in text for mark in MARKS) and any(pattern.search(text) for pattern in LEAKS.values())
    return found or "\ufffd" in text


def _reasoning(answer: AnsweredRow, text: str) -> Iterator[Finding]:
    """Yield leaks into the reasoning, which may speak of tags but has no control tokens."""
    if "<" not in text:
        return
    for found in _leaks(answer, text, "the reasoning"):
        if found.kind != "leaked_tool_call" or "|" in found.evidence[:2] or "\uff5c" in found.evidence[:2]:
            yield found


def _leaks(answer: AnsweredRow, text: str, where: str) -> Iterator[Finding]:
    for kind, pattern in LEAKS.items():
        for match in pattern.finditer(text):
            # A conversation about templates has them in its questions.
            if not answer.is_asked(match[0]):
                yield finding(kind, f"{where} has {WORDS[kind]}: {match[0]}", text[match.start() :])
                break
        else:
            continue
        if kind == "leaked_tool_call":
            # Its tokens are those of the call.
            return


def _characters(answer: AnsweredRow, text: str) -> Iterator[Finding]:
    if "\ufffd" in text and not answer.is_asked("\ufffd"):
        yield finding("replacement_characters", f"the text has U+FFFD {text.count(chr(0xFFFD))} times", text)
    if text.isascii():
        if not text.isprintable() and (match := CONTROL.search(text)):
            yield finding("control_characters", f"the text has the control character U+{ord(match[0]):04X}", repr(text))
        return
    if SURROGATE.search(text):
        yield finding("lone_surrogate", "the text has half of a character", text)
    elif (meant := _redecode(text)) is not None and not answer.is_asked(text[:40]):
        yield finding("wrong_encoding", f"the text was decoded wrongly; it begins with {meant[:40]!r}", text)
    if match := CONTROL.search(text):
        yield finding("control_characters", f"the text has the control character U+{ord(match[0]):04X}", repr(text))


def _has_half(arguments: str) -> bool:
    """Return whether arguments have half of a character, which may be written as its number."""
    try:
        return SURROGATE.search(json.dumps(json.loads(arguments), ensure_ascii=False)) is not None
    except (ValueError, RecursionError):
        return False


def _redecode(text: str) -> str | None:
    """Return the intended text of UTF-8 that was read as Latin-1 or Windows-1252; None if it is not that."""
    for encoding in ("latin-1", "cp1252"):
        try:
            meant = text.encode(encoding).decode()
        except UnicodeError:
            continue
        return meant if len(text) - len(meant) > 1 else None
    return None


def _written_calls(answer: AnsweredRow, content: str) -> Iterator[Finding]:
    if answer.calls or answer.is_raw or not ("{" in content or "(" in content or "<" in content or "Action" in content):
        return
    names = [name for name in answer.tool_names if name in content]
    for call in text_calls(content, names)[:1] if names else ():
        yield finding("call_in_text", f"a call of {call.name} is in the text", content)
