"""Requests for responses, the items that conversations are made of, and the responses that are kept."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from types import MappingProxyType
from typing import Any, NamedTuple

from trialbed.wire._exchange import (
    Call,
    Document,
    GenerationConfig,
    ModelMessage,
    ModelRequest,
    OfferedTool,
    ToolChoice,
)
from trialbed.wire.dialects._fields import (
    FIRST,
    SHOWN,
    allowed_choice,
    arguments_text,
    asked_beyond,
    list_of,
    mapping_of,
    objects_of,
    read_generation,
    result_conflict,
    result_content,
    text_of,
    write_generation,
    write_part,
)

OWN = frozenset(("input_text", "input_image", "input_file", "output_text", "refusal"))
"""Types of parts in a message that are passed on unchanged."""

SAID = frozenset(("message", "function_call", "reasoning"))
"""Types of the items that a model writes."""


def read_items(items: Iterable[Any]) -> tuple[ModelMessage, ...]:
    """Read a conversation; items that the model wrote one after the other are one message."""
    messages: list[ModelMessage] = []
    said: list[Document] = []
    for item in items:
        if _is_said(item):
            said.append(item)
            continue
        if said:
            messages.append(read_said(said))
            said = []
        messages.append(_read_item(item))
    return (*messages, read_said(said)) if said else tuple(messages)


def read_said(items: Sequence[Mapping[str, Any]]) -> ModelMessage:
    """Read the items that a model wrote as one message."""
    parts = [part for item in items if _kind(item) == "message" for part in _parts(item.get("content"))]
    texts = [text_of(part.get("text")) for part in parts if part.get("type", "output_text") == "output_text"]
    return ModelMessage(
        content="".join(texts) if texts else None,
        calls=tuple(_read_call(item) for item in items if _kind(item) == "function_call"),
        reasoning="\n".join(text for item in items if _kind(item) == "reasoning" for text in _thoughts(item)),
        refusal="".join(text_of(part.get("refusal")) for part in parts if part.get("type") == "refusal"),
        source={"role": "assistant", "items": list(items)},
    )


def write_conversation(messages: Sequence[ModelMessage]) -> Document:
    """Return the fields of a request that hold a conversation; a system prompt at its beginning are instructions."""
    first = messages[0] if messages else None
    told = first is not None and first.role in FIRST and isinstance(first.content, str)
    fields: Document = {"instructions": first.content} if told and first is not None else {}
    rest = messages[1:] if told else messages
    return {**fields, "input": [item for place, message in enumerate(rest) for item in _write_message(message, place)]}


def _write_message(message: ModelMessage, place: int) -> Iterator[Document]:
    if message.role == "tool":
        said = result_content(message)
        output = said if isinstance(said, str) else _input_parts(said)
        yield {"type": "function_call_output", "call_id": message.call_id, "output": output}
    elif message.role == "assistant":
        items = mapping_of(message.source).get("items")
        # Thoughts go back unchanged, with their encrypted part; another dialect's thoughts would be refused.
        yield from items if isinstance(items, list) else _write_said(message, place)
    else:
        content = message.content if isinstance(message.content, str) else _input_parts(message.content)
        yield {"type": "message", "role": message.role or "user", "content": content}


def _write_said(message: ModelMessage, place: int) -> Iterator[Document]:
    parts: list[Document] = []
    if message.content is not None:
        parts.append({"type": "output_text", "text": message.text, "annotations": [], "logprobs": []})
    if message.refusal:
        parts.append({"type": "refusal", "refusal": message.refusal})
    if parts:
        yield {"type": "message", "role": "assistant", "content": parts}
    for number, call in enumerate(message.calls):
        named = {"call_id": call.id or f"call_{place}_{number}", "name": call.name, "arguments": call.arguments}
        yield {"type": "function_call", **named}


def _input_parts(content: Any) -> list[Any]:
    return [_write_part(part) for part in list_of(content)]


def _write_part(part: Any) -> Any:
    return write_part(part, "a part of responses", own=OWN, text="input_text", image=_image)


def _image(address: str) -> Document:
    return {"type": "input_image", "image_url": address, "detail": "auto"}


def _is_said(item: Any) -> bool:
    if not isinstance(item, dict):
        return False
    kind = _kind(item)
    return kind in SAID and (kind != "message" or item.get("role") == "assistant")


def _kind(item: Mapping[str, Any]) -> str:
    """Return the type of an item; messages may omit it."""
    kind = item.get("type")
    return kind if isinstance(kind, str) else "message" if "role" in item else ""


def _read_item(item: Any) -> ModelMessage:
    if not isinstance(item, Mapping):
        return ModelMessage(role="", content=item, source=item)
    kind = _kind(item)
    if kind == "message":
        return ModelMessage(role=text_of(item.get("role")), content=item.get("content"), source=item)
    if kind.endswith("_call_output"):
        return ModelMessage(role="tool", content=item.get("output"), call_id=text_of(item.get("call_id")), source=item)
    return ModelMessage(role="", content=[item], source=item)


def _read_call(item: Mapping[str, Any]) -> Call:
    arguments = arguments_text(item.get("arguments"))
    return Call(text_of(item.get("name")), arguments, text_of(item.get("call_id")), item)


def _parts(content: Any) -> list[Mapping[str, Any]]:
    return [{"type": "output_text", "text": content}] if isinstance(content, str) else list(objects_of(content))


def _thoughts(item: Mapping[str, Any]) -> list[str]:
    shown = [*objects_of(item.get("content")), *objects_of(item.get("summary"))]
    return [text for part in shown if (text := text_of(part.get("text")))]


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


NOT_KEPT = "previous_response_not_found"
"""The error code for a request that follows a response which is not kept."""

MOST_BYTES = 64 * 2**20
"""Bytes of the conversations that are kept for a trial; what goes beyond drops the oldest."""


class _KeptResponse(NamedTuple):
    """A response with the conversation before it.

    Attributes:
        items: of the whole conversation.
        size: bytes of its requests and responses.
        recorded: whether the response belongs to an earlier request.
    """

    items: Sequence[Any]
    size: int
    recorded: bool


class KeptResponses:
    """The responses of one trial, gone with it."""

    def __init__(self) -> None:
        self._kept: dict[str, _KeptResponse] = {}

    def follow(self, request: ResponsesRequest) -> bool:
        """Give a request the conversation that it goes on with; return False if that is not known."""
        kept = self._kept.get(request.follows)
        request.earlier = kept.items if kept is not None else ()
        return kept is not None or not request.follows

    def follows_recorded(self, request: ModelRequest) -> bool:
        """Return whether a request follows a recorded response, which its endpoint may never have given."""
        kept = self._kept.get(request.follows) if isinstance(request, ResponsesRequest) else None
        return kept is not None and kept.recorded

    def keep(
        self, request: ModelRequest, document: Mapping[str, Any] | None, size: int, *, recorded: bool = False
    ) -> None:
        """Keep the answer to a request if its dialect has stored responses and the request does not opt out.

        Args:
            request: with the conversation that ``follow`` gave it.
            document: the answer; None if there is no answer or only a part of it is known.
            size: bytes of the request and the answer.
            recorded: whether the answer belongs to an earlier request.
        """
        identity = (document or {}).get("id")
        if document is None or not isinstance(request, ResponsesRequest) or not request.keeps:
            return
        if isinstance(identity, str):
            items = [*request.earlier, *request.items, *list_of(document.get("output"))]
            before = self._kept.get(request.follows)
            self._kept.pop(identity, None)
            self._kept[identity] = _KeptResponse(items, size + (before.size if before else 0), recorded)
            while self._kept and sum(kept.size for kept in self._kept.values()) > MOST_BYTES:
                del self._kept[next(iter(self._kept))]

    def refusal(self, request: ModelRequest, *, strict: bool = False) -> tuple[str, str]:
        """Give a request its conversation; return why it is not answered, and the error's code, both empty if it is.

        Args:
            strict: whether to refuse a well-formed request that vendors refuse.
        """
        if request.problem:
            return request.problem, request.problem_code
        if isinstance(request, ResponsesRequest) and not self.follow(request):
            return f"Previous response with id '{request.follows[:SHOWN]}' not found.", NOT_KEPT
        return request.conflict if strict else "", ""
