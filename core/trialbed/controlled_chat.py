"""The conversation of a controlled trial, between a framework's client of chat completions and the model's endpoint."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from trialbed.errors import ModelFailed
from trialbed.records import ClaimedCall, Limits, ModelEndpoint
from trialbed.tools import Tool
from trialbed.wire import ModelMessage, parse_json

MAX_ERROR_TEXT = 500


@dataclass
class _Call:
    """A call as the model wrote it, and its result once it is made."""

    id: str
    name: str
    text: str
    result: str | None = None

    def as_written(self) -> dict[str, Any]:
        return {"id": self.id, "type": "function", "function": {"name": self.name, "arguments": self.text}}

    def sealed(self, key: str) -> dict[str, Any]:
        arguments = json.dumps({"call": key, "text": self.text}, ensure_ascii=False)
        return {"id": key, "type": "function", "function": {"name": self.name, "arguments": arguments}}


@dataclass
class _Turn:
    """A message of the model's; its calls by the ids that the framework has for them.

    Attributes:
        content: a text, or the list of parts that some vendors send.
    """

    content: str | list[Any] | None
    calls: dict[str, _Call] = field(default_factory=dict)


class ControlledChat:
    """Stands between a framework's client and the endpoint, so that nothing but the framework's loop is measured.

    Frameworks rewrite prompts, schemas, arguments and results, and end where a model's message is odd. Here a request
    has the trial's prompt, settings and tools, the model's messages as it wrote them, and the results as the tools
    returned them. The framework gets plain messages, and each call under an id of its own, with arguments that any
    framework passes on: ``call``, that id, and ``text``, the model's own. It decides when the model is asked,
    which calls are made and when, and when the run ends.

    One object serves one trial.

    Args:
        tools: in the order in which they are offered.
        query: the user's message.

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
        self._opening = [{"role": "system", "content": system_prompt}, {"role": "user", "content": query}]
        self._turns: list[_Turn] = []
        self.was_cut_off = False

    @property
    def is_over(self) -> bool:
        """Whether the model has been asked as often as the trial allows."""
        return len(self._turns) >= self._max_turns

    def request(self, told: Mapping[str, str]) -> dict[str, Any]:
        """The body of the next request.

        Args:
            told: id of a call -> the framework's own words on it, used where it did not make the call.
        """
        endpoint = self._endpoint
        messages = [*self._opening, *(message for turn in self._turns for message in _written(turn, told))]
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
            ModelFailed: it is not a completion.
        """
        try:
            message = completion["choices"][0]["message"]
            turn = self._read(message)
        except (LookupError, TypeError, AttributeError) as error:
            text = str(completion)[:MAX_ERROR_TEXT]
            raise ModelFailed(f"the model's endpoint did not answer with a completion: {text}") from error
        self._turns.append(turn)
        return self._completion(turn, completion.get("usage"))

    def last_word(self) -> dict[str, Any]:
        """An empty completion, with which a framework ends that would ask once more."""
        self.was_cut_off = True
        return self._completion(_Turn(None), None)

    async def make(self, arguments: Mapping[str, Any]) -> str:
        """Make the call that a framework got these arguments for, and return its result."""
        call, wanted = self._call(arguments)
        if wanted is not None:
            call.result = await self._tools[call.name].ainvoke(wanted)
        return call.result or ""

    def make_in_thread(self, arguments: Mapping[str, Any]) -> str:
        """The same for a framework whose tools are not async."""
        call, wanted = self._call(arguments)
        if wanted is not None:
            call.result = self._tools[call.name].invoke(wanted)
        return call.result or ""

    def claim(self, name: str, arguments: Mapping[str, Any] | None, response: str) -> ClaimedCall | None:
        """A call that a framework reports, as the model wrote it; None if it cannot have been made."""
        wanted = _object(str((arguments or {}).get("text", "[]")))
        if name not in self._tools or wanted is None:
            return None
        return ClaimedCall(name=name, api=self._tools[name].api, arguments=wanted, response=response)

    def _call(self, arguments: Mapping[str, Any]) -> tuple[_Call, dict[str, Any] | None]:
        """The call, and its arguments; None where they are not an object, which is then its result."""
        call = next(turn.calls[arguments["call"]] for turn in self._turns if arguments["call"] in turn.calls)
        wanted = _object(call.text)
        if call.name not in self._tools:
            call.result = f"Error: there is no tool {call.name!r}"
        elif wanted is None:
            call.result = f"Error: the arguments are not a JSON object: {call.text}"
        return call, wanted if call.result is None else None

    def _read(self, message: Mapping[str, Any]) -> _Turn:
        content = message.get("content")
        turn = _Turn(_clean_content(content))
        for place, written in enumerate(message.get("tool_calls") or ()):
            key = f"call_{len(self._turns)}_{place}"
            function = written["function"]
            id_ = written.get("id") or key
            # Some endpoints number their calls; the model gets back what it wrote.
            id_ = _clean(id_) if isinstance(id_, str) else id_
            turn.calls[key] = _Call(id_, _clean(function["name"]), _text(function.get("arguments")))
        return turn

    def _completion(self, turn: _Turn, usage: Any) -> dict[str, Any]:
        # Frameworks are given a text: not every one of them reads parts.
        content = ModelMessage(content=turn.content).text if isinstance(turn.content, list) else turn.content
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


def _written(turn: _Turn, told: Mapping[str, str]) -> list[dict[str, Any]]:
    """The messages of a turn: the model's, and a result for each of its calls."""
    message: dict[str, Any] = {"role": "assistant", "content": turn.content}
    if turn.calls:
        message["tool_calls"] = [call.as_written() for call in turn.calls.values()]
    results = [
        {
            "role": "tool",
            "tool_call_id": call.id,
            "content": told.get(key, "Error: the call was not made") if call.result is None else call.result,
        }
        for key, call in turn.calls.items()
    ]
    return [message, *results]


def _usage(usage: Any) -> dict[str, int] | None:
    """The tokens, where the endpoint reports them as numbers of things."""
    try:
        prompt, completion = int(usage["prompt_tokens"]), int(usage["completion_tokens"])
    except (LookupError, TypeError, ValueError, OverflowError):  # the last one: JSON's 1e999 is infinite
        return None
    if prompt < 0 or completion < 0:
        return None
    return {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion}


def _text(arguments: Any) -> str:
    """The text of a call's arguments; some endpoints send an object, or null."""
    if isinstance(arguments, str):
        return _clean(arguments)
    return "" if arguments is None else json.dumps(arguments)


def _clean(text: str) -> str:
    """The text without halves of emoji, which no request can hold.

    Raises:
        AttributeError: it is no text.
    """
    return text.encode(errors="replace").decode()


def _clean_content(content: Any) -> str | list[Any] | None:
    if isinstance(content, list):
        parts: list[Any] = json.loads(_clean(json.dumps(content, ensure_ascii=False)))
        return parts
    return None if content is None else _clean(content)


def _object(text: str) -> dict[str, Any] | None:
    """The JSON object that a text is, empty if the text is; None if it is something else, or cannot be sent on."""
    try:
        value = parse_json(text or "{}")
        json.dumps(value, ensure_ascii=False).encode()
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None
