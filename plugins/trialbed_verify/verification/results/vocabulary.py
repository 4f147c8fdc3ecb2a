"""The vocabulary of results files: how a case can end, and the meaning of each word."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from trialbed.wire import Outcome
from trialbed_verify.findings import CALL_REASONS, PROTOCOL_ERRORS

__all__ = ["CALL_REASONS", "OUTCOMES", "PROBLEMS"]

OUTCOMES: Mapping[Outcome, str] = MappingProxyType(
    {
        "tool_calls": "a complete answer with the finish reason `tool_calls`, or `function_call`, its former name",
        "stop": "a complete answer with the finish reason `stop`",
        "other": "a complete answer with any other finish reason, such as `length`",
        "protocol_error": "an answer that breaks the protocol; it is the vendor's own, so the request is not retried",
        "transport_error": "no complete answer: the connection failed, or the HTTP status is not a success",
        "timeout": "no complete answer within `--timeout`",
    }
)

PROBLEMS: Mapping[str, str] = MappingProxyType(
    {
        **PROTOCOL_ERRORS,
        "connect": "nothing listens at the address, its name or certificate is wrong, or a proxy refuses",
        "disconnected": "the connection was closed before an answer came",
        "malformed_http": "an answer that is not HTTP",
        "reset": "the connection was reset",
        "transport": "any other failure of the connection",
        "timeout": "no complete answer in time",
        "http_<status>": "an HTTP status that is not a success, redirections included",
    }
)
