"""Odd tool calls, not streamed."""

from __future__ import annotations

from support.odd_vendor import RIGHT, TEXT, USAGE, Odd, body, call, called, calling, unfit

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
    called(f"{RIGHT}: a call", call(), calls=VALID),
    called(f"{RIGHT}: two calls", call(), call(id="call_2"), calls=VALID * 2),
    Odd(
        f"{RIGHT}: a call beside a text",
        body({"role": "assistant", "content": TEXT, "tool_calls": [call()]}, "tool_calls"),
        "tool_calls",
        calls=VALID,
    ),
    Odd(f"{RIGHT}: a forced call that ends with stop", calling(call(), reason="stop"), calls=VALID, request=FORCED),
    Odd(f"{RIGHT}: a function_call that was asked for", body(FUNCTION, "function_call"), "tool_calls", request=OLD),
    # The arguments.
    called("arguments as an object", call({"city": "Oslo"}), found="arguments_not_text"),
    called("arguments as a list", call(["Oslo"]), found="arguments_not_text"),
    called("arguments missing", call(...), found="arguments_missing", calls=unfit("wrong_type")),
    called("arguments null", call(None), found="arguments_missing"),
    called("arguments empty", call(""), calls=unfit("invalid_json"), found="invalid_json"),
    called("arguments blank", call(" \n"), calls=unfit("invalid_json")),
    called("arguments cut", call('{"city": "Os'), calls=unfit("invalid_json")),
    called(
        "arguments with a text behind them", call('{"city": "Oslo"} I hope this helps'), calls=unfit("invalid_json")
    ),
    called("arguments in a fence", call('```json\n{"city": "Oslo"}\n```'), found="invalid_json"),
    called("arguments in single quotes", call("{'city': 'Oslo'}"), found="invalid_json"),
    called("arguments with a comma too many", call('{"city": "Oslo",}'), found="invalid_json"),
    called(
        "arguments encoded twice",
        call('"{\\"city\\": \\"Oslo\\"}"'),
        found="arguments_encoded_twice",
        calls=unfit("wrong_type"),
    ),
    called("arguments with a key twice", call('{"city": "Oslo", "city": "Rome"}'), found="duplicate_keys", calls=VALID),
    called("arguments with NaN", call(NAN), calls=unfit("invalid_json")),
    called(
        "NaN where a number belongs",
        call('{"n": Infinity}', "count"),
        calls=unfit("invalid_json"),
        request=offering(NUMBER),
    ),
    called("arguments of the wrong type", call('{"city": 7}'), found="wrong_type"),
    called("arguments without a required one", call("{}"), found="missing_required"),
    called("arguments as a JSON list", call("[1]"), calls=unfit("wrong_type")),
    called(
        "an integer beyond 64 bits",
        call('{"n": 123456789012345678901234567890}', "count"),
        calls=VALID,
        request=offering(NUMBER),
    ),
    called("nested a thousand deep", call("[" * 1000 + "]" * 1000), calls=unfit("invalid_json")),
    called(
        "a text on which a pattern runs for ever",
        call('{"a": "' + "a" * 34 + '!"}', "slow"),
        calls=unfit("constraint"),
        request=offering(SLOW),
    ),
    called(
        "a schema that is itself", call("{}", "self"), calls=((None, ("unusable_schema",)),), request=offering(SELF)
    ),
    called("patterns of ECMA 262", call('{"a": "Ærø", "b": "x"}', "word"), calls=VALID, request=offering(WORD)),
    called("a reference in data", call('{"a": {"$ref": "#/absent"}}', "data"), calls=VALID, request=offering(DATA)),
    # The name, the id and the type.
    called("an unknown tool", call(name="other"), found="unknown_tool"),
    called("a name with a prefix", call(name="functions.lookup"), found=("unknown_tool", "name_nearly_offered")),
    called("a name in capitals", call(name="Lookup"), found=("unknown_tool", "name_nearly_offered")),
    called("a name with a space", call(name="lookup "), found=("unknown_tool", "name_nearly_offered")),
    called("a name that is empty", call(name=""), found="call_function_missing"),
    called("a name that is null", call(name=None), found="call_function_missing"),
    called("a call without a function", {"id": "1", "type": "function"}, found="call_function_missing"),
    called("a call that is a string", "lookup", found="call_not_object"),
    called("an id that is missing", call(id=...), found="call_id_missing", calls=VALID),
    called("an id that is null", call(id=None), found="call_id_missing"),
    called("an id that is empty", call(id=""), found="call_id_missing"),
    called("an id that is a number", call(id=7), found="call_id_not_text"),
    called("two calls with one id", call(), call(), found="call_id_duplicate", calls=VALID * 2),
    called("a type that is missing", call(type=...), found="call_type_missing", calls=VALID),
    called("a type that is another", call(type="tool"), found="call_type_wrong"),
    called("control tokens in the arguments", call('{"city": "Oslo<|im_end|>"}'), found="leaked_tokens"),
    # How they are sent.
    Odd(
        "a legacy function_call",
        body(FUNCTION, "function_call"),
        "tool_calls",
        found="legacy_function_call",
        absent="empty_answer",
        calls=VALID,
        also=lambda row: row["finish_reason"] == "function_call",
    ),
    Odd(
        "tool_calls as an object",
        body({"role": "assistant", "content": None, "tool_calls": call()}, "tool_calls"),
        "tool_calls",
        found="tool_calls_not_list",
        calls=(),
    ),
    Odd(
        "tool_calls as a string",
        body({"role": "assistant", "content": TEXT, "tool_calls": "lookup"}, "stop"),
        found="tool_calls_not_list",
    ),
    Odd("the finish reason without calls", body(reason="tool_calls"), "tool_calls", found="tool_calls_without_calls"),
    called("an empty list of calls", found="tool_calls_without_calls"),
    Odd("calls with stop", calling(call(), reason="stop"), found="calls_with_other_finish", calls=VALID),
    Odd("calls with length", calling(call(), reason="length"), "other", absent="calls_with_other_finish"),
    Odd(
        "a call without content",
        body({"role": "assistant", "tool_calls": [call()]}, "tool_calls"),
        "tool_calls",
        found="content_missing",
        calls=VALID,
    ),
    called("fifty calls", *(call(id=f"call_{n}") for n in range(50)), calls=VALID * 50, absent="call_id_duplicate"),
    called(
        "two calls where one is asked for",
        call(),
        call(id="2"),
        found="parallel_calls",
        request={"parallel_tool_calls": False},
    ),
    Odd(
        f"{RIGHT}: one call where one is asked for",
        calling(call(), usage=USAGE),
        "tool_calls",
        request={"parallel_tool_calls": False},
    ),
]
