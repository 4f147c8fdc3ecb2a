"""The faults by name, with their settings."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

NONE = "none"


class FaultDescription(NamedTuple):
    """The effect of a fault, and its settings with their defaults; ``name:value`` sets the first one."""

    text: str
    settings: Mapping[str, Any] = MappingProxyType({})


FAULTS: MappingProxyType[str, FaultDescription] = MappingProxyType(
    {
        NONE: FaultDescription("a right answer"),
        "status": FaultDescription("an HTTP error in OpenAI's form", {"status": 500, "retry_after": 0.0}),
        "reset_before": FaultDescription("the connection is reset before any answer"),
        "close_before": FaultDescription("the connection is closed before any answer"),
        "reset_midstream": FaultDescription("the connection is reset in the middle of the body"),
        "cut_stream": FaultDescription("the connection is closed in the middle of the body"),
        "truncated": FaultDescription("the body ends properly, but in the middle of the answer"),
        "no_done": FaultDescription("a stream without [DONE]"),
        "no_finish_reason": FaultDescription("an answer without any finish reason"),
        "malformed_event": FaultDescription("an event that is not JSON, in the middle"),
        "error_event": FaultDescription("an error as an event, in the middle"),
        "error_body": FaultDescription("HTTP 200 with an error as its body"),
        "html": FaultDescription("HTTP 200 with a web page"),
        "wrong_content_type": FaultDescription("a stream with the content type text/plain"),
        "null_message": FaultDescription("a completion whose message is null"),
        "no_choices": FaultDescription("a completion without choices"),
        "empty": FaultDescription("HTTP 200 with an empty body"),
        "null_usage": FaultDescription("usage with a null in it"),
        "usage_in_choice": FaultDescription("usage in the last choice only"),
        "no_index": FaultDescription("fragments of tool calls without their index"),
        "name_fragments": FaultDescription("names of tools in fragments"),
        "two_choices": FaultDescription("two choices"),
        "reasoning": FaultDescription("reasoning before the answer"),
        "finish": FaultDescription("another finish reason", {"reason": "length"}),
        "calls_with_stop": FaultDescription("tool calls that end with the finish reason stop"),
        "unknown_tool": FaultDescription("a call of a tool that was not offered"),
        "bad_arguments": FaultDescription("a call whose arguments do not parse"),
        "wrong_tool": FaultDescription("a call of another tool than the right one"),
        "never_calls": FaultDescription("a text instead of a call"),
        "always_calls": FaultDescription("a call instead of a text, where tools are offered"),
        "leaks": FaultDescription("a mark of the chat template at the end of the text", {"marker": "<|im_end|>"}),
        "lossy_arguments": FaultDescription("arguments whose values have all become strings"),
        "forgetful": FaultDescription("no calls from a turn of the conversation on", {"turns": 3}),
        "short_context": FaultDescription("tools beyond a number of tokens are not seen", {"tokens": 8000}),
        "ignores": FaultDescription(
            "parameters of requests are ignored, `+` between several",
            {"parameter": "tool_choice+parallel_tool_calls+response_format+max_tokens"},
        ),
        "refuses": FaultDescription("requests with one of these parameters get HTTP 400", {"parameter": "logprobs"}),
        "echo_key": FaultDescription("an error that repeats the client's key", {"status": 401}),
        "slow": FaultDescription("seconds before the first token", {"seconds": 1.0}),
        "silent": FaultDescription("no answer at all"),
    }
)

ANSWERS: MappingProxyType[str, FaultDescription] = MappingProxyType(
    {
        "share": FaultDescription("share of the requests with tools that get a call, 0 to 1", {"share": 0.45}),
        "invert": FaultDescription("whether these decisions are reversed", {"invert": False}),
        "flips": FaultDescription("share of decisions that are reversed, drawn anew each time", {"flips": 0.0}),
        "test_set": FaultDescription(
            "a file of bench verify --write-test-set, whose right answers are given", {"test_set": ""}
        ),
        "first_token": FaultDescription("seconds before the first token", {"first_token": 0.0}),
        "gap": FaultDescription("seconds before each further event", {"gap": 0.0}),
    }
)
"""The settings of right answers."""
