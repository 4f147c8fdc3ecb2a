"""Ranking by meaning: the likeness of embeddings."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trialbed.records import Api
from trialbed_selection.retrieval._documents import sentence, tool_places
from trialbed_selection.retrieval._words import MAX_SENTENCES, SENTENCE_END

if TYPE_CHECKING:
    import numpy as np

    from trialbed_selection.embedders import MiniLm

BEST_SENTENCE = 0.5
"""The weight of the sentence of a query that is most like an Api beside the whole: queries ask for several things."""

TOOL_SHARE = 0.5
"""The weight of the likeness to an Api's tool."""

KEPT_QUERIES = 256
"""Queries whose embeddings are kept: the last ones, for other numbers of tools."""


class SemanticIndex:
    """Embeddings of a catalog's Apis.

    Args:
        vectors: one unit vector per Api.
        tool_of: the place of each Api's tool.
        embedder: made the vectors, and makes those of queries.
    """

    def __init__(self, vectors: np.ndarray[Any, Any], tool_of: np.ndarray[Any, Any], embedder: MiniLm) -> None:
        self._vectors = vectors
        self._tool_of = tool_of
        self._tools = _means(vectors, tool_of)
        self._embedder = embedder
        self._query_vectors = lru_cache(KEPT_QUERIES)(self._embed_query)

    @classmethod
    def of(cls, apis: Sequence[Api], embedder: MiniLm) -> SemanticIndex:
        """Embed these Apis."""
        import numpy as np

        vectors = embedder.embed([sentence(api) for api in apis]) if apis else np.zeros((0, 1), dtype=np.float32)
        return cls(vectors, np.array(tool_places(apis), dtype=np.int32), embedder)

    def scores(self, text: str) -> np.ndarray[Any, Any]:
        """Score each Api's likeness to a text."""
        import numpy as np

        if not len(self._vectors):
            return np.zeros(0, dtype=np.float32)
        vectors = self._query_vectors(text)
        whole = vectors[0]
        scores = self._vectors @ whole + TOOL_SHARE * (self._tools @ whole)[self._tool_of]
        sentences = vectors[1:] if len(vectors) > 1 else vectors
        scores = scores + BEST_SENTENCE * (self._vectors @ sentences.T).max(axis=1)
        return np.asarray(scores)

    def _embed_query(self, text: str) -> np.ndarray[Any, Any]:
        parts = [part for part in SENTENCE_END.split(text) if part.strip()][:MAX_SENTENCES]
        # A query of one sentence is embedded once.
        return self._embedder.embed(list(dict.fromkeys((text, *parts))))

    def save(self, folder: Path) -> None:
        """Write the embeddings into an existing folder."""
        import numpy as np

        np.save(folder / "tools.npy", self._tool_of)
        np.save(folder / "vectors.npy", self._vectors)

    @classmethod
    def load(cls, folder: Path, embedder: MiniLm) -> SemanticIndex:
        """Read embeddings that were saved.

        Raises:
            OSError, ValueError: they are damaged.
        """
        import numpy as np

        return cls(np.load(folder / "vectors.npy"), np.load(folder / "tools.npy"), embedder)


def _means(vectors: np.ndarray[Any, Any], tool_of: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The direction of each tool: that of its Apis together."""
    import numpy as np

    sums = np.zeros((int(tool_of.max(initial=-1)) + 1, vectors.shape[1]), dtype=np.float32)
    np.add.at(sums, tool_of, vectors)
    lengths = np.linalg.norm(sums, axis=1, keepdims=True)
    means: np.ndarray[Any, Any] = sums / np.where(lengths == 0, 1, lengths)
    return means
