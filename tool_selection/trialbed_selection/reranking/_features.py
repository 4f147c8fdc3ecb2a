"""The Apis that a query's words find, and the features of each that a reranker weighs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from trialbed_selection.reranking._query import QueryWords, grams
from trialbed_selection.reranking._terms import term_groups
from trialbed_selection.retrieval import RANK_K, TOOL_SHARE, best

if TYPE_CHECKING:
    import numpy as np

    from trialbed_selection.reranking._index import RerankIndex

    Array = np.ndarray[Any, Any]

MOST = 200
"""Candidates that are ranked anew."""

DEPTH = 150
"""Apis of each ranking that can become candidates."""

LIKELY_TOOLS = 10
"""Tools whose categories the query is likely to be about."""

FEATURES = (
    "query",
    "query_behind_tool",
    "query_tool",
    "sentence",
    "sentence_behind_tool",
    "sentence_api",
    "sentence_own",
    "sentence_own_behind_tool",
    "sentence_tool",
    "sentence_ranks",
    "name",
    "name_in_sentence",
    "name_grams",
    "tool_name",
    "tool_size",
    "category",
)
"""The features of a candidate. Scores are shares of the best Api's (or tool's) score for the same words; those of
sentences are of the sentence that fits best.

``query``, ``sentence``: the Api's BM25 score and 0.6 of its tool's. ``_api``: its own alone; ``_own``: that without the
words of the tool's name and category; ``_tool``: the tool's alone; ``_behind_tool``: how far it is behind the best
Api of its tool. ``sentence_ranks``: reciprocal ranks, added up over sentences. ``name``, ``tool_name``: the share of a
name's words, by inverse document frequency, that the query has; ``name_grams``: the same by parts of four letters.
``tool_size``: logarithm of the number of its tool's Apis. ``category``: the share of its category in the squared scores
of the ten best tools.
"""


class Candidates:
    """The Apis that a query's words find, at most 200.

    Args:
        index: of the catalog, which has at least one Api.

    Attributes:
        scores: each Api's BM25 score for the whole query with its tool's share; zero if they share no word.
        places: those of the candidates, best first.
    """

    def __init__(self, index: RerankIndex, query: QueryWords) -> None:
        self._index = index
        self._query = query
        self._groups = term_groups([query.whole, *query.sentences], index.vocabulary)
        self._apis = index.apis.scores(self._groups)
        self._tools = index.tools.scores(self._groups)
        self._both = self._apis + TOOL_SHARE * self._tools[:, index.tool_of]
        self.scores = self._both[0]
        self._ranks = _reciprocal_ranks(self._both[1:])
        fused = _reciprocal_ranks(self._both[:1]) + self._ranks / max(1, len(query.sentences)) ** 0.5
        self.places = _best(fused, MOST)

    def features(self) -> Array:
        """Compute the features: a row for each, a column for each of ``FEATURES``."""
        import numpy as np

        if not len(self.places):
            return np.zeros((0, len(FEATURES)), dtype=np.float32)
        named = self._scores() | self._names() | self._surroundings()
        return np.stack([named[name] for name in FEATURES], axis=1).astype(np.float32)

    def _scores(self) -> dict[str, Array]:
        places, index = self.places, self._index
        tools = index.tool_of[places]
        both, of_tools = _shares(self._both)[:, places], _shares(self._tools)[:, tools]
        own = _shares(index.own.scores_of(places, self._groups))[1:].max(0)
        query, sentence = both[0], both[1:].max(0)
        return {
            "query": query,
            "query_behind_tool": _behind_best(query, tools),
            "query_tool": of_tools[0],
            "sentence": sentence,
            "sentence_behind_tool": _behind_best(sentence, tools),
            "sentence_api": _shares(self._apis[1:])[:, places].max(0),
            "sentence_own": own,
            "sentence_own_behind_tool": _behind_best(own, tools),
            "sentence_tool": of_tools[1:].max(0),
            "sentence_ranks": self._ranks[places],
        }

    def _names(self) -> dict[str, Array]:
        places, index = self.places, self._index
        names = index.names.scores_of(places, self._groups)
        parts = term_groups([grams(self._query.whole)], index.gram_vocabulary)
        return {
            "name": names[0],
            "name_in_sentence": names[1:].max(0),
            "name_grams": _shares(index.grams.scores_of(places, parts))[0],
            "tool_name": index.tool_names.scores_of(places, self._groups[:1])[0],
        }

    def _surroundings(self) -> dict[str, Array]:
        import numpy as np

        index, scores = self._index, self._tools[0]
        tools = index.tool_of[self.places]
        likely = _best(scores, LIKELY_TOOLS)
        found = np.bincount(index.category_of[likely], scores[likely] ** 2, minlength=int(index.category_of.max()) + 1)
        return {
            "tool_size": np.log(np.bincount(index.tool_of))[tools],
            "category": (found / max(found.sum(), 1e-6))[index.category_of[tools]],
        }


def _shares(scores: Array) -> Array:
    """Scores as shares of the best of their row."""
    import numpy as np

    shares: Array = scores / np.maximum(scores.max(axis=1, keepdims=True), 1e-6)
    return shares


def _best(scores: Array, count: int) -> Array:
    import numpy as np

    return np.array(best(np.where(scores > 0, scores, -np.inf), count), dtype=np.int64)


def _reciprocal_ranks(rows: Array) -> Array:
    """Add up the reciprocal ranks in each row, down to the 150th."""
    import numpy as np

    total = np.zeros(rows.shape[1], dtype=np.float32)
    for row in rows:
        order = _best(row, DEPTH)
        total[order] += (1 / (RANK_K + 1 + np.arange(len(order)))).astype(np.float32)
    return total


def _behind_best(values: Array, tools: Array) -> Array:
    """Return the distance of each value from the best one of its tool: zero or less."""
    import numpy as np

    _, group = np.unique(tools, return_inverse=True)
    top = np.full(int(group.max()) + 1, -np.inf, dtype=values.dtype)
    np.maximum.at(top, group, values)
    behind: Array = values - top[group]
    return behind
