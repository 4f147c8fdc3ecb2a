"""More odd calls, not streamed: their arguments, names and kinds."""

from __future__ import annotations

from typing import Any

from support.odd_vendor import TEXT, Odd, body, call, calling
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
    Odd(
        "name and arguments beside function",
        calling({"id": "1", "type": "function", "name": "lookup", "arguments": "{}"}),
        "tool_calls",
        found=("call_function_missing", "unknown_tool"),
    ),
    Odd("a list in the list", calling([call()]), "tool_calls", found=("call_not_object",)),
    Odd("null in the list", calling(None), "tool_calls", found=("call_not_object",)),
    Odd("arguments null as text", calling(call("null")), "tool_calls", calls=OTHER_TYPE),
    Odd("arguments true", calling(call("true")), "tool_calls", calls=OTHER_TYPE),
    Odd(
        "null where any type fits",
        calling(call("null", "free")),
        "tool_calls",
        found=("arguments_not_object",),
        request=offering(FREE),
    ),
    Odd("BOM in the arguments", calling(call('\ufeff{"city": "Oslo"}')), "tool_calls", calls=BROKEN),
    Odd("NUL in the arguments", calling(call('{"city": "Oslo"}\x00')), "tool_calls", calls=BROKEN),
    Odd("a line end within a text", calling(call('{"city": "Os\nlo"}')), "tool_calls", calls=BROKEN),
    Odd("a comment", calling(call('{"city": "Oslo"} // x')), "tool_calls", calls=BROKEN),
    Odd("undefined", calling(call("undefined")), "tool_calls", calls=BROKEN),
    Odd("Python's None", calling(call('{"city": None}')), "tool_calls", calls=BROKEN),
    Odd("leading zero", calling(call('{"n": 007}', "num")), "tool_calls", calls=BROKEN, request=offering(INT)),
    Odd("hexadecimal", calling(call('{"n": 0x7}', "num")), "tool_calls", calls=BROKEN, request=offering(INT)),
    Odd("1.0 as an integer", calling(call('{"n": 1.0}', "num")), "tool_calls", calls=VALID, request=offering(INT)),
    Odd("1e400", calling(call('{"n": 1e400}', "num")), "tool_calls", request=offering(INT)),
    Odd(
        "true as an integer", calling(call('{"n": true}', "num")), "tool_calls", calls=OTHER_TYPE, request=offering(INT)
    ),
    Odd("a number as text", calling(call('{"n": "7"}', "num")), "tool_calls", calls=OTHER_TYPE, request=offering(INT)),
    Odd("a lone surrogate escaped", calling(call('{"city": "\\ud83d"}')), "tool_calls", calls=VALID),
    Odd("a lone surrogate", calling(call('{"city": "\ud83d"}')), "tool_calls", found=("lone_surrogate",)),
    Odd("U+FFFD", calling(call('{"city": "Troms\ufffd"}')), "tool_calls", found=("replacement_characters",)),
    Odd("a name with a lone surrogate", calling(call(name="look\ud83d")), "tool_calls", found=("unknown_tool",)),
    Odd("a name that is a number", calling(call(name=7)), "tool_calls", found=("call_function_missing",)),
    Odd("a name of 70,000 letters", calling(call(name="x" * 70000)), "tool_calls", found=("unknown_tool",)),
    Odd(
        "a name with its arguments",
        calling(call(name='lookup({"city": "Oslo"})')),
        "tool_calls",
        found=("unknown_tool",),
    ),
    Odd(
        "a name with tokens",
        calling(call(name="lookup<|channel|>commentary")),
        "tool_calls",
        found=("unknown_tool", "leaked_tokens"),
    ),
    Odd("a tool without parameters, {}", calling(call("{}", "now")), "tool_calls", calls=VALID, request=offering(NONE)),
    Odd(
        "a tool without parameters, empty", calling(call("", "now")), "tool_calls", calls=BROKEN, request=offering(NONE)
    ),
    Odd("no tools were offered", calling(call()), "tool_calls", found=("unknown_tool",), request={"tools": None}),
    Odd("a type null", calling(call(type=None)), "tool_calls", found=("call_type_missing",), calls=VALID),
    Odd("a custom tool", calling(SHELL), "tool_calls", request=CUSTOM, calls=VALID),
    Odd(
        "a custom tool that is not offered",
        calling({**SHELL, "custom": {"name": "other", "input": "x"}}),
        "tool_calls",
        found=("unknown_tool",),
        request=CUSTOM,
    ),
    Odd(
        "a custom tool without input",
        calling({**SHELL, "custom": {"name": "shell"}}),
        "tool_calls",
        found=("arguments_missing",),
        request=CUSTOM,
    ),
    Odd(
        "finish function_call with tool_calls",
        calling(call(), reason="function_call"),
        "tool_calls",
        calls=VALID,
        found=("calls_with_other_finish",),
    ),
    Odd(
        "finish tool_call",
        calling(call(), reason="tool_call"),
        "other",
        found=("finish_reason_unknown", "calls_with_other_finish"),
    ),
    Odd("finish tool_use", calling(call(), reason="tool_use"), "other", found=("finish_reason_unknown",)),
    Odd("the same call twice", calling(call(), call(id="call_2")), "tool_calls", calls=VALID * 2),
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
    Odd(
        "half of a character as a number", calling(call('{"city": "\\ud83d"}')), "tool_calls", found=("lone_surrogate",)
    ),
    Odd(
        "both halves of a character",
        calling(call('{"city": "\\ud83d\\ude00"}')),
        "tool_calls",
        absent=("lone_surrogate",),
    ),
]
