"""Requests for responses, and settings of other dialects as theirs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from types import MappingProxyType
from typing import Any

from trialbed.wire._exchange import Document, GenerationConfig, ModelMessage, ModelRequest, OfferedTool, ToolChoice
from trialbed.wire.dialects._fields import (
    SHOWN,
    allowed_choice,
    asked_beyond,
    list_of,
    mapping_of,
    objects_of,
    read_generation,
    result_conflict,
    text_of,
    write_generation,
)
from trialbed.wire.dialects.responses._items import OWN, read_items, write_conversation

NAME = "responses"
PATH = "responses"
HEADERS: Mapping[str, str] = MappingProxyType({})

EARLIER = "previous_response_id"
"""The field that names the response after which the conversation goes on."""

SHARED = (
    *("max_output_tokens", "temperature", "top_p", "parallel_tool_calls", EARLIER),
    *("include", "metadata", "prompt_cache_key", "safety_identifier", "service_tier", "store", "user"),
)
"""Settings that other dialects have, too, or that do not change an answer."""

FIELDS = (
    {"temperature": "temperature", "top_p": "top_p", "max_output_tokens": "max_tokens"}
    | {"parallel_tool_calls": "parallel_calls", "reasoning.effort": "effort", "text.verbosity": "verbosity"}
    | {"text.format.type": "form"}
    | {f"text.format.{part}": part for part in ("name", "strict", "schema")}
)
"""Field -> its setting, as ``read_generation`` has them."""

UNSERVED = ("conversation", "prompt")
"""Fields with values that only their vendor keeps."""


class ResponsesRequest(ModelRequest):
    """A request for a response.

    Attributes:
        earlier: the earlier items of the conversation, if the request only names the response that it follows.
    """

    READ = frozenset(("model", "input", "instructions", "tools", "tool_choice", "stream", "stream_options"))

    earlier: Sequence[Any] = ()

    @property
    def items(self) -> list[Any]:
        """The items that the request sends itself."""
        found = self.document.get("input")
        return [{"type": "message", "role": "user", "content": found}] if isinstance(found, str) else list_of(found)

    @cached_property
    def messages(self) -> tuple[ModelMessage, ...]:
        """The known conversation, instructions first."""
        told = self.document.get("instructions")
        source = {"role": "system", "content": told}
        first = (ModelMessage(role="system", content=told, source=source),) if told and isinstance(told, str) else ()
        return (*first, *read_items([*self.earlier, *self.items]))

    @cached_property
    def tools(self) -> tuple[OfferedTool, ...]:
        """The functions on offer; tools that the vendor runs are left out."""
        return tuple(
            OfferedTool(tool["name"], text_of(tool.get("description")), tool.get("parameters") or {}, tool)
            for tool in objects_of(self.document.get("tools"))
            if tool.get("type") == "function" and isinstance(tool.get("name"), str)
        )

    @property
    def tool_choice(self) -> ToolChoice:
        """Return whether the model may call them."""
        choice = self.document.get("tool_choice")
        if isinstance(choice, str):
            return ToolChoice(choice)
        if not isinstance(choice, Mapping):
            return ToolChoice()
        if choice.get("type") != "allowed_tools":
            return ToolChoice("required", text_of(choice.get("name")))
        return allowed_choice(choice, [tool.get("name") for tool in objects_of(choice.get("tools"))])

    @property
    def generation(self) -> GenerationConfig:
        """The settings that have the same meaning in every dialect."""
        return read_generation(self.document, FIELDS)

    @property
    def prompt(self) -> Mapping[str, Any]:
        """The instructions, the items and the tools."""
        found = self.document
        items = [*self.earlier, *self.items]
        return {"instructions": found.get("instructions"), "input": items, "tools": found.get("tools", [])}

    @property
    def follows(self) -> str:
        """The id of the response that the conversation continues; may be empty."""
        return text_of(self.document.get(EARLIER))

    @property
    def keeps(self) -> bool:
        """Return whether the response must be kept for another one to follow it."""
        return self.document.get("store") is not False

    @property
    def foreign(self) -> tuple[str, ...]:
        """The fields that no other dialect has, and that change the answer."""
        settings = {name: value for name, value in self.settings.items() if (name, value) != ("truncation", "disabled")}
        reasoning, text = mapping_of(settings.pop("reasoning", None)), mapping_of(settings.pop("text", None))
        within = [f"reasoning.{name}" for name in asked_beyond(reasoning, ("effort", "summary"))]
        within += [f"text.{name}" for name in asked_beyond(text, ("format", "verbosity"))]
        return (*asked_beyond(settings, SHARED), *within)

    @property
    def whole(self) -> Mapping[str, Any]:
        """The document with all of its known conversation."""
        if not self.earlier:
            return self.document
        kept = {key: value for key, value in self.document.items() if key != EARLIER}
        return {**kept, "input": [*self.earlier, *self.items]}

    @property
    def conflict(self) -> str:
        """The reason why the vendor refuses the request though it has the right form."""
        if not self.items and not self.follows:
            return (
                "Invalid 'input': empty array. Expected an array with minimum length 1, but got an empty array instead."
            )
        choice = self.tool_choice
        missing = next((name for name in (choice.name, *choice.allowed) if name and name not in self.names), None)
        if missing is not None:
            return f"Tool choice '{missing[:100]}' not found in 'tools' parameter."
        results = (
            (f"input[{place}].output", item.get("output"))
            for place, item in enumerate(self.items)
            if isinstance(item, dict) and item.get("type") == "function_call_output"
        )
        if refused := result_conflict(results, OWN):
            return refused
        if any(item.get("type") == "item_reference" for item in objects_of([*self.earlier, *self.items])):
            # It may stand for a call, or for a result.
            return ""
        is_open: dict[str, bool] = {}  # the calls so far
        for message in self.messages:
            if message.role == "tool":
                if message.call_id not in is_open:
                    return f"No tool call found for function call output with call_id {message.call_id[:SHOWN]}."
                is_open[message.call_id] = False
            is_open |= dict.fromkeys((call.id for call in message.calls), True)
        left = next((made for made, found in is_open.items() if found), None)
        return "" if left is None else f"No tool output found for function call {left[:SHOWN]}."

    def _problem(self) -> str:
        found = self.document
        if not isinstance(found.get("input"), str | list):
            return (
                "Missing required parameter: 'input'." if "input" not in found else "'input' must be a text or a list."
            )
        for name in UNSERVED:
            if found.get(name) is not None:
                return f"Unsupported parameter: '{name}' is not served here."
        if found.get("background"):
            return "Unsupported parameter: 'background' is not served here."
        for place, tool in enumerate(list_of(found.get("tools"))):
            if isinstance(tool, Mapping) and tool.get("type") != "function":
                kind = str(tool.get("type"))[:100]
                return f"Tool 'tools[{place}]' of the type {kind!r} is not supported with this model."
        return ""


read_request = ResponsesRequest


def write_request(
    model: str, messages: Sequence[ModelMessage], settings: Mapping[str, Any], tools: Sequence[OfferedTool] = ()
) -> Document:
    """Return a request; ``settings`` are its further fields, without a seed, which the dialect does not have."""
    kept = {OWN_NAMES.get(key, key): value for key, value in settings.items() if key != "seed"}
    request: Document = {"model": model, **write_conversation(messages), **kept}
    return {**request, "tools": list(map(_write_tool, tools))} if tools else request


OWN_NAMES = {"max_tokens": "max_output_tokens"}
"""Name of a setting -> the dialect's own."""


