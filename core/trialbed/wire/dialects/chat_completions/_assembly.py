"""Assembles a completion from the chunks of a stream."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any

from trialbed.wire._exchange import TextKind
from trialbed.wire._json import lenient_json
from trialbed.wire.dialects._fields import list_of, objects_of, text_of
from trialbed.wire.dialects.chat_completions._requests import REASONING

Chunk = Mapping[str, Any]


Note = Callable[[str], None]

CHUNK = "chat.completion.chunk"

HEAD = ("id", "created", "model", "system_fingerprint", "provider")
"""Fields of a completion beside its choices."""

STABLE = frozenset(("id", "created", "model"))
"""Fields that every chunk must have, with equal values."""

EXTRA = (*REASONING, "refusal")
"""Texts of a message beside its content."""


class Assembly:
    """Puts chunks together, however a vendor cuts them.

    Args:
        names: of the tools on offer; they settle how the pieces of a name are joined.
        note: called with the kind of each peculiarity that the completion does not show.
    """

    def __init__(self, names: Collection[str], note: Note = lambda _kind: None) -> None:
        self._names = names
        self._note = note
        self._head: dict[str, Any] = {}
        self._choices: dict[int, _Choice] = {}
        self._usage: Any = None

    @property
    def finish_reason(self) -> str | None:
        """The finish reason of the first choice."""
        first = self._first
        return first.finish_reason if first else None

    @property
    def has_message(self) -> bool:
        """Return whether any piece of a message came for the first choice."""
        first = self._first
        return first is not None and first.has_message

    @property
    def _first(self) -> _Choice | None:
        """The choice of index 0, else the one of the lowest index."""
        return self._choices.get(0) or (self._choices[min(self._choices)] if self._choices else None)

    def add(self, chunk: Chunk) -> bool:
        """Take a chunk; returns whether it has a token: content, arguments or reasoning that is not empty."""
        head = self._head
        for key in HEAD:
            value = chunk.get(key)
            if value is None or value == "":
                if key in STABLE:
                    self._note("chunk_field_missing")
            elif key not in head:
                head[key] = value
            elif head[key] != value and key in STABLE:
                self._note(f"{key}_changed")
        if chunk.get("object") != CHUNK and self._is_of_chat(chunk):
            self._note("object_wrong")
        if isinstance(usage := chunk.get("usage"), dict):
            self._usage = usage
        if isinstance(groq := chunk.get("x_groq"), dict) and isinstance(usage := groq.get("usage"), dict):
            self._usage = usage
        if self._usage is None and isinstance(timings := chunk.get("timings"), dict):
            self._usage = _usage_of_timings(timings)
        token = False
        choices = chunk.get("choices")
        if not isinstance(choices, list):
            self._note("choices_not_list")
            return False
        for position, choice in enumerate(choices):
            if isinstance(choice, dict):
                if isinstance(usage := choice.get("usage"), dict):
                    self._usage = usage
                number = choice.get("index")
                if type(number) is not int:
                    self._note("choice_index_missing")
                    number = position
                token |= self._choice(number).add(choice)
            else:
                self._note("choice_not_object")
        return token

    def new_texts(self) -> Iterator[tuple[TextKind, str]]:
        """Yield the pieces of the texts of choice 0 that have come since this was asked last."""
        if (first := self._choices.get(0)) is not None:
            yield from first.new_texts()

    def completion(self) -> dict[str, Any]:
        """The chunks so far, as a response that was not streamed."""
        choices = [self._choices[number].document(number) for number in sorted(self._choices)]
        return {**self._head, "object": "chat.completion", "choices": choices, "usage": self._usage}

    def _is_of_chat(self, chunk: Chunk) -> bool:
        """Return whether a chunk is of a chat; those of raw completions are other objects."""
        return not any(isinstance(choice, dict) and "text" in choice for choice in list_of(chunk.get("choices")))

    def _choice(self, number: int) -> _Choice:
        choice = self._choices.get(number)
        if choice is None:
            choice = self._choices[number] = _Choice(self._names, self._note)
        return choice


class _Choice:
    def __init__(self, names: Collection[str], note: Note) -> None:
        self.finish_reason: str | None = None
        self._names = names
        self._note = note
        self.has_message = False
        self._role: str | None = None
        self._content: list[str] = []
        self._texts: dict[str, list[str]] = {}
        self._thoughts: list[str] = []
        self._details: list[Any] = []
        self._logprobs: dict[str, list[Any]] = {}
        self._function: _CallPieces | None = None
        self._calls: list[_CallPieces] = []
        self._by_index: dict[int, _CallPieces] = {}
        self._told: dict[TextKind, int] = {}

    def new_texts(self) -> Iterator[tuple[TextKind, str]]:
        kinds: tuple[tuple[TextKind, list[str]], ...] = (
            ("reasoning", self._thoughts),
            ("text", self._content),
            ("refusal", self._texts.get("refusal", [])),
        )
        for kind, parts in kinds:
            told = self._told.get(kind, 0)
            if told < len(parts):
                self._told[kind] = len(parts)
                yield kind, "".join(parts[told:])

    def add(self, choice: Chunk) -> bool:
        reason = choice.get("finish_reason")
        if reason is not None and not (isinstance(reason, str) and reason):
            self._note("finish_reason_unknown")
        elif reason is not None:
            if self.finish_reason not in (None, reason):
                self._note("finish_reason_changed")
            self.finish_reason = reason
        if logprobs := choice.get("logprobs"):
            self._add_logprobs(logprobs)
        delta = choice.get("delta")
        if not isinstance(delta, dict):
            # Raw completions stream their text here, and have no delta.
            self._note("delta_missing")
            self.has_message |= isinstance(choice.get("text"), str)
            return self._text(self._content, choice.get("text"))
        self.has_message = True
        self._role = delta.get("role") or self._role
        content = delta.get("content")
        token = content is not None and self._text(self._content, content)
        for key in EXTRA:
            if key in delta:
                token |= self._text(self._texts.setdefault(key, []), delta[key])
        for key in REASONING:
            # In a chunk that has it under two keys, the second is the same once more.
            if self._text(self._thoughts, delta.get(key)):
                break
        if details := delta.get("reasoning_details"):
            token |= self._add_details(details)
        if isinstance(function := delta.get("function_call"), dict):
            self._function = self._function or _CallPieces(None)
            token |= self._function.add({"function": function})
        pieces = delta.get("tool_calls")
        return token if pieces is None else self._add_calls(pieces) or token

    def document(self, number: int) -> dict[str, Any]:
        message: dict[str, Any] = {"role": self._role or "assistant", "content": "".join(self._content)}
        message |= {key: "".join(parts) for key, parts in self._texts.items() if any(parts)}
        if self._details:
            message["reasoning_details"] = self._details
        if self._function is not None:
            message["function_call"] = self._function.document(self._names)["function"]
        calls = [call for call in self._calls if not call.is_repetition(self._names)]
        if not all(call.has_arguments for call in calls):
            self._note("arguments_missing")
        message["tool_calls"] = [call.document(self._names) for call in calls] or None
        choice = {"index": number, "message": message, "finish_reason": self.finish_reason}
        return {**choice, "logprobs": self._logprobs} if self._logprobs else choice

    def _add_calls(self, pieces: Any) -> bool:
        token = False
        if not isinstance(pieces, list):
            self._note("tool_calls_not_list")
        for piece in list_of(pieces):
            if isinstance(piece, dict):
                if type(piece.get("index")) is not int:
                    self._note("call_index_missing")
                token |= self._call_of(piece).add(piece, self._note)
            else:
                self._note("call_not_object")
        return token

    def _add_details(self, details: Any) -> bool:
        """Reasoning in typed parts, as routers send it."""
        parts = objects_of(details)
        self._details += parts
        return any(part.get(key) for part in parts for key in ("text", "summary", "data"))

    def _add_logprobs(self, logprobs: Any) -> None:
        if not isinstance(logprobs, dict):
            self._note("logprobs_wrong")
            return
        for key, tokens in logprobs.items():
            if isinstance(tokens, list):
                self._logprobs.setdefault(key, []).extend(tokens)

    def _text(self, parts: list[str], value: Any) -> bool:
        if value is None:
            return False
        if not isinstance(value, str):
            self._note("content_not_text")
            # Some vendors stream content in typed parts, as requests may have it.
            value = "".join(text_of(part.get("text")) for part in objects_of(value))
        if value:
            parts.append(value)
        return bool(value)

    def _call_of(self, piece: Chunk) -> _CallPieces:
        """The call that a piece belongs to: by its index, else by its id, else the last one."""
        index = piece.get("index")
        if type(index) is int:
            known = self._by_index.get(index)
            is_over = known is not None and known.is_over(piece, self._names)
            is_left_out = known is None and index != len(self._by_index)
            is_shared = known is not None and is_over and known.identity and piece.get("id")
            if is_left_out or is_shared:
                self._note("call_index_wrong")
            if known is None or is_over:
                known = self._by_index[index] = self._new(known)
            return known
        if not self._calls:
            return self._new()
        identity = piece.get("id")
        same = next((call for call in self._calls if identity and call.identity == identity), None)
        if same is not None:
            return same
        last = self._calls[-1]
        return self._new(last) if identity or last.is_over(piece, self._names) else last

    def _new(self, before: _CallPieces | None = None) -> _CallPieces:
        self._calls.append(_CallPieces(before))
        return self._calls[-1]


class _CallPieces:
    def __init__(self, before: _CallPieces | None) -> None:
        self.identity: str | None = None
        self.has_arguments = False
        self._before = before
        self._type: str | None = None
        self._names: list[str] = []
        self._arguments: list[str] = []

    def add(self, piece: Chunk, note: Note = lambda _kind: None) -> bool:
        identity = piece.get("id")
        if identity and self.identity and identity != self.identity:
            note("call_id_changed")
        self.identity = self.identity or identity
        if self._type is None and not self._names and not piece.get("type"):
            note("call_type_missing")
        self._type = self._type or piece.get("type")
        function = piece.get("function")
        if not isinstance(function, dict):
            custom = piece.get("custom")
            if not isinstance(custom, dict):
                return False
            function = {"name": custom.get("name"), "arguments": custom.get("input")}
        name, arguments = function.get("name"), function.get("arguments")
        if isinstance(name, str) and name:
            self._names.append(name)
        self.has_arguments |= arguments is not None
        if arguments is not None and not isinstance(arguments, str):
            note("arguments_not_text")
        if isinstance(arguments, dict | list):
            arguments = json.dumps(arguments, ensure_ascii=False)
        if isinstance(arguments, str) and arguments:
            self._arguments.append(arguments)
            return True
        return False

    def is_over(self, piece: Chunk, offered: Collection[str]) -> bool:
        """Return whether the piece begins another call.

        It has a name, and either this call is complete, or the piece has another id and names another tool: a call of a
        tool without parameters may have no arguments at all.
        """
        function, identity = piece.get("function"), piece.get("id")
        name = function.get("name") if isinstance(function, dict) else None
        if not name or (identity and identity == self.identity):
            return False
        own = _name(self._names, offered)
        return self._complete() or (bool(identity) and own != name and own in offered and name in offered)

    def is_repetition(self, offered: Collection[str]) -> bool:
        """Return whether this is only the name of the call before, sent once more after that call's arguments."""
        before = self._before
        if before is None or self.identity or "".join(self._arguments).strip():
            return False
        return before._complete() and _name(self._names, offered) == _name(before._names, offered)

    def document(self, names: Collection[str]) -> dict[str, Any]:
        name, text = _name(self._names, names), "".join(self._arguments)
        if self._type == "custom":
            return {"id": self.identity, "type": "custom", "custom": {"name": name, "input": text}}
        return {"id": self.identity, "type": self._type or "function", "function": {"name": name, "arguments": text}}

    def _complete(self) -> bool:
        text = "".join(self._arguments)
        return bool(self._names) and lenient_json(text, text) is not text


def _name(fragments: list[str], offered: Collection[str]) -> str:
    """The name that fragments stand for.

    Some vendors send a name in pieces, others repeat the whole name with every chunk. A name that was offered decides;
    without one, equal fragments are one name.
    """
    joined = "".join(fragments)
    if len(fragments) < 2 or joined in offered:
        return joined
    if fragments[-1] in offered or len(set(fragments)) == 1:
        return fragments[-1]
    return joined


def _usage_of_timings(timings: Mapping[str, Any]) -> dict[str, Any] | None:
    """The usage in llama.cpp's times, which end each of its streams; the usage itself ends those that ask for it."""
    new, cached, completion = (timings.get(name) for name in ("prompt_n", "cache_n", "predicted_n"))
    if not (isinstance(new, int) and isinstance(cached, int) and isinstance(completion, int)):
        return None
    return {
        "prompt_tokens": new + cached,
        "completion_tokens": completion,
        "prompt_tokens_details": {"cached_tokens": cached},
    }
