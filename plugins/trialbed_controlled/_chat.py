"""The conversation of a controlled trial, between a framework's client of chat completions and the model's endpoint."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar
from zlib import crc32

from trialbed.errors import ModelFailed
from trialbed.records import Answer, ClaimedCall, Limits, ModelEndpoint, Usage, finish_of
from trialbed.tools import Tool
from trialbed.wire import ModelMessage, parse_json
from trialbed.wire.dialects.chat_completions import first_message, read_answer

MAX_ERROR_TEXT = 500


def assistant_message(document: Any, problem: str = "") -> dict[str, Any]:
    """Return the text and the calls of a completion, without a vendor's read-only fields.

    A vendor's additions to a call stay. A call without an id gets one, which its result needs.

    Args:
        problem: why the document is not a completion, if known.

    Raises:
        ModelFailed: it is not a completion, or its message is empty.
    """
    message = first_message(document) if isinstance(document, dict) else {}
    try:
        calls = list(_calls(message))
        content = _clean_content(message.get("content"))
    except (LookupError, TypeError, AttributeError):
        message = {}
    if not message:
        raise ModelFailed(f"the model's endpoint did not answer with a completion: {problem or _problem(document)}")
    kept = {"role": "assistant", "content": content}
    return {**kept, "tool_calls": calls} if calls else kept


def _problem(document: Any) -> str:
    """Return the reason why a document is no completion, and its beginning as JSON without what is null."""
    if not isinstance(document, dict):
        return json.dumps(document, ensure_ascii=False, default=str)[:MAX_ERROR_TEXT]
    if document.get("choices"):
        reason = "the first choice has no message"
    else:
        reason = "the answer reports an error" if document.get("error") else "the answer has no choices"
    said = {name: value for name, value in document.items() if value is not None}
    return f"{reason}: {json.dumps(said, ensure_ascii=False, default=str)[:MAX_ERROR_TEXT]}"


def _calls(message: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    for place, call in enumerate(message.get("tool_calls") or ()):
        name, arguments = _clean(call["function"]["name"]), _text(call["function"].get("arguments"))
        # Some endpoints number their calls; the model gets its own words back.
        id_ = _clean(call["id"]) if isinstance(call["id"], str) else call["id"]
        if id_ in ("", None):  # its result needs one
            id_ = f"call_{place}_{crc32(f'{name} {arguments}'.encode()):08x}"
        yield {"type": "function", **call, "id": id_, "function": {"name": name, "arguments": arguments}}


def _text(arguments: Any) -> str:
    """Return the text of a call's arguments; some endpoints send an object, or null."""
    if isinstance(arguments, str):
        return _clean(arguments)
    return "" if arguments is None else json.dumps(arguments)


def _clean(text: str) -> str:
    """Return the text without lone surrogates, which no request can hold.

    Raises:
        AttributeError: it is not a text.
    """
    return text.encode(errors="replace").decode()


def _clean_content(content: Any) -> str | list[Any] | None:
    if isinstance(content, list):
        parts: list[Any] = json.loads(_clean(json.dumps(content, ensure_ascii=False)))
        return parts
    return None if content is None else _clean(content)


@dataclass
class _Call:
    """A call in the model's own form, its result if it was made, and otherwise the framework's words."""

    written: Mapping[str, Any]
    result: str | None = None
    told: str = "Error: the call was not made"

    @property
    def name(self) -> str:
        return str(self.written["function"]["name"])

    @property
    def text(self) -> str:
        return str(self.written["function"]["arguments"])

    def sealed(self, key: str) -> dict[str, Any]:
        arguments = json.dumps({"call": key, "text": self.text}, ensure_ascii=False)
        return {"id": key, "type": "function", "function": {"name": self.name, "arguments": arguments}}


@dataclass
class _Turn:
    """A message of the model or the user, with its calls by the framework's ids."""

    message: Mapping[str, Any]
    calls: dict[str, _Call] = field(default_factory=dict)


