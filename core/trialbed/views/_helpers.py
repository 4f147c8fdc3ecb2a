"""The use that helpers of a run make of their models, in words."""

from __future__ import annotations

from trialbed.records import HelperUse
from trialbed.views._figures import compact


def helper_line(use: HelperUse) -> str:
    """Return a helper's requests, tokens and cost."""
    parts = [_number(use.requests, "request"), _number(use.tokens, "token")]
    if use.cost is not None:
        parts.append(f"{'at least ' if use.unreported else ''}{compact(use.cost)} USD")
    if use.cached:
        parts.append(f"{_number(use.cached, 'reply', 'replies')} from the cache")
    return f"{use.role} {use.model}: {', '.join(parts)}"


def _number(count: int, one: str, more: str = "") -> str:
    return f"1 {one}" if count == 1 else f"{count:,} {more or f'{one}s'}"
