"""Requests for messages, and the blocks that messages are made of."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import takewhile
from types import MappingProxyType
from typing import Any

from trialbed.wire._exchange import (
    Call,
    Document,
    GenerationConfig,
    ModelMessage,
    ModelRequest,
    OfferedTool,
    ToolChoice,
)
from trialbed.wire._json import lenient_json
from trialbed.wire.dialects._fields import (
    FIRST,
    SHOWN,
    arguments_text,
    asked_beyond,
    find_invalid_part,
    list_of,
    mapping_of,
    objects_of,
    read_generation,
    text_of,
    whole_number,
    write_generation,
    write_part,
)

OWN = frozenset(("text", "image", "document", "search_result"))
"""Types of blocks in a user's message, or a result, that are passed on unchanged."""


def read_message(message: Any) -> Iterator[ModelMessage]:
    """Yield a message for each tool result in a message of the dialect, and one with the rest, if any."""
    if not isinstance(message, Mapping):
        yield ModelMessage(role="", content=message, source=message)
        return
    role, content = text_of(message.get("role")), message.get("content")
    if not isinstance(content, list):
        yield ModelMessage(role=role, content=content, source=message)
        return
    results = [block for block in objects_of(content) if block.get("type") == "tool_result"]
    yield from map(_read_result, results)
    rest = [block for block in content if not (isinstance(block, dict) and block.get("type") == "tool_result")]
    if role == "assistant":
        yield replace(read_blocks(rest), source=message)
    elif rest or not results:
        yield ModelMessage(role=role, content=rest, source=message)


def read_blocks(blocks: Any, written: Mapping[int, str] | None = None) -> ModelMessage:
    """Read the blocks of a model's message.

    Args:
        written: place of a call -> its arguments as the model wrote them, if a stream shows them.
    """
    found = objects_of(blocks)
    texts = [text_of(block.get("text")) for block in found if block.get("type", "text") == "text"]
    thoughts = [text_of(block.get("thinking")) for block in found if block.get("type") == "thinking"]
    exact = written or {}
    calls = [
        _read_call(block, exact.get(place)) for place, block in enumerate(found) if block.get("type") == "tool_use"
    ]
    return ModelMessage(
        content="".join(texts) if texts else None, calls=tuple(calls), reasoning="\n".join(filter(None, thoughts))
    )


def write_blocks(message: ModelMessage, number_id: str = "") -> list[Document]:
    """Return the blocks of a model's message, with its thoughts, its text and its calls.

    Args:
        number_id: the beginning of the ids of calls without an id.
    """
    blocks: list[Document] = []
    if message.reasoning:
        # The signature is the vendor's; a model behind another dialect lacks it.
        blocks.append({"type": "thinking", "thinking": message.reasoning, "signature": ""})
    if text := message.text:
        blocks.append({"type": "text", "text": text})
    blocks += [
        {"type": "tool_use", "id": call_id(call, place, number_id), "name": call.name, "input": write_input(call)}
        for place, call in enumerate(message.calls)
    ]
    return blocks


def call_id(call: Call, place: int, number_id: str = "") -> str:
    """Return the id of a call; one is made up for a call without."""
    return call.id or f"toolu_{number_id}{place}"


def write_input(call: Call) -> Any:
    """Return the arguments of a call as an object, or as their text if they are not an object."""
    found = lenient_json(call.arguments) if call.arguments.strip() else {}
    return found if isinstance(found, dict) else call.arguments


def write_messages(messages: Sequence[ModelMessage]) -> Document:
    """Return the fields of a request that hold a conversation."""
    first = 0
    while first < len(messages) and messages[first].role in FIRST:
        first += 1
    written: list[Document] = []
    for message in messages[first:]:
        if message.role == "tool":
            result = _write_result(message)
            if written and _holds_results(written[-1]):
                written[-1]["content"].append(result)
            else:
                written.append({"role": "user", "content": [result]})
        elif message.role == "user" and written and _holds_results(written[-1]):
            written[-1]["content"] += _user_blocks(message.content)
        elif message.role == "assistant":
            written.append({"role": "assistant", "content": _assistant_content(message)})
        else:
            role = "system" if message.role in FIRST else message.role or "user"
            written.append({"role": role, "content": _user_content(message.content)})
    system = _system([message.content for message in messages[:first]])
    return {**({"system": system} if system else {}), "messages": written}


