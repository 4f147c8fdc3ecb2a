"""The use that helpers of a run make of their models, in words."""

from __future__ import annotations

from collections.abc import Mapping

from trialbed.records import HelperUse
from trialbed.texts import number_of
from trialbed.views._figures import compact


def helper_line(use: HelperUse) -> str:
    """Return a helper's requests, tokens and cost."""
    parts = [number_of(use.requests, "request"), number_of(use.tokens, "token")]
    if use.cost is not None:
        parts.append(f"{'at least ' if use.unreported else ''}{compact(use.cost)} USD")
    if use.cached:
        parts.append(f"{number_of(use.cached, 'reply', 'replies')} from the cache")
    return f"{use.role} {use.model}: {', '.join(parts)}"


def lost_line(lost: Mapping[str, int]) -> str:
    """Say how many trials were lost with each node; empty if no trial was lost."""
    count = sum(lost.values())
    if not count:
        return ""
    were, nodes = ("was", "its node") if count == 1 else ("were", "their nodes")
    numbers = ", ".join(f"{node} {number:,}" for node, number in sorted(lost.items()))
    return f"{number_of(count, 'trial')} {were} lost with {nodes}, and ran again: {numbers}"
