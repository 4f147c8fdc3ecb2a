"""The vocabulary of results files: how a case can end, and what each word means."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from trialbed.chat import Outcome

OUTCOMES: Mapping[Outcome, str] = MappingProxyType(
    {
        "tool_calls": "a complete answer with the finish reason `tool_calls`",
        "stop": "a complete answer with the finish reason `stop`",
        "other": "a complete answer with any other finish reason, such as `length`",
        "protocol_error": "an answer that breaks the protocol; it is the vendor's own, so the request is not retried",
        "transport_error": "no complete answer: the connection failed, or the HTTP status is not a success",
        "timeout": "no complete answer within `--timeout`",
    }
)

PROBLEMS: Mapping[str, str] = MappingProxyType(
    {
        "cut_body": "the connection was closed in the middle of a body that was not streamed",
        "cut_stream": "a stream ended before its finish reason",
        "empty_body": "HTTP success with an empty body",
        "empty_stream": "a stream without events",
        "error_body": "HTTP success with an error as its body",
        "error_event": "an error as an event of a stream",
        "html": "a web page",
        "malformed_body": "a body that is not a JSON object",
        "malformed_event": "an event that is not a JSON object",
        "no_choices": "a completion without a choice",
        "no_done": "a stream that ended after its finish reason without `[DONE]`",
        "no_finish_reason": "a complete answer, or the end of a stream, without a finish reason",
        "null_message": "a choice, or a stream, without a message",
        "too_large": "an answer of more than 64 MiB; the rest was not read",
        "undecodable_body": "a body in an encoding that was not requested, or that is broken",
        "wrong_content_type": "a stream was requested and something else came",
        "connect": "nothing listens at the address, its name or certificate is wrong, or a proxy refuses",
        "disconnected": "the connection was closed before an answer came",
        "malformed_http": "an answer that is not HTTP",
        "reset": "the connection was reset",
        "transport": "any other failure of the connection",
        "timeout": "no complete answer in time",
        "http_<status>": "an HTTP status that is not a success, redirections included",
    }
)

CALL_REASONS: Mapping[str, str] = MappingProxyType(
    {
        "unknown_tool": "a tool that was not offered",
        "invalid_json": "the arguments are not JSON",
        "missing_required": "a required property is missing",
        "wrong_type": "a value has the wrong type",
        "not_in_enum": "a value is not one of those allowed",
        "extra_property": "a property that the schema forbids",
        "constraint": "any other rule of the schema is broken",
        "unusable_schema": "the declared schema cannot be used, which is the test set's fault; the call is not judged",
    }
)
