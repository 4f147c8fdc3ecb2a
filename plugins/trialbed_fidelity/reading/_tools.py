"""What became of the tools that were given: of each one, and of their order."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Literal, get_args

from trialbed.records import ToolSpec
from trialbed_fidelity.reading._bodies import SentTool
from trialbed_fidelity.reading._differences import Difference, differences

Effect = Literal["refused", "missing", "renamed", "lost", "added", "changed", "reordered"]
Order = Literal["kept", "by name", "changed"]

EFFECTS: tuple[Effect, ...] = get_args(Effect)
COMPARED = ("description", "parameters")
"""Fields of a function that are compared with what was given; its name is compared apart."""


def altered(given: ToolSpec, sent: SentTool) -> tuple[tuple[Effect, ...], tuple[Difference, ...]]:
    """What happened to a tool that was sent; nothing if its name, description and schema are as given."""
    wanted = {"description": given.description, "parameters": given.parameters}
    found = differences(wanted, {key: sent.function[key] for key in COMPARED if key in sent.function})
    kinds: set[Effect] = {difference.kind for difference in found}
    if sent.name != given.name:
        kinds.add("renamed")
    return tuple(effect for effect in EFFECTS if effect in kinds), found


def order_of(given: Sequence[str], partners: Mapping[str, SentTool], sent: Sequence[SentTool]) -> Order:
    """In which order the tools that were sent stand."""
    wanted = [partners[name] for name in given if name in partners]
    found = [tool for tool in sent if any(tool is partner for partner in wanted)]
    if all(one is other for one, other in zip(wanted, found, strict=True)):
        return "kept"
    names = [tool.name for tool in found]
    return "by name" if names in (sorted(names), sorted(names, key=str.lower)) else "changed"


def worst(orders: Iterable[Order]) -> Order:
    """The order that is furthest from the one given."""
    found = set(orders)
    return next((order for order in ("changed", "by name") if order in found), "kept")
