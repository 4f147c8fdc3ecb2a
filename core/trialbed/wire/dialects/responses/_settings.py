"""Writes the settings of requests of any dialect as those of a response."""

from __future__ import annotations

from typing import Any

from trialbed.wire._exchange import Document, GenerationConfig, ModelRequest, ToolChoice
from trialbed.wire.dialects._parts import refuse_settings


def write_settings(request: ModelRequest) -> Document:
    """Return the further fields of a request of any dialect; the endpoint is not to keep its answer.

    Raises:
        NotWritable: the dialect has no counterpart of one.
    """
    wanted, tools = request.generation, bool(request.tools)
    refuse_settings(wanted, "Responses", "stop", "top_logprobs", "choices")
    own: Document = {
        "temperature": wanted.temperature,
        "top_p": wanted.top_p,
        "max_output_tokens": wanted.max_tokens,
        "parallel_tool_calls": False if tools and not wanted.parallel_calls else None,
        "reasoning": {"effort": wanted.effort} if wanted.effort else None,
        "text": _text(wanted),
        "tool_choice": _choice(request.tool_choice) if tools else None,
        "store": False,
        "stream": request.stream or None,
    }
    return {name: value for name, value in own.items() if value is not None}


def _text(wanted: GenerationConfig) -> Document | None:
    found: Document = {"verbosity": wanted.verbosity} if wanted.verbosity else {}
    if wanted.reply_schema is not None:
        described = {"name": "reply", "strict": wanted.strict_reply, "schema": dict(wanted.reply_schema)}
        schema = {"type": "json_schema", **described}
        found["format"] = schema if wanted.reply_schema else {"type": "json_object"}
    return found or None


def _choice(choice: ToolChoice) -> Any:
    if choice.name:
        return {"type": "function", "name": choice.name}
    if choice.allowed:
        tools = [{"type": "function", "name": name} for name in choice.allowed]
        return {"type": "allowed_tools", "mode": choice.mode, "tools": tools}
    return None if choice.mode == "auto" else choice.mode
