"""A selector of tools; each place to change is marked REPLACE."""

from __future__ import annotations

import re
from collections.abc import Sequence

from trialbed.contracts import ToolSelector
from trialbed.records import Api, ApiRef, Query

WORD = re.compile(r"\w+")


class NewPluginSelector(ToolSelector):
    """Offers the Apis whose documentation shares most words with the query."""

    needs_catalog = True

    def prepare(self, apis: Sequence[Api]) -> None:
        """Learn the catalog, once."""
        self._words = {api.ref: _words(f"{api.ref.title} {api.description}") for api in apis}

    def select(self, query: Query, *, max_tools: int) -> Sequence[ApiRef]:
        """Choose the best, best first."""
        # REPLACE: common words are counted.
        wanted = _words(query.text)
        ranked = sorted(self._words, key=lambda ref: (-len(wanted & self._words[ref]), ref.title))
        return ranked[:max_tools]


def _words(text: str) -> set[str]:
    return set(WORD.findall(text.lower()))