def _system(contents: Sequence[Any]) -> Any:
    """Return the system prompt as a text, or as blocks if there are several."""
    if len(contents) == 1:
        return _user_content(contents[0])
    return [block for content in contents for block in _user_blocks(content)]


def _assistant_content(message: ModelMessage) -> Any:
    if isinstance(message.content, str) and not (message.calls or message.reasoning or message.refusal):
        return message.content
    # Thoughts go back unchanged, with their signatures.
    source = message.source
    if isinstance(source, Mapping) and any(
        block.get("type") in THOUGHTS for block in objects_of(source.get("content"))
    ):
        return list_of(source.get("content"))
    # The words of a refusal have no place of their own here.
    return write_blocks(replace(message, content=message.text + message.refusal))


THOUGHTS = frozenset(("thinking", "redacted_thinking"))


def _user_content(content: Any) -> Any:
    return content if isinstance(content, str) else _user_blocks(content)


def _user_blocks(content: Any) -> list[Any]:
    if isinstance(content, str):
        return [{"type": "text", "text": content}] if content else []
    return [write_part(part, "a block of messages", own=OWN, text="text", image=_image) for part in list_of(content)]


def _image(address: str) -> Document:
    kind, _, data = address.removeprefix("data:").partition(";base64,")
    inline = address.startswith("data:") and data
    source = {"type": "base64", "media_type": kind, "data": data} if inline else {"type": "url", "url": address}
    return {"type": "image", "source": source}


def _read_result(block: Mapping[str, Any]) -> ModelMessage:
    return ModelMessage(
        role="tool",
        content=block.get("content", ""),
        call_id=text_of(block.get("tool_use_id")),
        is_error=block.get("is_error") is True,
        source=block,
    )


def _write_result(message: ModelMessage) -> Document:
    result: Document = {"type": "tool_result", "tool_use_id": message.call_id}
    result["content"] = _user_content(message.content) if message.content is not None else ""
    return {**result, "is_error": True} if message.is_error else result


def _holds_results(message: Mapping[str, Any]) -> bool:
    """Return whether a message that is being written holds results."""
    blocks = list_of(message.get("content"))
    return bool(blocks) and mapping_of(blocks[0]).get("type") == "tool_result"


def _read_call(block: Mapping[str, Any], exact: str | None) -> Call:
    arguments = arguments_text(block.get("input"), "{}") if exact is None else exact
    return Call(text_of(block.get("name")), arguments, text_of(block.get("id")), block)


NAME = "messages"
PATH = "messages"
HEADERS: Mapping[str, str] = MappingProxyType({"anthropic-version": "2023-06-01"})

SHARED = ("max_tokens", "stop_sequences", "temperature", "top_p", "metadata", "service_tier", "cache_control")
"""Settings that other dialects have, too, or that do not change an answer."""

FIELDS = {name: name for name in ("temperature", "top_p", "max_tokens")} | {
    "stop_sequences": "stop",
    "output_config.effort": "effort",
    "output_config.format.type": "form",
    "output_config.format.schema": "schema",
}
"""Field -> its setting, as ``read_generation`` has them."""

MODES = {"auto": "auto", "any": "required", "tool": "required", "none": "none"}
"""Type of a choice -> its canonical mode."""

DEFAULT_TOKENS = 4096
"""The limit of an answer if the request gives no limit, which the vendor requires."""

NO_THREADS = "threads are not served here; send the whole conversation"


