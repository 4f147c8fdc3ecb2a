from __future__ import annotations

import numpy as np
import pytest
from bm25s import BM25  # type: ignore[import-untyped]  # bm25s ships no type information

from trialbed_selection.reranking._terms import (
    TermWeights,
    Vocabulary,
    bm25_weights,
    inverse_frequencies,
    term_groups,
    term_places,
    weight_shares,
)

DOCUMENTS = [["rain", "city", "rain"], ["city"], [], ["share", "price"]]


def test_groups_score_as_the_library_scores_them_one_by_one() -> None:
    vocabulary: Vocabulary = {}
    places = term_places(DOCUMENTS, vocabulary)
    weights = TermWeights(bm25_weights(places, len(vocabulary), k1=1.5, b=0.75))
    library = BM25(k1=1.5, b=0.75)
    library.index((places, dict(vocabulary)), show_progress=False)
    groups = [["rain", "city"], ["price", "unknown"], []]
    scores = weights.scores(term_groups(groups, vocabulary))
    np.testing.assert_allclose(scores[0], library.get_scores(groups[0]), rtol=1e-6)
    np.testing.assert_allclose(scores[1], library.get_scores(["price"]), rtol=1e-6)
    assert not scores[2].any()


def test_some_documents_score_as_they_do_among_all() -> None:
    vocabulary: Vocabulary = {}
    weights = TermWeights(bm25_weights(term_places(DOCUMENTS, vocabulary), len(vocabulary), k1=1.5, b=0.75))
    groups = term_groups([["rain", "price"], ["city"]], vocabulary)
    some = np.array([3, 0])
    np.testing.assert_array_equal(weights.scores_of(some, groups), weights.scores(groups)[:, some])


def test_shares_of_a_document_add_up_to_one_and_rare_terms_have_more() -> None:
    vocabulary: Vocabulary = {}
    places = term_places(DOCUMENTS, vocabulary)
    rarity = inverse_frequencies(places, len(vocabulary))
    shares = weight_shares(places, rarity).toarray()
    assert shares.sum(axis=0).tolist() == pytest.approx([1, 1, 0, 1])
    assert shares[vocabulary["rain"], 0] > shares[vocabulary["city"], 0]


def test_documents_without_terms_have_no_weights() -> None:
    assert bm25_weights([[], []], 0, k1=1, b=0).shape == (0, 2)
    assert weight_shares([[], []], np.zeros(0)).shape == (0, 2)
