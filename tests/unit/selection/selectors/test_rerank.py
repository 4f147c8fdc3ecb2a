from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.cases import for_each

from trialbed.records import Api, ApiRef, Query
from trialbed_plugins.datasets.stabletoolbench import StableToolBenchDriver
from trialbed_selection.recall import recall_at
from trialbed_selection.selectors import Bm25Selector, RerankSelector, _retrieved

WORDS = ["weather", "city", "share", "price", "rain", "map", "user", "list", "météo", "天气预报查询", "Ünïcode"]
TEXTS = st.lists(st.sampled_from([*WORDS, ". ", "? ", "the", "\ud800"]), max_size=30).map(" ".join)
APIS = st.lists(
    st.builds(
        Api,
        category=st.sampled_from(["A", "B"]),
        tool_name=st.sampled_from(WORDS),
        api_name=st.sampled_from(WORDS),
        description=st.lists(st.sampled_from(WORDS), max_size=9).map(" ".join),
    ),
    max_size=12,
)


@pytest.fixture(autouse=True)
def index_dir(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path_factory.mktemp("indexes")
    monkeypatch.setenv("TRIALBED_INDEX_DIR", str(folder))
    return folder


def prepared(apis: Sequence[Api]) -> RerankSelector:
    selector = RerankSelector()
    selector.prepare(apis)
    return selector


def chosen(selector: Bm25Selector, text: str, count: int = 20) -> Sequence[ApiRef]:
    return selector.select(Query(query_id=1, text=text, apis=()), max_tools=count)


def api(tool: str, name: str, description: str, category: str = "Tools") -> Api:
    return Api(category=category, tool_name=tool, api_name=name, description=description)


@settings(max_examples=25)
@given(apis=APIS, text=TEXTS, count=st.integers(0, 15), data=st.data())
def test_the_choice_is_the_same_whatever_the_order_of_the_catalog(
    apis: list[Api], text: str, count: int, data: st.DataObject
) -> None:
    unique = list({one.ref: one for one in apis}.values())
    found = chosen(prepared(unique), text, count)
    assert found == chosen(prepared(data.draw(st.permutations(unique))), text, count)
    assert len(found) == len(set(found)) <= count
    words = Bm25Selector()
    words.prepare(unique)
    assert set(chosen(prepared(unique), text)) == set(chosen(words, text))


@for_each("text", ["", " \n", "?!.", "could you please", "zebra", "\ud800"])
def test_a_text_without_a_word_of_the_catalog_finds_nothing(text: str) -> None:
    assert chosen(prepared([api("Skies", "forecast", "weather")]), text) == []


@pytest.mark.parametrize("apis", [[], [api("!", "?", "", "")]])
def test_a_catalog_without_words_offers_nothing(apis: list[Api]) -> None:
    assert chosen(prepared(apis), "weather") == []


def test_a_catalog_of_one_api() -> None:
    one = api("Skies", "forecast", "weather")
    assert chosen(prepared([one]), "What will the weather be?") == [one.ref]


@for_each(
    ("text", "name"),
    [
        ("Quelle est la meteo à Paris ?", "météo"),
        ("请告诉我明天的天气预报", "天气预报"),
        ("Döviz ürünleri nedir?", "doviz urunleri"),
        ("Какая погода в Москве?", "погода"),
    ],
)
def test_other_languages(text: str, name: str) -> None:
    apis = [api("T", other, "") for other in ("météo", "天气预报", "doviz urunleri", "погода")]
    assert chosen(prepared(apis), text)[0].api_name == name


def test_choices_are_explained_in_falling_scores_and_go_on_beyond_those_ranked_anew() -> None:
    apis = [api(f"Skies {place}", "forecast", "weather " + "rain " * (place % 7)) for place in range(250)]
    choices = prepared(apis).choices(Query(query_id=1, text="weather forecast", apis=()), max_tools=1000)
    assert len(choices) == 250
    assert {choice.by for choice in choices} == {"reranking"}
    scores = [choice.score for choice in choices if choice.score is not None]
    assert scores == sorted(scores, reverse=True)


def test_a_hostile_query_is_read_to_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    selector = prepared([api("Skies", "forecast", "weather"), api("Shares", "quote", "price")])
    assert [ref.tool_name for ref in chosen(selector, "weather. " * 200_000 + "price")] == ["Skies"]
    assert chosen(selector, "A" * 1_000_000) == []
    assert [ref.tool_name for ref in chosen(selector, "weather " + "\ufdfa" * 1_000_000)] == ["Skies"]


def test_a_large_catalog_is_indexed_once_and_read_afterwards(index_dir: Path) -> None:
    apis = [
        api(f"tool {place // 5} {WORDS[place % 8]}", f"{WORDS[place % 7]} {place % 5}", WORDS[place % 6])
        for place in range(4_000)
    ]
    text = "The weather of a city. Also tool 507, please, and its price."
    found = chosen(prepared(apis), text, 120)
    assert len(found) == 120
    (kept,) = index_dir.glob("*/reranking-1")
    made = kept.stat().st_ino
    assert chosen(prepared(apis), text, 120) == found
    assert kept.stat().st_ino == made


def test_a_damaged_index_is_made_anew(
    monkeypatch: pytest.MonkeyPatch, index_dir: Path, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(_retrieved, "KEPT_FROM", 1)
    apis = [api("Skies", "forecast", "weather"), api("Shares", "quote", "price")]
    found = chosen(prepared(apis), "weather")
    (kept,) = index_dir.glob("*/reranking-1")
    for file in sorted(kept.iterdir()):
        file.write_bytes(b"damaged")
        assert chosen(prepared(apis), "weather") == found
        assert "cannot be read and is made anew" in caplog.text
        caplog.clear()


def test_pairs_of_published_queries_find_more_than_by_bm25(stabletoolbench_dir: Path, tmp_path: Path) -> None:
    driver = StableToolBenchDriver()
    driver.import_folder(stabletoolbench_dir, tmp_path)
    dataset = driver.open("G1_category", tmp_path)
    queries = dataset.queries()
    half = len(queries) // 2
    recall = []
    for selector in (Bm25Selector(), RerankSelector()):
        selector.prepare(dataset.apis())
        found = [
            recall_at(chosen(selector, f"{one.text} {other.text}", 5), [*one.gold_apis, *other.gold_apis], 5)
            for one, other in zip(queries[:half], queries[half:], strict=False)
        ]
        recall.append(sum(found) / len(found))
    assert recall[1] > recall[0] + 0.05