class MessagesRequest(ModelRequest):
    """A request for a message."""

    READ = frozenset(("model", "messages", "system", "tools", "tool_choice", "stream"))

    @cached_property
    def messages(self) -> tuple[ModelMessage, ...]:
        """The conversation, the system prompt first; a result of a tool is a message of its own."""
        system = self.document.get("system")
        source = {"role": "system", "content": system}
        first = (ModelMessage(role="system", content=system, source=source),) if system else ()
        return (*first, *(read for found in list_of(self.document.get("messages")) for read in read_message(found)))

    @cached_property
    def tools(self) -> tuple[OfferedTool, ...]:
        """The tools that the client runs; the vendor's tools are skipped."""
        return tuple(
            OfferedTool(tool["name"], text_of(tool.get("description")), tool.get("input_schema") or {}, tool)
            for tool in objects_of(self.document.get("tools"))
            if _is_client_tool(tool) and isinstance(tool.get("name"), str)
        )

    @property
    def tool_choice(self) -> ToolChoice:
        """Return whether the model may call them."""
        choice = self.document.get("tool_choice")
        if not isinstance(choice, Mapping):
            return ToolChoice()
        kind = choice.get("type")
        name = text_of(choice.get("name")) if kind == "tool" else ""
        return ToolChoice(MODES.get(kind, "auto") if isinstance(kind, str) else "auto", name)

    @property
    def generation(self) -> GenerationConfig:
        """The settings that have the same meaning in every dialect."""
        found = read_generation(self.document, FIELDS, ("json_schema",))
        alone = mapping_of(self.document.get("tool_choice")).get("disable_parallel_tool_use") is True
        return replace(found, parallel_calls=not alone, strict_reply=found.reply_schema is not None)

    @property
    def prompt(self) -> Mapping[str, Any]:
        """The system prompt, the messages and the tools."""
        found = self.document
        return {"system": found.get("system"), "messages": found.get("messages", []), "tools": found.get("tools", [])}

    @property
    def foreign(self) -> tuple[str, ...]:
        """The fields that no other dialect has, and that change the answer."""
        settings = dict(self.settings)
        output = mapping_of(settings.pop("output_config", None))
        if mapping_of(settings.get("thinking")).get("type") == "disabled":
            del settings["thinking"]
        within = (f"output_config.{name}" for name in asked_beyond(output, ("format", "effort")))
        return (*asked_beyond(settings, SHARED), *within)

    @property
    def problem_code(self) -> str:
        """The code that makes the vendor's SDK send the whole conversation instead of a thread."""
        return "thread_unsupported_request" if self.problem == NO_THREADS else ""

    @property
    def conflict(self) -> str:
        """The reason why the vendor refuses the request though it has the right form."""
        if not self.document.get("messages"):
            return "messages: at least one message is required"
        choice = self.tool_choice
        if choice.name and choice.name not in self.names:
            return f"tool_choice: Tool '{choice.name[:100]}' not found in provided tools"
        for place, message in enumerate(objects_of(self.document.get("messages"))):
            for number, block in enumerate(list_of(message.get("content"))):
                at, kind = find_invalid_part(block.get("content", ""), OWN) if _is_result(block) else ("", "")
                if kind:
                    where = ".".join(filter(None, (f"messages.{place}.content.{number}.tool_result.content", at)))
                    return f"{where}: Input should be a valid {'content block' if at else 'string or list'}, not {kind}"
        turns = list(_turns(self.document))
        stray = next((one for asked, blocks in turns for one in _results(blocks) if one not in asked), None)
        if stray is not None:
            return (
                f"messages: unexpected `tool_use_id` found in `tool_result` blocks: {stray[:SHOWN]}. Each "
                "`tool_result` block must have a corresponding `tool_use` block in the previous message."
            )
        answered = [_results(blocks) for _, blocks in turns]
        twice = next((one for results in answered for one in results if results.count(one) > 1), None)
        if twice is not None:
            why = "each tool_use must have a single result. Found multiple `tool_result` blocks with id:"
            return f"messages: {why} {twice[:SHOWN]}"
        # The results of a message come before all else that is said.
        at_once = [(asked, _results(takewhile(_is_result, blocks))) for asked, blocks in turns]
        left = next((one for asked, results in at_once for one in asked if one not in results), None)
        if left is not None:
            return (
                f"messages: `tool_use` ids were found without `tool_result` blocks immediately after: {left[:SHOWN]}. "
                "Each `tool_use` block must have a corresponding `tool_result` block in the next message."
            )
        return ""

    def _problem(self) -> str:
        if self.document.get("thread") is not None:
            return NO_THREADS
        if not isinstance(self.document.get("messages"), list):
            return "messages: Field required" if "messages" not in self.document else "messages: must be a list"
        if whole_number(self.document.get("max_tokens")) is None:
            return "max_tokens: Field required"
        for place, tool in enumerate(list_of(self.document.get("tools"))):
            if isinstance(tool, Mapping) and not _is_client_tool(tool):
                return f"tools.{place}: tools of the type {str(tool.get('type'))[:100]!r} are not served here"
        return ""


