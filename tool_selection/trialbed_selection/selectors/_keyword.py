"""Selection by words (BM25)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from trialbed.contracts import ToolSelector
from trialbed.records import Api, ApiRef, Query
from trialbed_selection.retrieval import WORD, identity

if TYPE_CHECKING:
    from bm25s import BM25  # type: ignore[import-untyped]  # bm25s ships no type information


class KeywordSelector(ToolSelector):
    """The Apis whose names and descriptions share the most distinctive words with the query.

    Ranked by BM25 (Robertson and Zaragoza 2009; Lucene's variant, k1 = 1.5, b = 0.75); ties by identity, so
    that the dataset's order does not matter. An Api that shares no word with the query is not offered.
    """

    def __init__(self) -> None:
        self._refs: tuple[ApiRef, ...] = ()
        self._index: BM25 | None = None

    def prepare(self, apis: Sequence[Api]) -> None:
        """Index the dataset's Apis."""
        from bm25s import BM25

        ordered = sorted(apis, key=lambda api: identity(api.ref))
        self._refs = tuple(api.ref for api in ordered)
        corpus = [_words(_text(api)) for api in ordered]
        self._index = None
        if any(corpus):
            self._index = BM25()
            self._index.index(corpus, show_progress=False)

    def select(self, query: Query, *, max_tools: int) -> Sequence[ApiRef]:
        """The best ``max_tools`` Apis, best first."""
        words = list(dict.fromkeys(_words(query.text)))
        if self._index is None or not words:
            return ()
        scores = self._index.get_scores(words).tolist()
        ranked = sorted(range(len(self._refs)), key=lambda place: -scores[place])
        return [self._refs[place] for place in ranked if scores[place] > 0][:max_tools]


def _text(api: Api) -> str:
    return "\n".join((api.tool_name, api.api_name, api.description, api.tool_description))


def _words(text: str) -> list[str]:
    return [word.casefold() for word in WORD.findall(text)]
