"""OpenAI's Responses, ``POST …/responses``, by its specification and its SDKs."""

from trialbed.wire._readings import read_error
from trialbed.wire.dialects.chat_completions import write_error
from trialbed.wire.dialects.responses._answers import read_answer, read_body
from trialbed.wire.dialects.responses._requests import (
    HEADERS,
    NAME,
    PATH,
    ResponsesRequest,
    read_request,
    reply_formats,
    write_request,
    write_settings,
)
from trialbed.wire.dialects.responses._storage import KeptResponses
from trialbed.wire.dialects.responses._streams import open_stream
from trialbed.wire.dialects.responses._writing import open_writer, write_answer, write_document, write_message

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
