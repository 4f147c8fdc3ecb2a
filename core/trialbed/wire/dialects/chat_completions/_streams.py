"""Reads a streamed answer with a strict state machine, and assembles its chunks from any vendor.

::

    waiting ──first event──▶ open ──finish_reason──▶ finished ──[DONE]──▶ done
       │                      │                         │
       └────── end of body, error event, malformed event: protocol error ───┘

Only a stream that is done after a finish reason is an answer.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping
from typing import Any

from trialbed.wire._events import Event
from trialbed.wire._exchange import Document, TextKind
from trialbed.wire._json import lenient_json
from trialbed.wire._readings import Problem, Reading
from trialbed.wire.dialects._fields import list_of, mapping_of, objects_of, text_of
from trialbed.wire.dialects._streams import DONE, AnswerStream
from trialbed.wire.dialects.chat_completions._documents import REASONING, read_answer, reports_error

CHUNK = "chat.completion.chunk"

HEAD = ("id", "created", "model", "system_fingerprint", "provider")
"""Fields of a completion other than its choices."""

STABLE = frozenset(("id", "created", "model"))
"""Fields that every chunk must have, with equal values."""

KINDS: dict[str, TextKind] = {**dict.fromkeys(REASONING, "reasoning"), "content": "text", "refusal": "refusal"}
"""Text of a message -> its kind."""


class ChatStreamReader(AnswerStream):
    """Reads one stream from bytes that may be cut anywhere.

    Args:
        names: of the tools on offer; they settle how the pieces of a name are joined.
    """

    LAST = "[DONE]"

    def __init__(self, names: Collection[str]) -> None:
        super().__init__(read_answer)
        self._names = names
        self._head: Document = {}
        self._said: tuple[Any, ...] = ()
        self._choices: dict[int, _Choice] = {}
        self._usage: Any = None

    def _take(self, event: Event, now: float) -> None:
        if event.data.strip() == DONE and not self.over:
            self._event, problem = event.data, None
            if not self._finished:
                problem = Problem("no_finish_reason", "the stream ended with [DONE] but without a finish reason")
            elif self._first is not None and not self._first.has_message:
                problem = Problem("null_message", "the stream has a finish reason but no message")
            self._finish(problem)
        else:
            super()._take(event, now)

    def _read(self, event: Event, found: Document, now: float) -> None:
        if event.name == "error" or reports_error(found):
            self._break_by_error(event)
            return
        self._phase = "open"
        self._add_head(found)
        token = self._add_choices(found)
        if token and self.first_token is None:
            self.first_token = now
        if token and self._finished:
            self.note("tokens_after_finish")
        self._finished = (first := self._first) is not None and first.finish_reason is not None

    @property
    def _first(self) -> _Choice | None:
        """The choice of index 0, else the choice of the lowest index."""
        return self._choices.get(0) or (self._choices[min(self._choices)] if self._choices else None)

    def _add_head(self, chunk: Document) -> None:
        """Take everything in a chunk except its choices."""
        head, said = self._head, tuple(map(chunk.get, HEAD))
        # Most chunks say the same as the one before.
        for key, value in zip(HEAD, said, strict=True) if said != self._said else ():
            if value is None or value == "":
                if key in STABLE:
                    self.note("chunk_field_missing")
            elif key not in head:
                head[key] = value
            elif head[key] != value and key in STABLE:
                self.note(f"{key}_changed")
        self._said = said
        # The chunks of raw completions, which have texts, are other objects.
        if chunk.get("object") != CHUNK and not any("text" in choice for choice in objects_of(chunk.get("choices"))):
            self.note("object_wrong")
        for place in (chunk, chunk.get("x_groq"), *list_of(chunk.get("choices"))):
            if isinstance(place, dict) and isinstance(usage := place.get("usage"), dict):
                self._usage = usage
        if self._usage is None and isinstance(timings := chunk.get("timings"), dict):
            # llama.cpp ends each stream with its times; the usage ends streams that ask for it.
            new, cached, completion = (timings.get(name) for name in ("prompt_n", "cache_n", "predicted_n"))
            if isinstance(new, int) and isinstance(cached, int) and isinstance(completion, int):
                self._usage = {"prompt_tokens": new + cached, "completion_tokens": completion}
                self._usage["prompt_tokens_details"] = {"cached_tokens": cached}

    def _add_choices(self, chunk: Document) -> bool:
        """Take the choices of a chunk; return whether it has a token, which is non-empty text or arguments."""
        token = False
        choices = chunk.get("choices")
        if not isinstance(choices, list):
            self.note("choices_not_list")
        for position, choice in enumerate(list_of(choices)):
            if not isinstance(choice, dict):
                self.note("choice_not_object")
                continue
            number = choice.get("index")
            if type(number) is not int:
                self.note("choice_index_missing")
                number = position
            own = self._choices.get(number) or self._choices.setdefault(number, _Choice(self._names))
            token |= own.add(choice, self.pieces if number == 0 else None)
            for kind in own.notes:
                self.note(kind)
        return token

    def _document(self) -> Document:
        choices = [self._choices[number].document(number, self.note) for number in sorted(self._choices)]
        return {**self._head, "object": "chat.completion", "choices": choices, "usage": self._usage}


class _Choice:
    """A choice that comes in pieces.

    Attributes:
        has_message: whether any piece of a message has come.
        notes: kinds of peculiarities. The choice has no reference to its reader, because a cycle would stay in memory,
            with the tools on offer, until the next garbage collection.
    """

    def __init__(self, names: Collection[str]) -> None:
        self.finish_reason: str | None = None
        self.has_message = False
        self.notes: dict[str, None] = {}
        self._names = names
        self._note = self.notes.setdefault
        self._role: str | None = None
        self._texts: dict[str, list[str]] = {}
        self._details: list[Any] = []
        self._logprobs: dict[str, list[Any]] = {}
        self._function: _CallPieces | None = None
        self._calls: list[_CallPieces] = []
        self._by_index: dict[int, _CallPieces] = {}

    def add(self, choice: Document, pieces: list[tuple[TextKind, str]] | None) -> bool:
        """Take a piece, and add its texts to ``pieces``; return whether it has a token."""
        reason, delta, logprobs = choice.get("finish_reason"), choice.get("delta"), choice.get("logprobs")
        if reason is not None and not (isinstance(reason, str) and reason):
            self._note("finish_reason_unknown")
        elif reason is not None:
            if self.finish_reason not in (None, reason):
                self._note("finish_reason_changed")
            self.finish_reason = reason
        if logprobs and not isinstance(logprobs, dict):
            self._note("logprobs_wrong")
        for key, tokens in mapping_of(logprobs).items() if logprobs else ():
            if isinstance(tokens, list):
                self._logprobs.setdefault(key, []).extend(tokens)
        if isinstance(delta, dict):
            self.has_message = True
        else:
            # Raw completions stream their text here, and have no delta.
            self._note("delta_missing")
            self.has_message |= isinstance(choice.get("text"), str)
            delta = {"content": choice.get("text")}
        self._role = delta.get("role") or self._role
        said: dict[TextKind, str] = {}
        for key, kind in KINDS.items():
            if key in delta:
                text = self._text(delta[key])
                self._texts.setdefault(key, []).append(text)
                # In a chunk that has its thoughts under two keys, the second is the same once more.
                said[kind] = said.get(kind) or text
        if pieces is not None:
            pieces += [(kind, text) for kind, text in said.items() if text]
        # Reasoning in typed parts, as routers send it.
        details = objects_of(delta["reasoning_details"]) if "reasoning_details" in delta else []
        self._details += details
        found = [part.get(key) for part in details for key in ("text", "summary", "data")] if details else ()
        token = any(said.values()) or any(found)
        if isinstance(function := delta.get("function_call"), dict):
            self._function = self._function or _CallPieces(None)
            token |= self._function.add({"function": function})
        return ("tool_calls" in delta and self._add_calls(delta["tool_calls"])) or token

    def document(self, number: int, note: Callable[[str], object]) -> Document:
        texts = {key: "".join(parts) for key, parts in self._texts.items()}
        message: Document = {"role": self._role or "assistant", "content": texts.pop("content", "")}
        message |= {key: text for key, text in texts.items() if text}
        if self._details:
            message["reasoning_details"] = self._details
        if self._function is not None:
            message["function_call"] = self._function.document(self._names)["function"]
        calls = [call for call in self._calls if not call.is_repetition(self._names)]
        if not all(call.has_arguments for call in calls):
            note("arguments_missing")
        message["tool_calls"] = [call.document(self._names) for call in calls] or None
        choice = {"index": number, "message": message, "finish_reason": self.finish_reason}
        return {**choice, "logprobs": self._logprobs} if self._logprobs else choice

    def _text(self, value: Any) -> str:
        if value is not None and not isinstance(value, str):
            self._note("content_not_text")
            # Some vendors stream content in typed parts, as requests may have it.
            return "".join(text_of(part.get("text")) for part in objects_of(value))
        return value or ""

    def _add_calls(self, pieces: Any) -> bool:
        token = False
        if pieces is not None and not isinstance(pieces, list):
            self._note("tool_calls_not_list")
        for piece in list_of(pieces):
            if isinstance(piece, dict):
                token |= self._call_of(piece).add(piece, self._note)
            else:
                self._note("call_not_object")
        return token

    def _call_of(self, piece: Document) -> _CallPieces:
        """Return the call that a piece belongs to, by its index or its id, else the last one."""
        index, identity = piece.get("index"), piece.get("id")
        if type(index) is int:
            known = self._by_index.get(index)
            is_over = known is None or known.is_over(piece, self._names)
            if index != len(self._by_index) if known is None else is_over and known.identity and identity:
                self._note("call_index_wrong")
        else:
            self._note("call_index_missing")
            same = (call for call in self._calls if identity and call.identity == identity)
            known = next(same, self._calls[-1] if self._calls else None)
            is_over = known is None or (known.identity != identity if identity else known.is_over(piece, self._names))
        if known is None or is_over:
            known = _CallPieces(known)
            self._calls.append(known)
            if type(index) is int:
                self._by_index[index] = known
        return known


class _CallPieces:
    """A call that comes in pieces.

    Args:
        before: the call that it may only repeat.
    """

    def __init__(self, before: _CallPieces | None) -> None:
        self.identity: str | None = None
        self.has_arguments = False
        self._before = before
        self._type: str | None = None
        self._names: list[str] = []
        self._arguments: list[str] = []

    def add(self, piece: Document, note: Callable[[str], object] = lambda _kind: None) -> bool:
        """Take a piece; return whether it has arguments that are not empty."""
        identity, function = piece.get("id"), piece.get("function")
        if identity and self.identity and identity != self.identity:
            note("call_id_changed")
        if self._type is None and not self._names and not piece.get("type"):
            note("call_type_missing")
        self.identity = self.identity or identity
        self._type = self._type or piece.get("type")
        if not isinstance(function, dict):
            custom = mapping_of(piece.get("custom"))
            function = {"name": custom.get("name"), "arguments": custom.get("input")}
        name, arguments = function.get("name"), function.get("arguments")
        if isinstance(name, str) and name:
            self._names.append(name)
        self.has_arguments |= arguments is not None
        if arguments is not None and not isinstance(arguments, str):
            note("arguments_not_text")
            arguments = json.dumps(arguments, ensure_ascii=False) if isinstance(arguments, dict | list) else ""
        self._arguments.append(arguments or "")
        return bool(arguments)

    def is_over(self, piece: Mapping[str, Any], offered: Collection[str]) -> bool:
        """Return whether the piece begins another call.

        It has a name, and either this call is complete, or the piece has another id and names another tool: a call of a
        tool without parameters may have no arguments at all.
        """
        name, identity = mapping_of(piece.get("function")).get("name"), piece.get("id")
        if not name or (identity and identity == self.identity):
            return False
        own = self._name(offered)
        return self._complete() or (bool(identity) and own != name and own in offered and name in offered)

    def is_repetition(self, offered: Collection[str]) -> bool:
        """Return whether this is only the name of the call before, sent once more after that call's arguments."""
        before = self._before
        if before is None or self.identity or "".join(self._arguments).strip():
            return False
        return before._complete() and self._name(offered) == before._name(offered)

    def document(self, offered: Collection[str]) -> Document:
        name, text = self._name(offered), "".join(self._arguments)
        if self._type == "custom":
            return {"id": self.identity, "type": "custom", "custom": {"name": name, "input": text}}
        return {"id": self.identity, "type": self._type or "function", "function": {"name": name, "arguments": text}}

    def _complete(self) -> bool:
        text = "".join(self._arguments)
        return bool(self._names) and lenient_json(text, text) is not text

    def _name(self, offered: Collection[str]) -> str:
        """Return the name that its fragments stand for.

        Some vendors send a name in pieces, others repeat the whole name with every chunk. A name that was offered
        decides; without one, equal fragments are one name.
        """
        joined, fragments = "".join(self._names), self._names
        if joined not in offered and fragments and (fragments[-1] in offered or len(set(fragments)) == 1):
            return fragments[-1]
        return joined


open_stream = ChatStreamReader


def read_stream(body: bytes, names: Collection[str] = ()) -> Reading:
    """Reads a stream that has ended.

    Args:
        names: of the tools on offer.
    """
    reader = ChatStreamReader(names)
    reader.feed(body)
    return reader.end()
