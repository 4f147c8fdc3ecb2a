"""Selectors that rank the catalog by words, by meaning, or by both."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from trialbed.records import Api, ApiRef, Query
from trialbed.settings import index_dir
from trialbed_selection.embedders import MiniLm
from trialbed_selection.retrieval import CatalogIndex, LexicalIndex, SemanticIndex, best, fuse
from trialbed_selection.tools import ChosenApi, ExplainedSelector

if TYPE_CHECKING:
    import numpy as np

KEPT_FROM = 1000
"""The fewest Apis for keeping an index of words; making a smaller one takes no longer than reading it."""

MEANING_SHARE = 0.5
"""The weight of the ranking by meaning against the one by words, which is the better of the two on tools."""


class Bm25Selector(ExplainedSelector):
    """The Apis that share the most distinctive words with the query, in names, descriptions, parameters and tool.

    Ranked by BM25 over Apis and over their tools, without stop words, with stems. Ties go by identity, independent of
    the dataset's order. An Api is not offered if neither it nor its tool shares a word with the query.
    """

    by = "words"

    def prepare(self, apis: Sequence[Api]) -> None:
        """Index the catalog, or read its index."""
        self.catalog = CatalogIndex(apis, index_dir())
        self._open(self.catalog)

    def choices(self, query: Query, *, max_tools: int) -> list[ChosenApi]:
        """Return the best ``max_tools`` Apis, best first."""
        scores = self._scores(query.text)
        refs = self.catalog.refs
        return [
            ChosenApi(api=refs[place], by=self.by, score=round(float(scores[place]), 4))
            for place in best(scores, max_tools)
        ]

    def select(self, query: Query, *, max_tools: int) -> Sequence[ApiRef]:
        """Return the best ``max_tools`` Apis, best first."""
        return [self.catalog.refs[place] for place in best(self._scores(query.text), max_tools)]

    def _open(self, catalog: CatalogIndex) -> None:
        self._lexical = open_lexical(catalog)

    def _scores(self, text: str) -> np.ndarray[Any, Any]:
        return self._lexical.scores(text)


class EmbeddingSelector(Bm25Selector):
    """The Apis with names and descriptions closest in meaning to the query, by the similarity of embeddings.

    all-MiniLM-L6-v2 makes the embeddings on this machine (``trialbed[embedding]``). The catalog's are made once and
    kept by its digest.
    """

    by = "meaning"

    def _open(self, catalog: CatalogIndex) -> None:
        embedder = MiniLm()
        self._semantic = catalog.kept(
            f"meaning-{embedder.name}",
            lambda folder: SemanticIndex.load(folder, embedder),
            lambda: SemanticIndex.of(catalog.apis, embedder),
            SemanticIndex.save,
        )

    def _scores(self, text: str) -> np.ndarray[Any, Any]:
        return self._semantic.scores(text)


class HybridSelector(EmbeddingSelector):
    """The rankings of ``bm25`` and ``embedding``, fused by reciprocal ranks; words count twice as much as meaning."""

    by = "both"

    def _open(self, catalog: CatalogIndex) -> None:
        self._lexical = open_lexical(catalog)
        super()._open(catalog)

    def _scores(self, text: str) -> np.ndarray[Any, Any]:
        return fuse([(self._lexical.scores(text), 1.0), (self._semantic.scores(text), MEANING_SHARE)])


def open_lexical(catalog: CatalogIndex) -> LexicalIndex:
    """Return the index of a catalog's words."""
    if len(catalog.refs) < KEPT_FROM:
        return LexicalIndex.of(catalog.apis)
    return catalog.kept("terms", LexicalIndex.load, lambda: LexicalIndex.of(catalog.apis), LexicalIndex.save)
