"""Odd tool calls, not streamed."""

from __future__ import annotations

from support.odd_vendor import RIGHT, TEXT, USAGE, Odd, body, call, calling

VALID = ((True, ()),)
NAN = '{"city": "Oslo", "n": NaN}'
FUNCTION = {"role": "assistant", "content": None, "function_call": {"name": "lookup", "arguments": '{"city": "Oslo"}'}}
OLD = {"tools": None, "functions": [{"name": "lookup", "parameters": {"type": "object", "required": ["city"]}}]}
FORCED = {"tool_choice": {"type": "function", "function": {"name": "lookup"}}}
NUMBER = {"name": "count", "parameters": {"type": "object", "properties": {"n": {"type": "number"}}}}
SLOW = {"name": "slow", "parameters": {"properties": {"a": {"type": "string", "pattern": r"^(\w+\s?)*$"}}}}
SELF = {"name": "self", "parameters": {"$ref": "#"}}
WORD = {"name": "word", "parameters": {"properties": {"a": {"pattern": r"^\p{L}+$"}, "b": {"pattern": "^(?<y>x)$"}}}}
DATA = {"name": "data", "parameters": {"properties": {"a": {"enum": [{"$ref": "#/absent"}]}}}}


def offering(function: dict[str, object]) -> dict[str, object]:
    return {"tools": [{"type": "function", "function": function}]}