class ControlledChat:
    """Stands between a framework's client and the endpoint to measure only the framework's loop.

    Frameworks rewrite prompts, schemas, arguments and results, and end if a model's message is odd. Here a request
    has the trial's prompt, settings and tools, the model's unchanged messages, and the tools' unchanged
    results. The framework gets plain messages, and each call under an id of its own, with arguments that any
    framework passes on: ``call``, that id, and ``text``, the model's own. It decides when the model is asked,
    which calls are made and when, and when the run ends.

    One object serves one trial.

    Args:
        tools: in the offered order.
        query: the user's first message.

    Attributes:
        was_cut_off: whether the framework would have asked more often than the trial allows.

    Class attributes:
        schema: of the arguments that a framework gets, for the tools that it is given.
    """

    schema: ClassVar[Mapping[str, Any]] = {
        "type": "object",
        "properties": {"call": {"type": "string"}, "text": {"type": "string"}},
        "required": ["call", "text"],
        "additionalProperties": False,
    }

    def __init__(
        self, endpoint: ModelEndpoint, limits: Limits, tools: Sequence[Tool], *, system_prompt: str, query: str
    ) -> None:
        self._endpoint = endpoint
        self._max_turns = limits.max_steps
        self._tools = {tool.name: tool for tool in tools}
        self._opening = [{"role": "system", "content": system_prompt}]
        self._turns: list[_Turn] = []
        self.say(query)

    def say(self, text: str) -> None:
        """Add a message of the user, and reset the number of allowed requests."""
        self._turns.append(_Turn({"role": "user", "content": text}))
        self._asked = 0
        self.was_cut_off = False

    @property
    def is_over(self) -> bool:
        """Whether the model has been asked as often as the trial allows."""
        return self._asked >= self._max_turns

    def request(self, told: Mapping[str, str]) -> dict[str, Any]:
        """Return the body of the next request.

        Args:
            told: id of a call -> the framework's own words on it, used if it did not make the call. They stay for
                later messages of the user, when the framework has no words on earlier calls.
        """
        for key, call in self._calls().items():
            call.told = told.get(key, call.told)
        endpoint = self._endpoint
        messages = [*self._opening, *(message for turn in self._turns for message in _turn_messages(turn))]
        body: dict[str, Any] = {"model": endpoint.model, "messages": messages}
        body |= {"temperature": endpoint.temperature or 0.0, "seed": endpoint.seed}
        if endpoint.max_tokens is not None:
            body["max_tokens"] = endpoint.max_tokens
        if self._tools:
            body["tools"] = [tool.as_openai() for tool in self._tools.values()]
        return body

    def reply(self, completion: Any) -> dict[str, Any]:
        """The completion that the framework gets for the endpoint's.

        Raises:
            ModelFailed: it is not a completion, or an empty one.
        """
        message = assistant_message(completion)
        turn = _Turn(message)
        for place, written in enumerate(message.get("tool_calls", ())):
            turn.calls[f"call_{len(self._turns)}_{place}"] = _Call(written)
        self._turns.append(turn)
        self._asked += 1
        return self._completion(turn, read_answer(completion).usage)

    def last_word(self) -> dict[str, Any]:
        """Return an empty completion, which ends a framework that would ask once more."""
        self.was_cut_off = True
        return self._completion(_Turn({"content": None}), None)

    async def make(self, arguments: Mapping[str, Any]) -> str:
        """Make the call that a framework got these arguments for, and return its result."""
        call, wanted = self._call(arguments)
        if wanted is not None:
            call.result = await self._tools[call.name].ainvoke(wanted)
        return call.result or ""

    def make_in_thread(self, arguments: Mapping[str, Any]) -> str:
        """Make a call like ``make``, for frameworks with blocking tools."""
        call, wanted = self._call(arguments)
        if wanted is not None:
            call.result = self._tools[call.name].invoke(wanted)
        return call.result or ""

    def claim(self, name: str, arguments: Mapping[str, Any] | None, response: str) -> ClaimedCall | None:
        """A call that a framework reports, as the model wrote it; None if it cannot have been made."""
        given = arguments or {}
        wanted = _object(str(given.get("text", "[]")))
        call = self._calls().get(str(given.get("call")))
        # A framework may have repaired the name: the call was not made if the model's own is no tool's.
        if name not in self._tools or (call and call.name not in self._tools) or wanted is None:
            return None
        return ClaimedCall(name=name, api=self._tools[name].api, arguments=wanted, response=response)

    def answer(
        self, text: str, made: Iterable[tuple[str, Mapping[str, Any] | None, str]], *, usage: Usage | None, turns: int
    ) -> Answer:
        """Return the trial's answer, without a text if the framework was cut off.

        Args:
            text: the last one.
            made: name, arguments and result of each call that the framework reports, in the framework's form.
            usage: the tokens that the framework counts.
            turns: the messages of the model that it counts.
        """
        claims = (self.claim(*call) for call in made)
        calls = tuple(claim for claim in claims if claim is not None)
        text = "" if self.was_cut_off else text
        return Answer(final_answer=text, calls=calls, finish=finish_of(text), usage=usage, model_turns=turns)

    def _calls(self) -> dict[str, _Call]:
        """Return all calls by the framework's ids."""
        return {key: call for turn in self._turns for key, call in turn.calls.items()}

    def _call(self, arguments: Mapping[str, Any]) -> tuple[_Call, dict[str, Any] | None]:
        """Return the call and its arguments, or None if they are invalid and the call's result is an error."""
        call = self._calls()[arguments["call"]]
        wanted = _object(call.text)
        if call.name not in self._tools:
            call.result = f"Error: there is no tool {call.name!r}"
        elif wanted is None:
            call.result = f"Error: the arguments are not a JSON object: {call.text}"
        return call, wanted if call.result is None else None

    def _completion(self, turn: _Turn, usage: Mapping[str, int] | None) -> dict[str, Any]:
        content = turn.message["content"]
        # Frameworks are given a text: not every one of them reads parts.
        content = ModelMessage(content=content).text if isinstance(content, list) else content
        message: dict[str, Any] = {"role": "assistant", "content": content}
        if turn.calls:
            message["tool_calls"] = [call.sealed(key) for key, call in turn.calls.items()]
        reason = "tool_calls" if turn.calls else "stop"
        return {
            "id": f"completion_{len(self._turns)}",
            "object": "chat.completion",
            "created": 0,
            "model": self._endpoint.model,
            "choices": [{"index": 0, "finish_reason": reason, "message": message}],
            "usage": _usage(usage),
        }


def _turn_messages(turn: _Turn) -> list[dict[str, Any]]:
    """Return the model's message and a result for each of its calls."""
    results = [
        {
            "role": "tool",
            "tool_call_id": call.written["id"],
            "content": call.told if call.result is None else call.result,
        }
        for call in turn.calls.values()
    ]
    return [dict(turn.message), *results]


def _usage(usage: Mapping[str, int] | None) -> dict[str, int] | None:
    """Return the tokens in a framework client's format; 0 for tokens that the endpoint does not count."""
    if not usage:
        return None
    prompt, completion = usage.get("prompt_tokens", 0), usage.get("completion_tokens", 0)
    return {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion}


def _object(text: str) -> dict[str, Any] | None:
    """The JSON object that a text is, empty if the text is; None if it is something else, or cannot be sent on."""
    try:
        value = parse_json(text or "{}")
        json.dumps(value, ensure_ascii=False).encode()
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None
