from __future__ import annotations

import io
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.cases import for_each
from support.run_reports import document, reported

from trialbed.attribution import USED
from trialbed.records import STAGES
from trialbed_plugins.reporters import HtmlReporter, MarkdownReporter, TableReporter
from trialbed_plugins.reporters._attribution import percentages


def with_lost(name: str, used: int, **lost: int) -> dict[str, Any]:
    found = document(name)
    counts = {**dict.fromkeys(STAGES, 0), **{key.replace("_", " "): count for key, count in lost.items()}, USED: used}
    found["summary"]["attribution"] = {"gold_calls": sum(counts.values()), "counts": counts, "shares": {}}
    call = {"api": ["Atlas", "City"], "arguments": {}, "lost": "wrong arguments", "reason": "missing: name"}
    found["results"] = [{"query_id": 7, "gold_calls": [call]}]
    return found


def shown(*documents: Mapping[str, Any]) -> str:
    stream = io.StringIO()
    TableReporter().report(reported(*documents), stream)
    return stream.getvalue()


def test_the_waterfall_goes_from_all_gold_calls_to_those_that_were_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    text = shown(with_lost("reference", 60), with_lost("langgraph:native", 45, not_called=6, wrong_arguments=9))
    lines = text[text.index("where calls were lost") :].splitlines()
    assert [line.split() for line in lines[2:6]] == [
        ["expected", "calls", "60", "100%", "60", "100%"],
        ["not", "called", "0", "0%", "-6", "10%"],
        ["wrong", "arguments", "0", "0%", "-9", "15%"],
        ["used", "60", "100%", "45", "75%"],
    ]
    assert max(map(len, lines)) <= 80
    words = " ".join(text.split())
    assert "langgraph:native: wrong arguments, first in query 7: Atlas: City (missing: name)." in words
    assert "reference: " not in words[words.index("langgraph:native: wrong") :]


def test_frameworks_are_rows_where_they_do_not_fit_side_by_side(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    text = shown(*(with_lost(f"framework-{place}:controlled", 45, not_called=15) for place in range(12)))
    lines = text[text.index("where calls were lost") :].splitlines()
    assert lines[0].split()[-5:] == ["expected", "calls", "not", "called", "used"]
    assert lines[2].split() == ["framework-0:controlled", "60", "100%", "-15", "25%", "45", "75%"]
    assert max(map(len, lines)) <= 80


def test_where_nothing_was_lost_there_is_no_table() -> None:
    assert "where calls" not in shown(with_lost("reference", 60))
    assert "where calls" not in shown(document())


def test_an_incomplete_run_of_several_frameworks_has_none() -> None:
    missing = with_lost("a", 3, not_called=1)
    missing["metadata"]["status"] = "incomplete"
    assert "where calls" not in shown(missing, with_lost("b", 4))
    assert "where calls" in shown(missing)


def test_a_framework_without_gold_calls_is_a_dash() -> None:
    text = shown(with_lost("a", 3, not_called=1), with_lost("b", 0))
    table = text[text.index("where calls were lost") :]
    line = next(line for line in table.splitlines() if line.startswith("expected calls"))
    assert line.split() == ["expected", "calls", "4", "100%", "-"]


@pytest.mark.parametrize("reporter", [MarkdownReporter, HtmlReporter])
def test_every_format_has_it(reporter: type[MarkdownReporter | HtmlReporter]) -> None:
    stream = io.StringIO()
    reporter().report(reported(with_lost("reference", 3, not_called=1)), stream)
    assert "where calls were lost" in stream.getvalue()


def test_scores_that_explain_others_are_shown_where_they_tell() -> None:
    perfect, wrong = document("a", average_call_success=1.0), document("b", average_call_success=0.5)
    assert "call_success" not in shown(perfect)
    assert "call_success" in shown(perfect, wrong)


@given(st.lists(st.integers(0, 10**9), max_size=20))
def test_whole_percentages_sum_to_100_and_are_off_by_less_than_1(counts: list[int]) -> None:
    found = percentages(counts)
    assert sum(found) == (100 if sum(counts) else 0)
    for count, share in zip(counts, found, strict=True):
        assert abs(share - (100 * count / sum(counts) if sum(counts) else 0)) < 1


@for_each(
    ("counts", "shares"), [([1, 1, 1], [34, 33, 33]), ([0, 5], [0, 100]), ([1, 199], [1, 99]), ([], []), ([0], [0])]
)
def test_percentages(counts: list[int], shares: list[int]) -> None:
    assert percentages(counts) == shares
