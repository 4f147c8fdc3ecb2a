"""A linear ranker whose weights were learned."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trialbed_selection.reranking._features import FEATURES, Candidates
from trialbed_selection.reranking._query import QueryWords

if TYPE_CHECKING:
    import numpy as np

    from trialbed_selection.reranking._index import RerankIndex

WEIGHTS = Path(__file__).parent / "weights.json"
"""The weights, and on what, when and how they were learned."""

DIGITS = 5
"""Decimals of scores. Equal candidates differ in later ones, by the order in which a processor adds up."""


class LinearRanker:
    """Ranks the candidates of a query by a weighted sum of their features.

    Args:
        weights: of each feature.
    """

    def __init__(self, weights: Mapping[str, float]) -> None:
        self._weights = [weights[name] for name in FEATURES]

    @classmethod
    def default(cls) -> LinearRanker:
        """The ranker with the weights that come with Trialbed."""
        return cls(json.loads(WEIGHTS.read_text(encoding="utf-8"))["weights"])

    def scores(self, index: RerankIndex, query: QueryWords) -> np.ndarray[Any, Any]:
        """Score each Api: zero and above for candidates, below it for others that share a word with the query.

        An Api that shares none, in itself or its tool, scores minus infinity.
        """
        import numpy as np

        if not query.whole or not len(index.tool_of):
            return np.full(len(index.tool_of), -np.inf)
        candidates = Candidates(index, query)
        words = candidates.scores.astype(np.float64)
        scores = np.where(words > 0, words / max(words.max(), 1e-6) - 2, -np.inf)
        if len(candidates.places):
            ranked = np.round(candidates.features() @ np.array(self._weights), DIGITS)
            scores[candidates.places] = ranked - ranked.min()
        return scores