CALLS = [
    Odd(f"{RIGHT}: a call", calling(call()), "tool_calls", calls=VALID),
    Odd(
        f"{RIGHT}: two calls",
        calling(call(), call(id="call_2")),
        "tool_calls",
        calls=VALID * 2,
    ),
    Odd(
        f"{RIGHT}: a call beside a text",
        body({"role": "assistant", "content": TEXT, "tool_calls": [call()]}, "tool_calls"),
        "tool_calls",
        calls=VALID,
    ),
    Odd(f"{RIGHT}: a forced call that ends with stop", calling(call(), reason="stop"), calls=VALID, request=FORCED),
    Odd(f"{RIGHT}: a function_call that was asked for", body(FUNCTION, "function_call"), "tool_calls", request=OLD),
    # The arguments.
    Odd("arguments as an object", calling(call({"city": "Oslo"})), "tool_calls", found=("arguments_not_text",)),
    Odd("arguments as a list", calling(call(["Oslo"])), "tool_calls", found=("arguments_not_text",)),
    Odd(
        "arguments missing",
        calling(call(...)),
        "tool_calls",
        found=("arguments_missing",),
        calls=((False, ("wrong_type",)),),
    ),
    Odd("arguments null", calling(call(None)), "tool_calls", found=("arguments_missing",)),
    Odd(
        "arguments empty", calling(call("")), "tool_calls", calls=((False, ("invalid_json",)),), found=("invalid_json",)
    ),
    Odd("arguments blank", calling(call(" \n")), "tool_calls", calls=((False, ("invalid_json",)),)),
    Odd("arguments cut", calling(call('{"city": "Os')), "tool_calls", calls=((False, ("invalid_json",)),)),
    Odd(
        "arguments with a text behind them",
        calling(call('{"city": "Oslo"} I hope this helps')),
        "tool_calls",
        calls=((False, ("invalid_json",)),),
    ),
    Odd("arguments in a fence", calling(call('```json\n{"city": "Oslo"}\n```')), "tool_calls", found=("invalid_json",)),
    Odd("arguments in single quotes", calling(call("{'city': 'Oslo'}")), "tool_calls", found=("invalid_json",)),
    Odd("arguments with a comma too many", calling(call('{"city": "Oslo",}')), "tool_calls", found=("invalid_json",)),
    Odd(
        "arguments encoded twice",
        calling(call('"{\\"city\\": \\"Oslo\\"}"')),
        "tool_calls",
        found=("arguments_encoded_twice",),
        calls=((False, ("wrong_type",)),),
    ),
    Odd(
        "arguments with a key twice",
        calling(call('{"city": "Oslo", "city": "Rome"}')),
        "tool_calls",
        found=("duplicate_keys",),
        calls=VALID,
    ),
    Odd("arguments with NaN", calling(call(NAN)), "tool_calls", calls=((False, ("invalid_json",)),)),
    Odd(
        "NaN where a number belongs",
        calling(call('{"n": Infinity}', "count")),
        "tool_calls",
        calls=((False, ("invalid_json",)),),
        request=offering(NUMBER),
    ),
    Odd("arguments of the wrong type", calling(call('{"city": 7}')), "tool_calls", found=("wrong_type",)),
    Odd("arguments without a required one", calling(call("{}")), "tool_calls", found=("missing_required",)),
    Odd("arguments as a JSON list", calling(call("[1]")), "tool_calls", calls=((False, ("wrong_type",)),)),
    Odd(
        "an integer beyond 64 bits",
        calling(call('{"n": 123456789012345678901234567890}', "count")),
        "tool_calls",
        calls=VALID,
        request=offering(NUMBER),
    ),
    Odd(
        "nested a thousand deep",
        calling(call("[" * 1000 + "]" * 1000)),
        "tool_calls",
        calls=((False, ("invalid_json",)),),
    ),
    Odd(
        "a text on which a pattern runs for ever",
        calling(call('{"a": "' + "a" * 34 + '!"}', "slow")),
        "tool_calls",
        calls=((False, ("constraint",)),),
        request=offering(SLOW),
    ),
    Odd(
        "a schema that is itself",
        calling(call("{}", "self")),
        "tool_calls",
        calls=((None, ("unusable_schema",)),),
        request=offering(SELF),
    ),
    Odd(
        "patterns of ECMA 262",
        calling(call('{"a": "Ærø", "b": "x"}', "word")),
        "tool_calls",
        calls=VALID,
        request=offering(WORD),
    ),
    Odd(
        "a reference in data",
        calling(call('{"a": {"$ref": "#/absent"}}', "data")),
        "tool_calls",
        calls=VALID,
        request=offering(DATA),
    ),
    # The name, the id and the type.
    Odd("an unknown tool", calling(call(name="other")), "tool_calls", found=("unknown_tool",)),
    Odd(
        "a name with a prefix",
        calling(call(name="functions.lookup")),
        "tool_calls",
        found=("unknown_tool", "name_nearly_offered"),
    ),
    Odd(
        "a name in capitals", calling(call(name="Lookup")), "tool_calls", found=("unknown_tool", "name_nearly_offered")
    ),
    Odd(
        "a name with a space",
        calling(call(name="lookup ")),
        "tool_calls",
        found=("unknown_tool", "name_nearly_offered"),
    ),
    Odd("a name that is empty", calling(call(name="")), "tool_calls", found=("call_function_missing",)),
    Odd("a name that is null", calling(call(name=None)), "tool_calls", found=("call_function_missing",)),
    Odd(
        "a call without a function",
        calling({"id": "1", "type": "function"}),
        "tool_calls",
        found=("call_function_missing",),
    ),
    Odd("a call that is a string", calling("lookup"), "tool_calls", found=("call_not_object",)),
    Odd("an id that is missing", calling(call(id=...)), "tool_calls", found=("call_id_missing",), calls=VALID),
    Odd("an id that is null", calling(call(id=None)), "tool_calls", found=("call_id_missing",)),
    Odd("an id that is empty", calling(call(id="")), "tool_calls", found=("call_id_missing",)),
    Odd("an id that is a number", calling(call(id=7)), "tool_calls", found=("call_id_not_text",)),
    Odd("two calls with one id", calling(call(), call()), "tool_calls", found=("call_id_duplicate",), calls=VALID * 2),
    Odd("a type that is missing", calling(call(type=...)), "tool_calls", found=("call_type_missing",), calls=VALID),
    Odd("a type that is another", calling(call(type="tool")), "tool_calls", found=("call_type_wrong",)),
    Odd(
        "control tokens in the arguments",
        calling(call('{"city": "Oslo<|im_end|>"}')),
        "tool_calls",
        found=("leaked_tokens",),
    ),
    # How they are sent.
    Odd(
        "a legacy function_call",
        body(FUNCTION, "function_call"),
        "tool_calls",
        found=("legacy_function_call",),
        absent=("empty_answer",),
        calls=VALID,
        also=lambda row: row["finish_reason"] == "function_call",
    ),
    Odd(
        "tool_calls as an object",
        body({"role": "assistant", "content": None, "tool_calls": call()}, "tool_calls"),
        "tool_calls",
        found=("tool_calls_not_list",),
        calls=(),
    ),
    Odd(
        "tool_calls as a string",
        body({"role": "assistant", "content": TEXT, "tool_calls": "lookup"}, "stop"),
        found=("tool_calls_not_list",),
    ),
    Odd(
        "the finish reason without calls", body(reason="tool_calls"), "tool_calls", found=("tool_calls_without_calls",)
    ),
    Odd("an empty list of calls", calling(), "tool_calls", found=("tool_calls_without_calls",)),
    Odd("calls with stop", calling(call(), reason="stop"), found=("calls_with_other_finish",), calls=VALID),
    Odd("calls with length", calling(call(), reason="length"), "other", absent=("calls_with_other_finish",)),
    Odd(
        "a call without content",
        body({"role": "assistant", "tool_calls": [call()]}, "tool_calls"),
        "tool_calls",
        found=("content_missing",),
        calls=VALID,
    ),
    Odd(
        "fifty calls",
        calling(*(call(id=f"call_{n}") for n in range(50))),
        "tool_calls",
        calls=VALID * 50,
        absent=("call_id_duplicate",),
    ),
    Odd(
        "two calls where one is asked for",
        calling(call(), call(id="2")),
        "tool_calls",
        found=("parallel_calls",),
        request={"parallel_tool_calls": False},
    ),
    Odd(
        f"{RIGHT}: one call where one is asked for",
        calling(call(), usage=USAGE),
        "tool_calls",
        request={"parallel_tool_calls": False},
    ),
]
