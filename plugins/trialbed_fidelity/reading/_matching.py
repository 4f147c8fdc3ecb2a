"""Which tool that was sent is which tool that was given, should names have been rewritten."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Sequence

from trialbed.records import ToolSpec
from trialbed_fidelity.reading._bodies import SentTool

ALIKE = 0.75
"""How much of two names must agree (difflib's ratio) where nothing else tells that they are one tool's."""

Likeness = Callable[[ToolSpec, SentTool], float]


def matched(given: Sequence[ToolSpec], sent: Sequence[SentTool]) -> dict[str, SentTool]:
    """Given name -> the tool that was sent for it; a tool that was not sent is not in it.

    A tool keeps its name, else its description, else at least a name like it. No tool is matched twice.
    """
    found: dict[str, SentTool] = {}
    left = list(sent)
    for likeness in (_same_name, _same_description, _described_within, _alike):
        for tool in given:
            partner = None if tool.name in found else _closest(tool, left, likeness)
            if partner is not None:
                left.remove(partner)
                found[tool.name] = partner
    return found


def _closest(tool: ToolSpec, sent: Sequence[SentTool], likeness: Likeness) -> SentTool | None:
    """The one that is most alike, None if none is."""
    best, most = None, 0.0
    for one in sent:
        found = likeness(tool, one)
        if found > most:
            best, most = one, found
            if most >= 1:
                break
    return best


def _same_name(given: ToolSpec, sent: SentTool) -> float:
    return float(given.name == sent.name)


def _same_description(given: ToolSpec, sent: SentTool) -> float:
    return float(bool(given.description) and sent.function.get("description") == given.description)


def _described_within(given: ToolSpec, sent: SentTool) -> float:
    return float(bool(given.description) and given.description in str(sent.function.get("description")))


def _alike(given: ToolSpec, sent: SentTool) -> float:
    ratio = difflib.SequenceMatcher(None, given.name.lower(), sent.name.lower()).ratio()
    return ratio if ratio >= ALIKE else 0.0