def reply_formats(schema: Mapping[str, Any]) -> list[Document]:
    """Return the settings that ask for a reply of this JSON Schema, the strictest first."""
    wanted = GenerationConfig(reply_schema=schema, strict_reply=True), GenerationConfig(reply_schema={})
    return [write_generation(one, FIELDS, "Responses", tools=False) for one in wanted]


def _write_tool(tool: OfferedTool) -> Document:
    described = {"name": tool.name, "description": tool.description, "parameters": tool.parameters}
    # Without it, the vendor makes every parameter a required one.
    return {"type": "function", **described, "strict": tool.source.get("strict") is True}


def write_settings(request: ModelRequest) -> Document:
    """Return the further fields of a request of any dialect; the endpoint is not to keep its answer.

    Raises:
        ValueError: the dialect has no counterpart of one.
    """
    own = write_generation(request.generation, FIELDS, "Responses", tools=bool(request.tools))
    choice = _choice(request.tool_choice) if request.tools else None
    own |= {"tool_choice": choice} if choice is not None else {}
    return {**own, "store": False, "stream": True} if request.stream else {**own, "store": False}


def _choice(choice: ToolChoice) -> Any:
    if choice.name:
        return {"type": "function", "name": choice.name}
    if choice.allowed:
        tools = [{"type": "function", "name": name} for name in choice.allowed]
        return {"type": "allowed_tools", "mode": choice.mode, "tools": tools}
    return None if choice.mode == "auto" else choice.mode
