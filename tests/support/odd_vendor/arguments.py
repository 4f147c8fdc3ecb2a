"""More odd calls, not streamed: their arguments, names and kinds."""

from __future__ import annotations

from typing import Any

from support.odd_vendor import TEXT, Odd, body, call, called, calling
from support.odd_vendor.calls import VALID, offering
from support.odd_vendor.messages import said

INT = {"name": "num", "parameters": {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}}
FREE = {"name": "free", "parameters": {"properties": {"a": {}}}}
NONE = {"name": "now"}
CUSTOM = {"tools": [{"type": "custom", "custom": {"name": "shell"}}]}
SHELL: dict[str, Any] = {"id": "call_1", "type": "custom", "custom": {"name": "shell", "input": "ls"}}
BROKEN = ((False, ("invalid_json",)),)
OTHER_TYPE = ((False, ("wrong_type",)),)

ARGUMENTS = [
    called(
        "name and arguments beside function",
        {"id": "1", "type": "function", "name": "lookup", "arguments": "{}"},
        found=("call_function_missing", "unknown_tool"),
    ),
    called("a list in the list", [call()], found="call_not_object"),
    called("null in the list", None, found="call_not_object"),
    called("arguments null as text", call("null"), calls=OTHER_TYPE),
    called("arguments true", call("true"), calls=OTHER_TYPE),
    called("the end of a parameter", call('{"city": "Oslo</parameter>"}'), found="markup_in_arguments", calls=VALID),
    called("a tag as a value", call('{"city": "<b>Oslo</b>"}'), absent="markup_in_arguments", calls=VALID),
    called("null where any type fits", call("null", "free"), found="arguments_not_object", request=offering(FREE)),
    called("BOM in the arguments", call('\ufeff{"city": "Oslo"}'), calls=BROKEN),
    called("NUL in the arguments", call('{"city": "Oslo"}\x00'), calls=BROKEN),
    called("a line end within a text", call('{"city": "Os\nlo"}'), calls=BROKEN),
    called("a comment", call('{"city": "Oslo"} // x'), calls=BROKEN),
    called("undefined", call("undefined"), calls=BROKEN),
    called("Python's None", call('{"city": None}'), calls=BROKEN),
    called("leading zero", call('{"n": 007}', "num"), calls=BROKEN, request=offering(INT)),
    called("hexadecimal", call('{"n": 0x7}', "num"), calls=BROKEN, request=offering(INT)),
    called("1.0 as an integer", call('{"n": 1.0}', "num"), calls=VALID, request=offering(INT)),
    called("1e400", call('{"n": 1e400}', "num"), request=offering(INT)),
    called("true as an integer", call('{"n": true}', "num"), calls=OTHER_TYPE, request=offering(INT)),
    called("a number as text", call('{"n": "7"}', "num"), calls=OTHER_TYPE, request=offering(INT)),
    called("a lone surrogate escaped", call('{"city": "\\ud83d"}'), calls=VALID),
    called("a lone surrogate", call('{"city": "\ud83d"}'), found="lone_surrogate"),
    called("U+FFFD", call('{"city": "Troms\ufffd"}'), found="replacement_characters"),
    called("a name with a lone surrogate", call(name="look\ud83d"), found="unknown_tool"),
    called("a name that is a number", call(name=7), found="call_function_missing"),
    called("a name of 70,000 letters", call(name="x" * 70000), found="unknown_tool"),
    called("a name with its arguments", call(name='lookup({"city": "Oslo"})'), found="unknown_tool"),
    called("a name with tokens", call(name="lookup<|channel|>commentary"), found=("unknown_tool", "leaked_tokens")),
    called("a tool without parameters, {}", call("{}", "now"), calls=VALID, request=offering(NONE)),
    called("a tool without parameters, empty", call("", "now"), calls=BROKEN, request=offering(NONE)),
    called("no tools were offered", call(), found="unknown_tool", request={"tools": None}),
    called("a type null", call(type=None), found="call_type_missing", calls=VALID),
    called("a custom tool", SHELL, request=CUSTOM, calls=VALID),
    called(
        "a custom tool that is not offered",
        {**SHELL, "custom": {"name": "other", "input": "x"}},
        found="unknown_tool",
        request=CUSTOM,
    ),
    called(
        "a custom tool without input", {**SHELL, "custom": {"name": "shell"}}, found="arguments_missing", request=CUSTOM
    ),
    Odd(
        "finish function_call with tool_calls",
        calling(call(), reason="function_call"),
        "tool_calls",
        calls=VALID,
        found="calls_with_other_finish",
    ),
    Odd(
        "finish tool_call",
        calling(call(), reason="tool_call"),
        "other",
        found=("finish_reason_unknown", "calls_with_other_finish"),
    ),
    Odd("finish tool_use", calling(call(), reason="tool_use"), "other", found="finish_reason_unknown"),
    called("the same call twice", call(), call(id="call_2"), calls=VALID * 2),
    Odd(
        "empty content with calls",
        body({"role": "assistant", "content": "", "tool_calls": [call()]}, "tool_calls"),
        "tool_calls",
        calls=VALID,
    ),
    Odd(
        "function_call arguments an object",
        body(
            {"role": "assistant", "content": None, "function_call": {"name": "lookup", "arguments": {"city": "Oslo"}}},
            "function_call",
        ),
        "tool_calls",
        found=("legacy_function_call", "arguments_not_text"),
    ),
    Odd("function_call null", body(said(TEXT, function_call=None, tool_calls=None))),
    Odd("an empty list beside a text", body(said(TEXT, tool_calls=[]))),
    Odd(
        "in the reasoning",
        body(
            said(
                "",
                reasoning_content="<|tool_call_begin|>functions.lookup:0<|tool_call_argument_begin|>{}<|tool_call_end|>",
            )
        ),
        found=("leaked_tool_call", "empty_answer"),
    ),
    called("half of a character as a number", call('{"city": "\\ud83d"}'), found="lone_surrogate"),
    called("both halves of a character", call('{"city": "\\ud83d\\ude00"}'), absent="lone_surrogate"),
]
