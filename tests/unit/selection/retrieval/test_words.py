from __future__ import annotations

from support.cases import for_each

from trialbed_selection.retrieval import Words


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
