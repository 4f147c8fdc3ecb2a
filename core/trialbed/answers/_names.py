"""The names that an answer may use for an Api."""

from __future__ import annotations

import re
from collections.abc import Iterable

from trialbed.records import Answer, ApiRef, ToolSpec

MAX_NAME = 64
"""Characters of a function's name; of a longer one, the last ones are kept."""

_OTHER = re.compile(r"[^\u4e00-\u9fa5a-zA-Z0-9_^]")  # ^ counts as a letter there, too
_UNDERSCORES = re.compile(r"_+")
_RESERVED = frozenset({"from", "class", "return", "false", "true", "id", "and"})


def answer_names(tools: Iterable[ToolSpec]) -> dict[str, ApiRef]:
    """Tool names and original titles of the offered tools, to look names up in; names are never split.

    A title that two different (tool_name, api_name) pairs share is not used. A tool's name wins over
    another's title.
    """
    specs = list(tools)
    names: dict[str, ApiRef] = {}
    shared: set[str] = set()
    for spec in specs:
        known = names.setdefault(spec.api.title, spec.api)
        if known.pair != spec.api.pair:
            shared.add(spec.api.title)
    for title in shared:
        del names[title]
    names.update({spec.name: spec.api for spec in specs})
    return names


def look_up_claims(answer: Answer, apis: Iterable[ApiRef], tools: Iterable[ToolSpec] = ()) -> Answer:
    """Return the answer with the missing Apis of its claims looked up by names of tools, then by titles of Apis.

    Args:
        apis: further ones. An agent that posts requests directly may call, and truly report, an Api that it was not
            offered.
        tools: the trial's.
    """
    titles = {api.title: api for api in apis} | answer_names(tools)
    calls = tuple(
        call.model_copy(update={"api": titles[call.name]}) if call.api is None and call.name in titles else call
        for call in answer.calls
    )
    return answer.model_copy(update={"calls": calls})


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
