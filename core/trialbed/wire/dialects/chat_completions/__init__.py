"""Chat completions: ``POST …/chat/completions``, as OpenAI specified them and as vendors send them."""

from trialbed.wire._readings import read_error
from trialbed.wire.dialects.chat_completions._answers import (
    answered_calls,
    first_choice,
    first_message,
    read_answer,
    read_body,
    write_error,
)
from trialbed.wire.dialects.chat_completions._flaws import DONE_EVENT, FLAWS
from trialbed.wire.dialects.chat_completions._requests import (
    HEADERS,
    NAME,
    PATH,
    ChatRequest,
    offered_functions,
    read_function,
    read_message,
    read_request,
    reply_formats,
    wants_usage,
    write_request,
    write_settings,
)
from trialbed.wire.dialects.chat_completions._streams import ChatStreamReader, open_stream, read_stream
from trialbed.wire.dialects.chat_completions._writing import (
    open_writer,
    write_answer,
    write_chunks,
    write_document,
    write_message,
)

__all__ = [
    "DONE_EVENT",
    "FLAWS",
    "HEADERS",
    "NAME",
    "PATH",
    "ChatRequest",
    "ChatStreamReader",
    "answered_calls",
    "first_choice",
    "first_message",
    "offered_functions",
    "open_stream",
    "open_writer",
    "read_answer",
    "read_body",
    "read_error",
    "read_function",
    "read_message",
    "read_request",
    "read_stream",
    "reply_formats",
    "wants_usage",
    "write_answer",
    "write_chunks",
    "write_document",
    "write_error",
    "write_message",
    "write_request",
    "write_settings",
]
