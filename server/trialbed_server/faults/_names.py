"""The faults by name, with their settings."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

NONE = "none"


class About(NamedTuple):
    """The effect of a fault, and its settings with their defaults; ``name:value`` sets the first one."""

    text: str
    settings: Mapping[str, Any] = MappingProxyType({})


FAULTS: MappingProxyType[str, About] = MappingProxyType(
    {
        NONE: About("a right answer"),
        "status": About("an HTTP error in OpenAI's form", {"status": 500, "retry_after": 0.0}),
        "reset_before": About("the connection is reset before any answer"),
        "close_before": About("the connection is closed before any answer"),
        "reset_midstream": About("the connection is reset in the middle of the body"),
        "cut_stream": About("the connection is closed in the middle of the body"),
        "truncated": About("the body ends properly, but in the middle of the answer"),
        "no_done": About("a stream without [DONE]"),
        "no_finish_reason": About("an answer without any finish reason"),
        "malformed_event": About("an event that is not JSON, in the middle"),
        "error_event": About("an error as an event, in the middle"),
        "error_body": About("HTTP 200 with an error as its body"),
        "html": About("HTTP 200 with a web page"),
        "wrong_content_type": About("a stream with the content type text/plain"),
        "null_message": About("a completion whose message is null"),
        "no_choices": About("a completion without choices"),
        "empty": About("HTTP 200 with an empty body"),
        "null_usage": About("usage with a null in it"),
        "usage_in_choice": About("usage in the last choice only"),
        "no_index": About("fragments of tool calls without their index"),
        "name_fragments": About("names of tools in fragments"),
        "two_choices": About("two choices"),
        "reasoning": About("reasoning before the answer"),
        "finish": About("another finish reason", {"reason": "length"}),
        "calls_with_stop": About("tool calls that end with the finish reason stop"),
        "unknown_tool": About("a call of a tool that was not offered"),
        "bad_arguments": About("a call whose arguments do not parse"),
        "wrong_tool": About("a call of another tool than the right one"),
        "never_calls": About("a text instead of a call"),
        "always_calls": About("a call instead of a text, where tools are offered"),
        "leaks": About("a mark of the chat template at the end of the text", {"marker": "<|im_end|>"}),
        "lossy_arguments": About("arguments whose values have all become strings"),
        "forgetful": About("no calls from a turn of the conversation on", {"turns": 3}),
        "short_context": About("tools beyond a number of tokens are not seen", {"tokens": 8000}),
        "ignores": About(
            "parameters of requests are ignored, `+` between several",
            {"parameter": "tool_choice+parallel_tool_calls+response_format+max_tokens"},
        ),
        "refuses": About("requests with one of these parameters get HTTP 400", {"parameter": "logprobs"}),
        "echo_key": About("an error that repeats the client's key", {"status": 401}),
        "slow": About("seconds before the first token", {"seconds": 1.0}),
        "silent": About("no answer at all"),
    }
)

ANSWERS: MappingProxyType[str, About] = MappingProxyType(
    {
        "share": About("share of the requests with tools that get a call, 0 to 1", {"share": 0.45}),
        "invert": About("whether these decisions are reversed", {"invert": False}),
        "flips": About("share of decisions that are reversed, drawn anew each time", {"flips": 0.0}),
        "test_set": About("a file of bench verify --write-test-set, whose right answers are given", {"test_set": ""}),
        "first_token": About("seconds before the first token", {"first_token": 0.0}),
        "gap": About("seconds before each further event", {"gap": 0.0}),
    }
)
"""The settings of right answers."""
