"""Translates requests of one dialect into chat completions, for endpoints that speak nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from trialbed.wire._exchange import Document, GenerationConfig, ModelRequest, ToolChoice
from trialbed.wire.dialects import dialect
from trialbed.wire.dialects._parts import NotWritable

ROLES = frozenset(("system", "developer", "user", "assistant", "tool"))


def translate_request(request: ModelRequest) -> Document:
    """Return a request of any dialect as one for a chat completion that is not streamed.

    Raises:
        ValueError: something in it has no counterpart; says what.
    """
    if request.foreign:
        raise NotWritable(f"chat completions have no counterpart of {', '.join(map(repr, request.foreign))}")
    stray = next((message for message in request.messages if message.role not in ROLES), None)
    if stray is not None:
        raise NotWritable(f"a message of the role {stray.role[:100]!r} cannot be written as a chat completion's")
    # Most endpoints refuse the field in which a few vendors take the reasoning back.
    messages = [replace(message, reasoning="") for message in request.messages]
    return dialect().write_request(request.model, messages, _settings(request), request.tools)


def _settings(request: ModelRequest) -> Mapping[str, Any]:
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
