"""The dialects by name and by path; their modules are imported when they are first asked for."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from trialbed.wire.dialects._dialect import Dialect

CHAT = "chat_completions"

PATHS = {"chat/completions": CHAT, "messages": "messages", "responses": "responses"}
"""Path of requests -> the name of the dialect, which is that of its module."""

COUNTS = {"messages/count_tokens": "messages"}
"""Path of requests that ask for the number of tokens of another one -> its dialect."""


@cache
def dialect(name: str = CHAT) -> Dialect:
    """The dialect of this name.

    Raises:
        LookupError: there is none.
    """
    if name not in PATHS.values():
        raise LookupError(f"there is no dialect {name!r}; there are {', '.join(sorted(PATHS.values()))}")
    found: Dialect = import_module(f"trialbed.wire.dialects.{name}")
    return found


def dialect_at(path: str) -> Dialect | None:
    """The dialect of the requests to a path below ``/v1``; None if it is none's."""
    name = PATHS.get(path) or COUNTS.get(path)
    return None if name is None else dialect(name)
