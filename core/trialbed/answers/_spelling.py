"""Names of tools and Apis as StableToolBench spells them. No name ever becomes a path."""

from __future__ import annotations

import re

MAX_NAME = 64
"""Characters of a function's name; of a longer one, the last ones are kept."""

_OTHER = re.compile(r"[^\u4e00-\u9fa5a-zA-Z0-9_^]")  # ^ counts as a letter there, too
_UNDERSCORES = re.compile(r"_+")
_RESERVED = frozenset({"from", "class", "return", "false", "true", "id", "and"})


def standardize(name: str) -> str:
    """Lower case, other characters as single inner ``_``, and ``get_`` before a leading digit."""
    name = _UNDERSCORES.sub("_", _OTHER.sub("_", name)).lower().strip("_")
    return f"get_{name}" if name[:1].isdigit() else name


def change_name(name: str) -> str:
    """``is_`` before the words that StableToolBench cannot use as names."""
    return f"is_{name}" if name in _RESERVED else name


def function_name(tool_name: str, api_name: str) -> str:
    """Return the name of an Api's function, ``{api}_for_{tool}`` in standardised form."""
    return f"{change_name(standardize(api_name))}_for_{standardize(tool_name)}"[-MAX_NAME:]
