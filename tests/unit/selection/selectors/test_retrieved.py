from __future__ import annotations

import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.cases import for_each

from trialbed.records import Api, Parameter, Query
from trialbed_selection.selectors import Bm25Selector, EmbeddingSelector, HybridSelector

APIS = [
    Api(category=category, tool_name=tool, api_name=name, description=words)
    for category, tool, name, words in [
        ("Tools", "SEO", "GetTopBacklinks", "Backlinks of a domain"),
        ("Weather", "Skies", "forecast", "Tomorrow's weather for a city"),
        ("Weather", "Skies", "pollenCount", "Which plants bloom"),
        ("Finance", "Shares", "quote", "Price of a share"),
    ]
]


class Letters:
    """An embedder by initial letters."""

    name = "letters"
    asked = 0

    def embed(self, texts: Sequence[str]) -> np.ndarray[Any, Any]:
        self.asked += 1
        rows = np.array([[1 + text.lower().count(letter) for letter in "abqz"] for text in texts], dtype=np.float32)
        unit: np.ndarray[Any, Any] = rows / np.linalg.norm(rows, axis=1, keepdims=True)
        return unit


@pytest.fixture(autouse=True)
def index_dir(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TRIALBED_INDEX_DIR", str(tmp_path / "indexes"))
    return tmp_path / "indexes"


@pytest.fixture
def letters(monkeypatch: pytest.MonkeyPatch) -> Letters:
    made = Letters()
    monkeypatch.setattr("trialbed_selection.selectors._retrieved.MiniLm", lambda: made)
    return made


def query(text: str) -> Query:
    return Query(query_id=1, text=text, apis=())


def chosen(selector: Bm25Selector, text: str, count: int = 3, apis: Sequence[Api] = APIS) -> list[str]:
    selector.prepare(apis)
    return [ref.api_name for ref in selector.select(query(text), max_tools=count)]


@for_each(
    ("text", "first"),
    [
        ("Could you please tell me which plant is blooming?", "pollenCount"),
        ("top backlink", "GetTopBacklinks"),
        ("What do shares cost? I need prices.", "quote"),
    ],
)
def test_bm25_knows_stems_and_parts_of_names(text: str, first: str) -> None:
    assert chosen(Bm25Selector(), text)[0] == first


@for_each("text", ["", "zebra", "could you please do this for me", "!?", "\ud800", "日本"])
def test_bm25_offers_nothing_for_a_text_without_a_word_of_the_catalog(text: str) -> None:
    assert chosen(Bm25Selector(), text) == []


def test_bm25_reads_parameters_and_the_keys_of_responses() -> None:
    apis = [
        *APIS,
        Api(category="C", tool_name="t", api_name="x", required_parameters=(Parameter(name="postalCode"),)),
        Api(category="C", tool_name="u", api_name="y", template_response={"list": [{"altitude": "str"}]}),
    ]
    assert chosen(Bm25Selector(), "postal", apis=apis) == ["x"]
    assert chosen(Bm25Selector(), "altitudes", apis=apis) == ["y"]


def test_the_order_of_the_catalog_does_not_matter() -> None:
    twins = [Api(category="C", tool_name=f"t{place}", api_name="same", description="same words") for place in range(9)]
    one, other = Bm25Selector(), Bm25Selector()
    one.prepare([*twins, *twins])
    other.prepare(twins[::-1])
    text = query("same words")
    assert one.select(text, max_tools=5) == other.select(text, max_tools=5)
    assert len(one.select(text, max_tools=99)) == 9


def test_choices_say_by_what_and_how_well() -> None:
    selector = Bm25Selector()
    selector.prepare(APIS)
    first, second = selector.choices(query("weather tomorrow"), max_tools=2)
    assert (first.by, second.by) == ("words", "words")
    assert first.score is not None
    assert second.score is not None
    assert first.score > second.score > 0


def test_embedding_ranks_every_api_and_embeds_a_catalog_once(letters: Letters) -> None:
    assert chosen(EmbeddingSelector(), "qqq", 4)[0] == "quote"
    asked = letters.asked
    assert len(chosen(EmbeddingSelector(), "qqq", 9)) == 4
    assert letters.asked == asked + 1


def test_hybrid_puts_first_what_words_find_and_fills_up_by_meaning(letters: Letters) -> None:
    found = chosen(HybridSelector(), "weather tomorrow", 4)
    assert found[:2] == ["forecast", "pollenCount"]
    assert len(found) == 4


def test_the_index_of_a_large_catalog_is_kept_and_a_damaged_one_made_anew(
    monkeypatch: pytest.MonkeyPatch, index_dir: Path, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("trialbed_selection.selectors._retrieved.KEPT_FROM", 1)
    found = chosen(Bm25Selector(), "weather tomorrow")
    (kept,) = index_dir.glob("*/terms-1")
    assert chosen(Bm25Selector(), "weather tomorrow") == found
    (kept / "tools.npy").write_bytes(b"no array")
    with caplog.at_level(logging.WARNING, "trialbed.selection"):
        assert chosen(Bm25Selector(), "weather tomorrow") == found
    assert "cannot be read and is made anew" in caplog.text
    assert len(list(kept.parent.iterdir())) == 1
