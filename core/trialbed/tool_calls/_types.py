"""A call of a tool, whoever recorded it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call of a tool.

    Attributes:
        name: of the tool.
        args: the arguments by name. None in a reference that names the tool only: any arguments are right then; and in
            a call that was made where they are not recorded.
        id: as the model gave it; empty where it gave none.
        problem: why ``args`` is not what the model sent, such as arguments that are not JSON; empty where it is.
    """

    name: str
    args: Mapping[str, Any] | None
    id: str = ""
    problem: str = ""
