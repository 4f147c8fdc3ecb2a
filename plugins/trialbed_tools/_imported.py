"""Tools as they were found in a document."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class FoundTool:
    """A tool of a document.

    Attributes:
        name: as the document has it, or made of it; valid and unique only in the file.
        parameters: a JSON Schema.
        example: the skeleton of an answer; None if the document does not say.
        request: the HTTP request that a call is; None for tools of other kinds.
        reads: whether its calls change nothing, as its definition says.
    """

    name: str
    description: str
    parameters: Mapping[str, Any]
    example: Any = None
    request: Mapping[str, Any] | None = None
    reads: bool = False


class LeftOut(Exception):
    """An operation cannot be a tool; says why."""


@dataclass(frozen=True)
class FoundTools:
    """The tools of a document.

    Attributes:
        title: of the document, in words.
        url: the address below which the requests go.
        left_out: the parts of the document that are not in the file, in words.
    """

    title: str
    tools: tuple[FoundTool, ...]
    url: str | None = None
    left_out: tuple[str, ...] = field(default=())
