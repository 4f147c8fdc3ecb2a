"""Standardised names: how StableToolBench spells categories, tools, Apis and parameters.

Requests and cache folders name an Api in several spellings; the standardised triple is what they have in
common, and what cache keys are made of. No name ever becomes a path.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from trialbed.answers import change_name, standardize

_SEPARATORS = str.maketrans(" ,/", "___")


class StandardName(NamedTuple):
    """The standardised triple of an Api."""

    category: str
    tool: str
    api: str


def parameter_name(name: str) -> str:
    """A parameter's name as StableToolBench's clients spell it."""
    return change_name(standardize(name))


def standard_category(category: str) -> str:
    """Spaces, commas and slashes as ``_``; two of them as one, in one pass."""
    return category.translate(_SEPARATORS).replace("__", "_")


def documented_name(category: str, tool_name: str, api_name: str) -> StandardName:
    """The triple of an Api whose documentation is known, so that every part of its name is its own."""
    return StandardName(standard_category(category), standardize(tool_name), change_name(standardize(api_name)))


@lru_cache(maxsize=4096)
def requested_name(category: str, tool_name: str, api_name: str) -> StandardName:
    """The triple meant by a request: clients may say ``{api}_for_{tool}`` and ``{tool}_for_{category}``.

    Such an ending is cut where something is left before it. Nothing in the middle of a name is cut, so
    that ``Jobs for IT`` stays whole.
    """
    short_category = standard_category(category)
    tool = _without_ending(tool_name, short_category)
    api = _without_ending(change_name(standardize(api_name)), tool)
    return StandardName(short_category, standardize(tool), api)


def _without_ending(name: str, of: str) -> str:
    ending = f"_for_{of}"
    return name[: -len(ending)] if of and name.endswith(ending) and len(name) > len(ending) else name
