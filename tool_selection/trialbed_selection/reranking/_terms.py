"""The weights of terms in documents as sparse matrices, which score all sentences of a query at once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from scipy.sparse import csr_array

Vocabulary = dict[str, int]
"""The place of each term."""


def term_places(documents: Iterable[Iterable[str]], vocabulary: Vocabulary) -> list[list[int]]:
    """The places of the documents' terms in a vocabulary, to which new terms are added."""
    return [[vocabulary.setdefault(term, len(vocabulary)) for term in document] for document in documents]


def inverse_frequencies(documents: Sequence[Sequence[int]], terms: int) -> np.ndarray[Any, Any]:
    """Return the inverse document frequency of each term, as in Lucene's BM25."""
    import numpy as np

    found = np.bincount([place for document in documents for place in set(document)], minlength=terms)
    return np.log1p((len(documents) - found + 0.5) / (found + 0.5)).astype(np.float32)


def bm25_weights(documents: Sequence[Sequence[int]], terms: int, *, k1: float, b: float) -> csr_array:
    """The BM25 weight (Lucene's variant) of each term in each document: a row for each of ``terms`` terms."""
    from bm25s import BM25  # type: ignore[import-untyped]  # bm25s ships no type information
    from scipy.sparse import csr_array

    if not any(documents):
        return csr_array((terms, len(documents)), dtype="float32")
    ranking = BM25(k1=k1, b=b)
    ranking.index((list(documents), {str(place): place for place in range(terms)}), show_progress=False)
    # It keeps a compressed column for each term: a row of the transpose.
    columns = ranking.scores
    parts = columns["data"], columns["indices"], columns["indptr"]
    return csr_array(parts, shape=(terms, len(documents)), dtype="float32")


def weight_shares(documents: Sequence[Sequence[int]], weights: np.ndarray[Any, Any]) -> csr_array:
    """The share of each term in the weight of all distinct terms of a document: a row for each term."""
    import numpy as np
    from scipy.sparse import csr_array

    distinct = [sorted(set(document)) for document in documents]
    rows = np.fromiter(chain.from_iterable(distinct), dtype=np.int32)
    columns = np.repeat(np.arange(len(distinct), dtype=np.int32), [len(document) for document in distinct])
    totals = np.bincount(columns, weights[rows], minlength=len(distinct))
    values = (weights[rows] / totals[columns]).astype(np.float32)
    return csr_array((values, (rows, columns)), shape=(len(weights), len(distinct)))


def term_groups(groups: Sequence[Iterable[str]], vocabulary: Vocabulary) -> csr_array:
    """Mark the terms of each group that are in a vocabulary, as rows of ones."""
    import numpy as np
    from scipy.sparse import csr_array

    known = [sorted({vocabulary[term] for term in group if term in vocabulary}) for group in groups]
    columns = np.fromiter(chain.from_iterable(known), dtype=np.int32)
    ends = np.cumsum([0, *map(len, known)])
    return csr_array((np.ones(len(columns), dtype=np.float32), columns, ends), shape=(len(groups), len(vocabulary)))


class TermWeights:
    """The weights of terms in documents.

    Args:
        by_term: a row for each term, a column for each document.
    """

    def __init__(self, by_term: csr_array) -> None:
        self.by_term = by_term
        self._by_document = by_term.T.tocsr()

    def scores(self, groups: csr_array) -> np.ndarray[Any, Any]:
        """The weight of each group of terms in each document: a row for each group."""
        found: np.ndarray[Any, Any] = (groups @ self.by_term).toarray()
        return found

    def scores_of(self, documents: np.ndarray[Any, Any], groups: csr_array) -> np.ndarray[Any, Any]:
        """The weight of each group of terms in these documents alone: a row for each group."""
        found: np.ndarray[Any, Any] = (groups @ self._by_document[documents].T).toarray()
        return found
