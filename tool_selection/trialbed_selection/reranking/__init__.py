"""Ranks the Apis that a query's words find anew, by features whose weights were learned."""

from trialbed_selection.reranking._features import FEATURES, Candidates
from trialbed_selection.reranking._index import RerankIndex
from trialbed_selection.reranking._query import QueryWords
from trialbed_selection.reranking._ranker import LinearRanker

__all__ = ["FEATURES", "Candidates", "LinearRanker", "QueryWords", "RerankIndex"]
