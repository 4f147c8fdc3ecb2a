"""Requests, completions and errors as JSON documents, with the variants that careless vendors send."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial
from types import MappingProxyType
from typing import Any

from trialbed.wire._exchange import (
    Call,
    Document,
    GenerationConfig,
    ModelAnswer,
    ModelMessage,
    ModelRequest,
    OfferedTool,
    ToolChoice,
)
from trialbed.wire._readings import Problem, read_document
from trialbed.wire._readings import read_error as read_error
from trialbed.wire.dialects._fields import (
    allowed_choice,
    arguments_text,
    asked_beyond,
    counts_of,
    list_of,
    mapping_of,
    objects_of,
    read_generation,
    result_conflict,
    result_content,
    text_of,
    whole_number,
    write_generation,
    write_part,
)

NAME = "chat_completions"
PATH = "chat/completions"
HEADERS: Mapping[str, str] = MappingProxyType({})

REASONING = ("reasoning_content", "reasoning")
"""Keys that endpoints use for the reasoning of a model."""

SHARED = (
    *("temperature", "top_p", "seed", "stop", "n", "logprobs", "top_logprobs", "max_completion_tokens", "max_tokens"),
    *("parallel_tool_calls", "response_format", "reasoning_effort", "verbosity"),
    *("metadata", "prompt_cache_key", "safety_identifier", "service_tier", "store", "user"),
)
"""Settings that other dialects have, too, or say that they have not, or that do not change an answer."""

FORMATS = (None, "text", "json_object", "json_schema")
"""Types of a wanted form of the answer that other dialects have, too."""


LIMITS = ("max_completion_tokens", "max_tokens")

FIELDS = (
    {name: name for name in ("temperature", "top_p", "seed", "max_tokens", "stop", "top_logprobs")}
    | {"parallel_tool_calls": "parallel_calls", "reasoning_effort": "effort", "verbosity": "verbosity", "n": "choices"}
    | {"response_format.type": "form"}
    | {f"response_format.json_schema.{part}": part for part in ("name", "strict", "schema")}
)
"""Field -> its setting, as ``read_generation`` has them."""

MOST_CHOICES = 128

OWN = frozenset(("image_url", "input_audio", "file", "refusal"))
"""Types of parts that are passed on unchanged."""


class ChatRequest(ModelRequest):
    """A request for a chat completion, or for the completion of a raw prompt."""

    READ = frozenset(("model", "messages", "tools", "tool_choice", "stream", "stream_options"))

    @property
    def is_continued(self) -> bool:
        """Return whether the model has answered before in the conversation."""
        messages = list_of(self.document.get("messages"))
        return any(isinstance(message, dict) and message.get("role") == "assistant" for message in messages)

    @cached_property
    def messages(self) -> tuple[ModelMessage, ...]:
        """The conversation."""
        return tuple(map(read_message, list_of(self.document.get("messages"))))

    @cached_property
    def tools(self) -> tuple[OfferedTool, ...]:
        """The tools on offer; tools without a name are skipped."""
        return tuple(tool for one in list_of(self.document.get("tools")) if (tool := _read_tool(one)) is not None)

    @property
    def tool_choice(self) -> ToolChoice:
        """Return whether the model may call them."""
        choice = self.document.get("tool_choice")
        if isinstance(choice, dict):
            allowed = choice.get("allowed_tools") or (choice if choice.get("type") == "allowed_tools" else None)
            if isinstance(allowed, dict):
                functions = [mapping_of(tool).get("function") or tool for tool in list_of(allowed.get("tools"))]
                return allowed_choice(allowed, [mapping_of(function).get("name") for function in functions])
            return ToolChoice("required", text_of(mapping_of(choice.get("function")).get("name")))
        if isinstance(choice, str):
            # Some vendors write ``any`` as others do ``required``.
            return ToolChoice("required" if choice == "any" else choice)
        return ToolChoice()

    @property
    def generation(self) -> GenerationConfig:
        """The settings that have the same meaning in every dialect; invalid ones are skipped."""
        found = self.document
        stops = {"stop": [found["stop"]]} if isinstance(found.get("stop"), str) else {}
        limits = [value for key in LIMITS if (value := whole_number(found.get(key))) is not None and value > 0]
        return replace(
            read_generation({**found, **stops}, FIELDS),
            max_tokens=min(limits, default=None),
            top_logprobs=whole_number(found.get("top_logprobs", 1)) if found.get("logprobs") is True else None,
            choices=read_choices(found),
        )

    @property
    def prompt(self) -> Mapping[str, Any]:
        """The messages, or the raw prompt, and the tools."""
        said = "prompt" if "prompt" in self.document else "messages"
        return {said: self.document.get(said, []), "tools": self.document.get("tools", [])}

    @property
    def wants_usage(self) -> bool:
        """Return whether a last chunk with the usage is asked for."""
        options = self.document.get("stream_options")
        return isinstance(options, dict) and bool(options.get("include_usage"))

    @property
    def foreign(self) -> tuple[str, ...]:
        """The fields that no other dialect has, and that change the answer."""
        found = self.document
        wanted = mapping_of(found.get("response_format")).get("type")
        form = () if wanted in FORMATS else ("response_format",)
        tools = list_of(found.get("tools"))
        own = (f"tools[{place}]" for place, tool in enumerate(tools) if _read_tool(tool) is None)
        return (*asked_beyond(self.settings, SHARED), *form, *own)

    @property
    def conflict(self) -> str:
        """The reason why the vendor refuses the request though it has the right form."""
        return result_conflict(
            (
                (f"messages[{place}].content", message.get("content"))
                for place, message in enumerate(list_of(self.document.get("messages")))
                if isinstance(message, dict) and message.get("role") == "tool"
            ),
            OWN | {"text"},
        )

    def _problem(self) -> str:
        return "" if isinstance(self.document.get("messages"), list) else "'messages' must be a list"


def read_choices(document: Mapping[str, Any]) -> int:
    """Return the number of answers that a request asks for."""
    number = whole_number(document.get("n"))
    return 1 if number is None else min(max(number, 1), MOST_CHOICES)


read_request = ChatRequest


def write_request(
    model: str, messages: Sequence[ModelMessage], settings: Mapping[str, Any], tools: Sequence[OfferedTool] = ()
) -> Document:
    """Return a request; ``settings`` are its further fields."""
    request = {"model": model, "messages": list(map(_write_message, messages)), **settings}
    return {**request, "tools": list(map(_write_tool, tools))} if tools else request


def _write_message(message: ModelMessage) -> Document:
    """Return a message; calls keep the further fields that a vendor wants back, such as signatures of thoughts."""
    calls = list(map(_write_call, message.calls))
    result = {"tool_call_id": message.call_id} if message.call_id else {}
    more = {"reasoning_content": message.reasoning} if message.reasoning else {}
    more |= {"refusal": message.refusal} if message.refusal else {}
    content = result_content(message)
    content = [_write_part(part) for part in content] if isinstance(content, list) else content
    written = {"role": message.role, **result, "content": content, **more}
    return {**written, "tool_calls": calls} if calls else written


def _write_call(call: Call) -> Document:
    further = call.source if "function" in call.source else {}
    function = {"name": call.name, "arguments": call.arguments}
    return {"id": call.id, "type": "function", **further, "function": function}


def _write_part(part: Any) -> Any:
    if not isinstance(part, Mapping):
        return part
    return write_part(part, "a part of a chat completion", own=OWN, text="text", image=_image)


def _image(address: str) -> Document:
    return {"type": "image_url", "image_url": {"url": address}}


def _write_tool(tool: OfferedTool) -> Document:
    function = {"name": tool.name, "description": tool.description, "parameters": tool.parameters}
    strict = {"strict": True} if tool.source.get("strict") is True else {}
    return {"type": "function", "function": {**function, **strict}}


def reply_formats(schema: Mapping[str, Any]) -> list[Document]:
    """Return the settings that ask for a reply of this JSON Schema, the strictest first."""
    wanted = GenerationConfig(reply_schema=schema, strict_reply=True), GenerationConfig(reply_schema={})
    return [write_generation(one, FIELDS, "Chat completions", tools=False) for one in wanted]


def read_message(message: Any) -> ModelMessage:
    """Read a message with any errors; a value that is not an object is the content of a message without a role."""
    if not isinstance(message, (dict, Mapping)):
        return ModelMessage(role="", content=message, source=message)
    calls = []
    for call in objects_of(message.get("tool_calls")):
        function = mapping_of(call.get("function"))
        # Arguments that are not text are written as JSON.
        arguments = arguments_text(function.get("arguments"))
        calls.append(Call(text_of(function.get("name")), arguments, text_of(call.get("id")), call))
    return ModelMessage(
        role=text_of(message.get("role")),
        content=message.get("content"),
        calls=tuple(calls),
        call_id=text_of(message.get("tool_call_id")),
        reasoning="\n".join([said for key in REASONING if (said := text_of(message.get(key)))]),
        refusal=text_of(message.get("refusal")),
        source=message,
    )


def _read_tool(tool: Any) -> OfferedTool | None:
    """Read a tool on offer; None if it is not a function with a name."""
    function = mapping_of(mapping_of(tool).get("function"))
    name = function.get("name")
    if not isinstance(name, str):
        return None
    return OfferedTool(name, text_of(function.get("description")), function.get("parameters") or {}, function)


def write_settings(request: ModelRequest) -> Document:
    """Return the further fields of a request of any dialect; a stream is asked for its usage."""
    own = write_generation(request.generation, FIELDS, "Chat completions", tools=bool(request.tools))
    choice = _choice(request.tool_choice) if request.tools else None
    own |= {"tool_choice": choice} if choice is not None else {}
    return {**own, "stream": True, "stream_options": {"include_usage": True}} if request.stream else own


def _choice(choice: ToolChoice) -> Any:
    if choice.name:
        return {"type": "function", "function": {"name": choice.name}}
    if choice.allowed:
        tools = [{"type": "function", "function": {"name": name}} for name in choice.allowed]
        return {"type": "allowed_tools", "allowed_tools": {"mode": choice.mode, "tools": tools}}
    return None if choice.mode == "auto" else choice.mode


REFUSALS = frozenset({"base_resp", "code", "detail", "errmsg", "errno", "message", "msg", "reason", "success"})
"""Keys that vendors use instead of ``error`` to refuse with status 200; such a body has no choices."""

FAILED = "error"
"""The finish reason that routers give if a provider failed."""


def write_error(message: str, kind: str, *, code: str | None = None) -> Document:
    """Return an error as OpenAI's clients read it.

    Args:
        kind: the error's ``type``, such as ``invalid_request_error``.
    """
    return {"error": {"message": message, "type": kind, "param": None, "code": code}}


def reports_error(document: Mapping[str, Any]) -> bool:
    """Return whether a completion or chunk reports an error, next to its choices or in a choice."""
    # Some servers send an error as an object of its own, {"object": "error", "message": …}.
    if document.get("object") == FAILED or ("error" in document and _says(document["error"])):
        return True
    choices = document.get("choices")
    if choices is None and not REFUSALS.isdisjoint(document):
        return True
    # A loop, as a generator for every chunk of every stream would show in the time.
    for choice in choices if isinstance(choices, list) else ():
        if not isinstance(choice, dict):
            continue
        if choice.get("finish_reason") == FAILED or ("error" in choice and _says(choice["error"])):
            return True
    return False


def _says(error: Any) -> bool:
    """Return whether an error has content; some vendors send an empty error with every answer."""
    return any(error.values()) if isinstance(error, dict) else bool(error)


def read_answer(document: Document | None) -> ModelAnswer:
    """Read the answer in a completion; without a message its ``source`` is None."""
    head, choice = document or {}, first_choice(document)
    message = found if isinstance(found := choice.get("message"), dict) else {}
    usage, created = token_counts(head), head.get("created")
    shows_thoughts = any(message.get(key) for key in (*REASONING, "reasoning_details"))
    return ModelAnswer.of(
        read_message(message),
        role="assistant",
        model=text_of(head.get("model")),
        id=text_of(head.get("id")),
        created=created if isinstance(created, int) else 0,
        content=message.get("content") if message else choice.get("text"),
        finish_reason=text_of(choice.get("finish_reason")) or None,
        usage=usage or None,
        hidden_tokens=0 if shows_thoughts else usage.get("reasoning_tokens", 0),
        source=message or None,
    )


def first_choice(response: Document | None) -> Document:
    """Return the choice of index 0, else the first one; may be empty."""
    objects: list[Document] = objects_of((response or {}).get("choices"))
    for choice in objects:
        if choice.get("index", 0) == 0:
            return choice
    return objects[0] if objects else {}


def first_message(response: Document | None) -> Document:
    """Return the message of the first choice; may be empty."""
    message = first_choice(response).get("message")
    return message if isinstance(message, dict) else {}


def answered_calls(message: Mapping[str, Any]) -> list[Any]:
    """Return the calls of a message unchanged; a legacy ``function_call`` is a call without an id."""
    calls, function = message.get("tool_calls"), message.get("function_call")
    if isinstance(calls, list) and calls:
        return calls
    return [{"type": "function", "function": function}] if isinstance(function, dict) and function else []


def problem_of(document: Document) -> Problem | None:
    """Return why a completion is not an answer; None if it is one."""
    choice = first_choice(document)
    if reports_error(document):
        code = mapping_of(document.get("error")).get("code", document.get("code"))
        return Problem("error_body", "the body reports an error", code)
    if not choice:
        return Problem("no_choices", "the completion has no choice, or an empty one")
    if not isinstance(choice.get("message"), dict) and not isinstance(choice.get("text"), str):
        return Problem("null_message", "the first choice has no message")
    if not text_of(choice.get("finish_reason")):
        return Problem("no_finish_reason", "the first choice has no finish reason")
    return None


def token_counts(document: Document) -> dict[str, int]:
    """Return a completion's valid token counts, including cached and reasoning tokens."""
    found: dict[str, int] = {}
    # The places for usage in vendors' answers, least trusted first.
    groq = mapping_of(document.get("x_groq"))
    for place in (first_choice(document).get("usage"), groq.get("usage"), document.get("usage")):
        if not isinstance(place, dict):
            continue
        found |= counts_of({key: value for key, value in place.items() if key.endswith("_tokens")})
        prompt, completion = (mapping_of(place.get(f"{name}_tokens_details")) for name in ("prompt", "completion"))
        cached = prompt.get("cached_tokens", place.get("prompt_cache_hit_tokens"))
        found |= counts_of({"cached_tokens": cached, "reasoning_tokens": completion.get("reasoning_tokens")})
    if "total_tokens" not in found and {"prompt_tokens", "completion_tokens"} <= found.keys():
        found["total_tokens"] = found["prompt_tokens"] + found["completion_tokens"]
    return found


read_body = partial(read_document, read_answer, problem_of)
