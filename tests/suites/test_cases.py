"""Cases of one test are as good as tests of their own."""

from __future__ import annotations

import inspect

import pytest
from support.cases import for_each


def test_all_cases_run_and_those_that_fail_are_named() -> None:
    seen = []

    @for_each("number", [1, pytest.param(2, id="even"), 3])
    @for_each(("one", "other"), [("a", "b")])
    def odd(number: int, one: str, other: str, fixture: str) -> None:
        seen.append((number, one + other + fixture))
        assert number % 2

    assert list(inspect.signature(odd).parameters) == ["fixture"]
    with pytest.raises(BaseExceptionGroup, match="1 of 3 cases fail") as caught:
        odd(fixture="c")
    assert seen == [(1, "abc"), (2, "abc"), (3, "abc")]
    assert caught.value.exceptions[0].__notes__ == ["case: {'number': 2}"]
