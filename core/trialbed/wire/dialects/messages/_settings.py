"""Writes the settings of requests of any dialect as those of a message."""

from __future__ import annotations

from trialbed.wire._exchange import Document, GenerationConfig, ModelRequest, ToolChoice
from trialbed.wire.dialects._parts import NotWritable, refuse_settings
from trialbed.wire.dialects.messages._requests import MODES

KINDS = {mode: kind for kind, mode in MODES.items() if kind != "tool"}
"""Canonical mode of a choice -> its type."""


def write_settings(request: ModelRequest) -> Document:
    """Return the further fields of a request of any dialect.

    Raises:
        NotWritable: the dialect has no counterpart of one.
    """
    wanted = request.generation
    refuse_settings(wanted, "Messages", "top_logprobs", "choices", "verbosity")
    own: Document = {
        "temperature": wanted.temperature,
        "top_p": wanted.top_p,
        "max_tokens": wanted.max_tokens,
        "stop_sequences": list(wanted.stop) or None,
        "output_config": _output(wanted),
        "tool_choice": _choice(request.tool_choice, parallel=wanted.parallel_calls) if request.tools else None,
        "stream": request.stream or None,
    }
    return {name: value for name, value in own.items() if value is not None}


def _output(wanted: GenerationConfig) -> Document | None:
    found: Document = {"effort": wanted.effort} if wanted.effort else {}
    if wanted.reply_schema is not None:
        if not wanted.reply_schema:
            raise NotWritable("Messages have no counterpart of an answer that is JSON of any kind")
        found["format"] = {"type": "json_schema", "schema": dict(wanted.reply_schema)}
    return found or None


def _choice(choice: ToolChoice, *, parallel: bool) -> Document | None:
    if choice.allowed and not choice.name:
        raise NotWritable("Messages have no counterpart of 'allowed_tools'")
    named = {"type": "tool", "name": choice.name}
    found: Document = named if choice.name else {"type": KINDS.get(choice.mode, "auto")}
    if not parallel and found["type"] != "none":
        found["disable_parallel_tool_use"] = True
    return None if found == {"type": "auto"} else found
