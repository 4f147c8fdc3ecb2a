"""The nodes of an answer's details: walked in order, each with the path that an error names."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from trialbed.errors import AnswerError

ROLES = ("tool", "assistant", "user", "system")


@dataclass(frozen=True)
class Place:
    """Where a value stands; linked to its parent, so that a deep chain costs nothing until it is named."""

    text: str
    parent: Place | None = None

    def __truediv__(self, text: str) -> Place:
        return Place(text, self)

    def __str__(self) -> str:
        parts = [self.text]
        place = self.parent
        while place is not None:
            parts.append(place.text)
            place = place.parent
        return "".join(reversed(parts))


@dataclass(frozen=True)
class ToolNode:
    """A node of role ``tool``, its message read."""

    place: Place
    name: str
    arguments: Any
    response: Any


def tool_nodes(details: Any, place: Place) -> Iterator[ToolNode]:
    """The tool nodes in the order of the calls: a node, then what follows from its ``next``, then its neighbour.

    Raises:
        AnswerError: a node is malformed; names it.
    """
    pending = _numbered(details, place)
    while pending:
        node, at = pending.pop()
        if not isinstance(node, Mapping):
            raise AnswerError(f"{at}: a node must be an object, not {_kind(node)}")
        if _role(node, at) == "tool":
            yield _tool_node(node.get("message"), at / ".message")
        pending += _numbered(node.get("next", []), at / ".next")


def _numbered(nodes: Any, place: Place) -> list[tuple[Any, Place]]:
    if not isinstance(nodes, (list, tuple)):
        raise AnswerError(f"{place}: must be a list of nodes, not {_kind(nodes)}")
    return [(node, place / f"[{index}]") for index, node in enumerate(nodes)][::-1]


def _role(node: Mapping[str, Any], place: Place) -> str:
    role = node.get("role")
    if role not in ROLES:
        raise AnswerError(f"{place}.role: must be one of {', '.join(ROLES)}, not {role!r}")
    return str(role)


def _tool_node(message: Any, place: Place) -> ToolNode:
    fields = _parsed(message, place)
    if not isinstance(fields, Mapping):
        raise AnswerError(f"{place}: must be an object with name, arguments and response, not {_kind(fields)}")
    name = fields.get("name")
    if not isinstance(name, str) or not name:
        raise AnswerError(f"{place}.name: must be the tool's name, not {name!r}")
    return ToolNode(place, name, fields.get("arguments"), fields.get("response", ""))


def _parsed(message: Any, place: Place) -> Any:
    if not isinstance(message, str):
        return message
    try:
        return json.loads(message)
    except (ValueError, RecursionError) as error:
        raise AnswerError(f"{place}: is not JSON: {error}") from error


def _kind(value: Any) -> str:
    return "nothing" if value is None else f"a value of type {type(value).__name__}"
