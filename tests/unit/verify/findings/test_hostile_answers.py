"""However long an answer of a vendor is, and whatever it consists of, it is examined in a short time."""

from __future__ import annotations

import json
from typing import Any

from support.backtracking import processor_time
from support.cases import for_each

from trialbed_verify.findings import examine

ASKED = "what do <think>, <|im_end|>, [INST] and \ufffd mean?"
PIECES = (
    "<think>",
    "<|im_end|>",
    "[INST]",
    "<",
    "[",
    '{"a":',
    "```python\nlook(",
    "\ufffd",
    "\u2581a",
    "functions.",
    "</parameter>",
    "<parameter></parameter>",
    "look {",
    '"name": "look", "arguments": ',
    "<tool_call>look ",
    "\ud800",
)
SIZE = 1_000_000


def row(message: dict[str, Any], reason: str = "stop") -> dict[str, Any]:
    tool = {"type": "function", "function": {"name": "look", "parameters": {"type": "object"}}}
    choice = {"index": 0, "message": {"role": "assistant", **message}, "finish_reason": reason}
    return {
        "status": "success",
        "finish_reason": reason,
        "request": {"model": "m", "messages": [{"role": "user", "content": ASKED * 10_000}], "tools": [tool]},
        "response": {"id": "x", "model": "m", "choices": [choice]},
    }


def calls(*arguments: str) -> dict[str, Any]:
    made = [
        {"id": str(i), "type": "function", "function": {"name": "look", "arguments": text}}
        for i, text in enumerate(arguments)
    ]
    return row({"content": None, "tool_calls": made}, "tool_calls")


@for_each("piece", PIECES, ids=ascii)
@for_each("place", ["text", "reasoning", "calls"])
def test_no_text_takes_long(place: str, piece: str) -> None:
    text = piece * (SIZE // 5 // len(piece))
    part = len(text) // 30
    answers = {
        "text": row({"content": text}),
        "reasoning": row({"content": "hi", "reasoning_content": text}),
        "calls": calls(*(text[start : start + part] for start in range(0, len(text), part))),
    }
    # Ten times as long as on an idle machine; if each token were looked for in the request, it would be minutes.
    with processor_time(4):
        examine(answers[place])


def test_tags_that_open_late_take_no_longer() -> None:
    text = "x" * 250_000 + "<parameter" + "</parameter>" * 20_000
    with processor_time(4):
        found = {one.kind for one in examine(calls(json.dumps({"a": text})))}
    assert "markup_in_arguments" not in found


def test_a_key_that_is_there_twice_among_many_is_found_in_a_short_time() -> None:
    keys = {f"k{number}": 1 for number in range(40_000)}
    text = json.dumps(keys)[:-1] + ', "k39999": 2}'
    with processor_time(20):
        found = {one.kind: one.message for one in examine(calls(text))}
    assert "'k39999' twice" in found["duplicate_keys"]
