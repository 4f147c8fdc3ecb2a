from __future__ import annotations

from trialbed_selection.reranking._query import MAX_CHARACTERS, MAX_SENTENCES, QueryWords, grams
from trialbed_selection.retrieval import Words


def test_a_query_has_its_words_once_and_those_of_each_sentence() -> None:
    query = QueryWords.of("Get the weather. Please! Then weather maps?", Words())
    assert query.whole[-2:] == ["weather", "map"]
    assert query.sentences == [query.whole[:-1], ["weather", "map"]]


def test_a_long_query_is_read_to_a_bound_in_a_bounded_number_of_sentences() -> None:
    query = QueryWords.of("rain. " * 1000 + "snow", Words())
    assert len(query.sentences) == MAX_SENTENCES
    assert query.sentences[-1] == ["rain", "snow"]
    assert QueryWords.of("a. " * MAX_CHARACTERS + "snow", Words()).whole == []


def test_parts_of_words_show_where_words_end() -> None:
    assert grams(["ab", "rain"]) == ["^ab$", "^rai", "rain", "ain$"]
    assert grams(["a"]) == ["^a$"]
