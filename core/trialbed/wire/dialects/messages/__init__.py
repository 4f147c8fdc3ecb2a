"""Anthropic's Messages, ``POST …/messages``, by its specification and its SDKs."""

from trialbed.wire._readings import read_error
from trialbed.wire.dialects.messages._answers import read_answer, read_body, write_error
from trialbed.wire.dialects.messages._requests import (
    HEADERS,
    NAME,
    PATH,
    MessagesRequest,
    read_request,
    reply_formats,
    write_request,
    write_settings,
)
from trialbed.wire.dialects.messages._streams import open_stream
from trialbed.wire.dialects.messages._writing import open_writer, write_answer, write_document, write_message

__all__ = [
    "HEADERS",
    "NAME",
    "PATH",
    "MessagesRequest",
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
