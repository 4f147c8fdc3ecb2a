"""OpenAI's Responses, ``POST …/responses``, by its specification and its SDKs."""

from trialbed.wire._readings import read_error
from trialbed.wire.dialects.chat_completions import write_error
from trialbed.wire.dialects.responses._answers import (
    open_stream,
    open_writer,
    read_answer,
    read_body,
    write_answer,
    write_document,
    write_message,
)
from trialbed.wire.dialects.responses._requests import (
    HEADERS,
    NAME,
    PATH,
    KeptResponses,
    ResponsesRequest,
    read_request,
    reply_formats,
    write_request,
    write_settings,
)

__all__ = [
    "HEADERS",
    "NAME",
    "PATH",
    "KeptResponses",
    "ResponsesRequest",
    "open_stream",
    "open_writer",
    "read_answer",
    "read_body",
    "read_error",
    "read_request",
    "reply_formats",
    "write_answer",
    "write_document",
    "write_error",
    "write_message",
    "write_request",
    "write_settings",
]
