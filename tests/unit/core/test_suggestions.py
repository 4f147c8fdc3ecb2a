"""Suggestions for wrong names."""

from __future__ import annotations

from support.cases import for_each

from trialbed.suggestions import closest, did_you_mean

NAMES = ("sopr_score", "api_f1", "has_finish")


@for_each(
    ("given", "meant"),
    [("sopr", "sopr_score"), ("sopr_scor", "sopr_score"), ("api-f1", "api_f1"), ("xyz", None), ("s", None), ("", None)],
)
def test_the_name_that_is_meant(given: str, meant: str | None) -> None:
    assert closest(given, NAMES) == meant


def test_the_words() -> None:
    assert did_you_mean("gold") == "; did you mean 'gold'?"
    assert did_you_mean(None) == "."