read_request = MessagesRequest


def write_request(
    model: str, messages: Sequence[ModelMessage], settings: Mapping[str, Any], tools: Sequence[OfferedTool] = ()
) -> Document:
    """Return a request; ``settings`` are its further fields, without a seed, which the dialect does not have.

    System prompts at the beginning are its ``system``; results of tools stand in one message of the user.
    """
    kept = {key: value for key, value in settings.items() if key != "seed"}
    request: Document = {"model": model, "max_tokens": DEFAULT_TOKENS, **write_messages(messages), **kept}
    return {**request, "tools": list(map(_write_tool, tools))} if tools else request


def reply_formats(schema: Mapping[str, Any]) -> list[Document]:
    """Return the settings that ask for a reply of this JSON Schema."""
    return [{"output_config": {"format": {"type": "json_schema", "schema": dict(schema)}}}]


def _turns(document: Mapping[str, Any]) -> Iterator[tuple[list[str], list[Any]]]:
    """Yield the ids of the calls in each message of the model, and the blocks that follow it.

    The vendor joins consecutive messages of one role.
    """
    asked: list[str] = []
    blocks: list[Any] = []
    for message in objects_of(document.get("messages")):
        content = message.get("content")
        found = [content] if isinstance(content, str) else list_of(content)
        if message.get("role") != "assistant":
            blocks += found
            continue
        if blocks:
            yield asked, blocks
            asked, blocks = [], []
        asked += [text_of(block.get("id")) for block in objects_of(found) if block.get("type") == "tool_use"]
    yield asked, blocks


def _results(blocks: Iterable[Any]) -> list[str]:
    """Return the ids of the calls that have results among the blocks."""
    return [text_of(block.get("tool_use_id")) for block in blocks if _is_result(block)]


def _is_result(block: Any) -> bool:
    return isinstance(block, Mapping) and block.get("type") == "tool_result"


def _is_client_tool(tool: Mapping[str, Any]) -> bool:
    return tool.get("type") in (None, "custom")


def _write_tool(tool: OfferedTool) -> Document:
    schema = tool.parameters if isinstance(tool.parameters, Mapping) else {}
    written = {"name": tool.name, "description": tool.description, "input_schema": {"type": "object", **schema}}
    return {**written, "strict": True} if tool.source.get("strict") is True else written


KINDS = {mode: kind for kind, mode in MODES.items() if kind != "tool"}
"""Canonical mode of a choice -> its type."""


def write_settings(request: ModelRequest) -> Document:
    """Return the further fields of a request of any dialect.

    Raises:
        ValueError: the dialect has no counterpart of one.
    """
    wanted = request.generation
    own = write_generation(wanted, FIELDS, "Messages", tools=bool(request.tools))
    if wanted.reply_schema is not None and not wanted.reply_schema:
        raise ValueError("Messages have no counterpart of an answer that is JSON of any kind")
    choice = _choice(request.tool_choice, parallel=wanted.parallel_calls) if request.tools else None
    own |= {"tool_choice": choice} if choice is not None else {}
    return {**own, "stream": True} if request.stream else own


def _choice(choice: ToolChoice, *, parallel: bool) -> Document | None:
    if choice.allowed and not choice.name:
        raise ValueError("Messages have no counterpart of 'allowed_tools'")
    named = {"type": "tool", "name": choice.name}
    found: Document = named if choice.name else {"type": KINDS.get(choice.mode, "auto")}
    if not parallel and found["type"] != "none":
        found["disable_parallel_tool_use"] = True
    return None if found == {"type": "auto"} else found
