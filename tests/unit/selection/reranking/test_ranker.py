from __future__ import annotations

import json

import numpy as np

from trialbed.records import Api
from trialbed_selection.reranking import FEATURES, Candidates, LinearRanker, QueryWords, RerankIndex
from trialbed_selection.reranking._ranker import WEIGHTS
from trialbed_selection.retrieval import Words

APIS = [
    Api(category=category, tool_name=tool, api_name=name, description=text)
    for category, tool, name, text in [
        ("Finance", "Shares", "quote", "Price of a share"),
        ("Weather", "Skies", "forecast", "Tomorrow's weather for a city"),
        ("Weather", "Skies", "pollenCount", "Which plants bloom"),
        ("Weather", "Sun", "sunrise", "When the sun rises over a city"),
    ]
]


def candidates(text: str) -> tuple[Candidates, dict[str, np.ndarray[tuple[int], np.dtype[np.float32]]]]:
    found = Candidates(RerankIndex.of(APIS), QueryWords.of(text, Words()))
    return found, dict(zip(FEATURES, found.features().T, strict=True))


def test_features_are_what_they_are_described_as() -> None:
    found, features = candidates("What will the weather be in this city? Tell me the price of a share.")
    at = {APIS[place].api_name: row for row, place in enumerate(found.places)}
    quote, forecast, pollen = at["quote"], at["forecast"], at["pollenCount"]
    assert features["sentence"][[quote, forecast]].tolist() == [1, 1]
    assert features["sentence_behind_tool"][forecast] == 0 > features["sentence_behind_tool"][pollen]
    assert features["sentence_own"][pollen] == 0
    assert features["tool_name"][quote] == 1
    assert features["tool_size"][forecast] == np.float32(np.log(2))
    assert features["tool_size"][quote] == 0
    assert 0 < features["category"][quote] < 1
    assert features["sentence_ranks"][pollen] < features["sentence_ranks"][forecast]


def test_a_text_without_a_known_word_has_no_candidates() -> None:
    found, _ = candidates("zebra")
    assert len(found.places) == 0
    assert found.features().shape == (0, len(FEATURES))


def test_the_learned_weights_are_of_these_features_and_say_where_they_are_from() -> None:
    document = json.loads(WEIGHTS.read_text(encoding="utf-8"))
    assert list(document["weights"]) == list(FEATURES)
    assert {name for name in document["learned_on"] if name.startswith("G")} == {
        "G1_instruction",
        "G1_category",
        "G1_tool",
    }
    assert document["command"].startswith("python benchmarks/train_reranker.py")


def test_scores_are_the_weighted_features_and_equal_ones_stay_equal() -> None:
    twins = [Api(category="C", tool_name=f"t{place}", api_name="same", description="same words") for place in range(40)]
    weights = dict.fromkeys(FEATURES, 0.0) | {"sentence_own": 0.1, "query": 0.7}
    scores = LinearRanker(weights).scores(RerankIndex.of(twins), QueryWords.of("same words", Words()))
    assert set(scores.tolist()) == {0.0}
