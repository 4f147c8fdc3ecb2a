"""Writes the settings of requests of any dialect as those of a chat completion."""

from __future__ import annotations

from typing import Any

from trialbed.wire._exchange import Document, GenerationConfig, ModelRequest, ToolChoice


def write_settings(request: ModelRequest) -> Document:
    """Return the further fields of a request of any dialect; a stream is asked for its usage."""
    wanted, tools = request.generation, bool(request.tools)
    own: Document = {
        "temperature": wanted.temperature,
        "top_p": wanted.top_p,
        "max_tokens": wanted.max_tokens,
        "stop": list(wanted.stop) or None,
        "parallel_tool_calls": False if tools and not wanted.parallel_calls else None,
        "reasoning_effort": wanted.effort or None,
        "verbosity": wanted.verbosity or None,
        "response_format": _reply_format(wanted),
        "tool_choice": _choice(request.tool_choice) if tools else None,
        "stream": request.stream or None,
        "stream_options": {"include_usage": True} if request.stream else None,
    }
    return {name: value for name, value in own.items() if value is not None}


def _reply_format(wanted: GenerationConfig) -> Document | None:
    if wanted.reply_schema is None:
        return None
    if not wanted.reply_schema:
        return {"type": "json_object"}
    described = {"name": "reply", "strict": wanted.strict_reply, "schema": dict(wanted.reply_schema)}
    return {"type": "json_schema", "json_schema": described}


def _choice(choice: ToolChoice) -> Any:
    if choice.name:
        return {"type": "function", "function": {"name": choice.name}}
    if choice.allowed:
        tools = [{"type": "function", "function": {"name": name}} for name in choice.allowed]
        return {"type": "allowed_tools", "allowed_tools": {"mode": choice.mode, "tools": tools}}
    return None if choice.mode == "auto" else choice.mode
