"""Patterns that never try a long list anew find what the plain ones find."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st
from support.backtracking import processor_time
from support.cases import for_each

from trialbed.evidence import _negation, _readings, _tokens, carries

NUMBERS = st.lists(
    st.sampled_from(
        [*("1", "11", "111", "1111", "000", ",", ",111", ",11", ".", ".5", " ", " 111", "-", "'", "'111", ":30"),
         *("e5", "am", "a", "$", "uhr ", "x", "\n", "/", "und ist ")]
    ),
    max_size=14,
).map("".join)  # fmt: skip
WORDS = st.lists(
    st.sampled_from(
        [
            "is",
            "was",
            " ",
            "\n",
            "\n\n",
            "not",
            "n't",
            " true",
            "wrong",
            " the ",
            "42",
            ". ",
            "- ",
            "1) ",
            ",",
            "\t",
            "\r",
        ]
    ),
    max_size=14,
).map("".join)

TOKEN = re.compile(_tokens._TOKEN.pattern.replace("(?:,[0-9]{3})+|", "(?:,[0-9]{3})+(?![0-9]|,[0-9])|"), re.VERBOSE)
SPACED = re.compile(_readings._NUMBERS[0].pattern.replace("(?P<ended>", "(?:").removesuffix("?"))
CLAUSE = re.compile(_negation._CLAUSE.pattern.replace(r"[^\S\n]*", r"\s*"))
AFTER = re.compile(
    _negation._AFTER.pattern.replace(r"(?:\s*(?:is|was|are|were|would be))?", r"\s*(?:is|was|are|were|would be)?")
)


def test_the_plain_patterns_are_others() -> None:
    linear = (_tokens._TOKEN, _readings._NUMBERS[0], _negation._CLAUSE, _negation._AFTER)
    for plain, own in zip((TOKEN, SPACED, CLAUSE, AFTER), linear, strict=True):
        assert plain.pattern != own.pattern


@given(NUMBERS)
def test_numbers_are_the_same(text: str) -> None:
    plain = [(found.start(), found.end()) for found in TOKEN.finditer(text)]
    assert [(token.start, token.end) for token in _tokens.tokens(text)] == plain
    spaced = [found.span() for found in _readings._NUMBERS[0].finditer(text) if found["ended"] is not None]
    assert spaced == [found.span() for found in SPACED.finditer(text)]


@given(WORDS)
def test_denials_are_the_same(text: str) -> None:
    assert [found.span() for found in _negation._CLAUSE.finditer(text)] == [
        found.span() for found in CLAUSE.finditer(text)
    ]
    for place in range(len(text)):
        assert bool(_negation._AFTER.match(text, place)) == bool(AFTER.match(text, place))


@for_each(
    "text",
    ["111" + ",111" * 25_000 + ",1", "111" + " 111" * 25_000 + " 1", "7\n" * 50_000, "42" + "\n" * 100_000 + "not"],
    ids=["list", "spaced", "lines", "space"],
)
def test_no_answer_takes_long(text: str) -> None:
    # The first one took hours.
    with processor_time(30):
        assert not carries(text, "4242")
