"""Words of texts, and rankings of scores."""

from __future__ import annotations

import numpy as np
from support.cases import for_each

from trialbed_selection.retrieval import Words, best, fuse


@for_each(
    ("text", "words"),
    [
        ("Could you find getTopBacklinks?", ["find", "get", "top", "backlink"]),
        ("Döviz kuru", ["doviz", "kuru"]),
        ("Do\u0308viz", ["doviz"]),
        ("\uff21\uff30\uff29", ["api"]),
        ("東京の天気予報API", ["東京", "京の", "の天", "天気", "気予", "予報", "api"]),
        ("天气", ["天气"]),
        ("서울 날씨", ["서울", "날씨"]),
        ("Погода в Риме", ["погода", "в", "риме"]),
        ("", []),
        ("👋 \ud800 ?!", []),
    ],
)
def test_texts_of_many_languages_have_words(text: str, words: list[str]) -> None:
    assert Words()(text) == words


NOT = -np.inf


def test_the_best_come_first_and_equal_ones_in_order() -> None:
    scores = np.array([1.0, 3.0, NOT, 3.0, 2.0, 3.0])
    assert best(scores, 2) == [1, 3]
    assert best(scores, 9) == [1, 3, 5, 4, 0]
    assert best(scores, 0) == best(np.array([]), 3) == []


def test_fusion_adds_weighted_reciprocal_ranks() -> None:
    fused = fuse([(np.array([5.0, 1.0, NOT, NOT]), 1.0), (np.array([0.1, 0.9, 0.5, NOT]), 0.5)])
    assert np.allclose(fused[:3], [1 / 11 + 0.5 / 13, 1 / 12 + 0.5 / 11, 0.5 / 12])
    assert fused[3] == NOT
