"""Assembles a completion from the chunks of a stream."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from typing import Any

Chunk = Mapping[str, Any]


class Assembly:
    """Puts chunks together, however a vendor cuts them.

    Args:
        names: of the tools on offer; they settle what the pieces of a name mean.
    """

    def __init__(self, names: Collection[str]) -> None:
        self._names = names
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
        """Whether any piece of a message came for the first choice."""
        first = self._first
        return first is not None and first.has_message

    @property
    def _first(self) -> _Choice | None:
        """The choice of index 0, else the one of the lowest index."""
        return self._choices.get(0) or (self._choices[min(self._choices)] if self._choices else None)

    def add(self, chunk: Chunk) -> bool:
        """Take a chunk; returns whether it has a token: content, arguments or reasoning that is not empty."""
        for key in ("id", "created", "model", "system_fingerprint", "provider"):
            if chunk.get(key) is not None:
                self._head.setdefault(key, chunk[key])
        self._note_usage(chunk.get("usage"))
        token = False
        for position, choice in enumerate(_list(chunk.get("choices"))):
            if isinstance(choice, dict):
                self._note_usage(choice.get("usage"))
                number = choice.get("index")
                state = self._choice(number if isinstance(number, int) else position)
                token |= state.add(choice)
        return token

    def completion(self) -> dict[str, Any]:
        """The chunks so far, as a response that was not streamed."""
        choices = [self._choices[number].document(number) for number in sorted(self._choices)]
        return {**self._head, "object": "chat.completion", "choices": choices, "usage": self._usage}

    def _choice(self, number: int) -> _Choice:
        if number not in self._choices:
            self._choices[number] = _Choice(self._names)
        return self._choices[number]

    def _note_usage(self, usage: Any) -> None:
        if isinstance(usage, dict):
            self._usage = usage


class _Choice:
    def __init__(self, names: Collection[str]) -> None:
        self.finish_reason: str | None = None
        self._names = names
        self.has_message = False
        self._role: str | None = None
        self._content: list[str] = []
        self._reasoning: dict[str, list[str]] = {}
        self._calls: list[_Call] = []
        self._by_index: dict[int, _Call] = {}

    def add(self, choice: Chunk) -> bool:
        reason = choice.get("finish_reason")
        if isinstance(reason, str) and reason:
            self.finish_reason = reason
        delta = choice.get("delta")
        if not isinstance(delta, dict):
            # Raw completions stream their text here.
            self.has_message |= isinstance(choice.get("text"), str)
            return self._text(self._content, choice.get("text"))
        self.has_message = True
        self._role = delta.get("role") or self._role
        token = self._text(self._content, delta.get("content"))
        for key in ("reasoning_content", "reasoning"):
            if key in delta:
                token |= self._text(self._reasoning.setdefault(key, []), delta[key])
        for piece in _list(delta.get("tool_calls")):
            if isinstance(piece, dict):
                token |= self._call_of(piece).add(piece)
        return token

    def document(self, number: int) -> dict[str, Any]:
        message: dict[str, Any] = {"role": self._role or "assistant", "content": "".join(self._content)}
        message |= {key: "".join(parts) for key, parts in self._reasoning.items() if any(parts)}
        calls = [call for call in self._calls if not call.is_repetition(self._names)]
        message["tool_calls"] = [call.document(self._names) for call in calls] or None
        return {"index": number, "message": message, "finish_reason": self.finish_reason}

    @staticmethod
    def _text(parts: list[str], value: Any) -> bool:
        if isinstance(value, list):
            # Some vendors stream content in typed parts, as requests may have it.
            value = "".join(
                text for part in value if isinstance(part, dict) and isinstance(text := part.get("text"), str)
            )
        if isinstance(value, str) and value:
            parts.append(value)
            return True
        return False

    def _call_of(self, piece: Chunk) -> _Call:
        """The call that a piece belongs to: by its index, else by its id, else the last one."""
        index = piece.get("index")
        if isinstance(index, int):
            known = self._by_index.get(index)
            if known is None or known.is_over(piece, self._names):
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

    def _new(self, before: _Call | None = None) -> _Call:
        self._calls.append(_Call(before))
        return self._calls[-1]


class _Call:
    def __init__(self, before: _Call | None) -> None:
        self.identity: str | None = None
        self._before = before
        self._type: str | None = None
        self._names: list[str] = []
        self._arguments: list[str] = []

    def add(self, piece: Chunk) -> bool:
        self.identity = self.identity or piece.get("id")
        self._type = self._type or piece.get("type")
        function = piece.get("function")
        if not isinstance(function, dict):
            return False
        name, arguments = function.get("name"), function.get("arguments")
        if isinstance(name, str) and name:
            self._names.append(name)
        if isinstance(arguments, dict | list):
            arguments = json.dumps(arguments, ensure_ascii=False)
        if isinstance(arguments, str) and arguments:
            self._arguments.append(arguments)
            return True
        return False

    def is_over(self, piece: Chunk, offered: Collection[str]) -> bool:
        """Whether the piece begins another call.

        It has a name, and either this call is complete, or the piece has another id and names another tool.
        """
        function = piece.get("function")
        name = function.get("name") if isinstance(function, dict) else None
        if not name or (piece.get("id") and piece.get("id") == self.identity):
            return False
        return self._complete() or (bool(piece.get("id")) and self._is_another(name, offered))

    def _is_another(self, name: Any, offered: Collection[str]) -> bool:
        """Whether a name is another tool's; a call of a tool without parameters may have no arguments at all."""
        own = _name(self._names, offered)
        return own != name and own in offered and name in offered

    def is_repetition(self, offered: Collection[str]) -> bool:
        """Whether this is only the name of the call before, sent once more after that call's arguments."""
        before = self._before
        if before is None or self.identity or "".join(self._arguments).strip():
            return False
        return before._complete() and _name(self._names, offered) == _name(before._names, offered)

    def document(self, names: Collection[str]) -> dict[str, Any]:
        function = {"name": _name(self._names, names), "arguments": "".join(self._arguments)}
        return {"id": self.identity, "type": self._type or "function", "function": function}

    def _complete(self) -> bool:
        if not self._names or not self._arguments:
            return False
        try:
            json.loads("".join(self._arguments))
        except (ValueError, RecursionError):
            return False
        return True


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


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
