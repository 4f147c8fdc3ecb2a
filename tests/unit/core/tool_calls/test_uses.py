from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import pytest
from support.cases import for_each
from support.scoring import ref

from trialbed.evidence import Passages
from trialbed.records import Query
from trialbed.tool_calls import AskedCall, Uses, _uses

QUERY = Query(query_id=1, text="Who is the mayor of Pelluin?", apis=())


def call(response: Any, arguments: Any = None, started: float = 0.0) -> AskedCall:
    return AskedCall("a", ref("a"), arguments or {}, started, True, "", response)


@for_each(
    ("response", "answer", "used"),
    [
        ({"mayor": "Mirel Tidemark"}, "Mirel Tidemark is.", True),
        ({"mayor": "Mirel Tidemark"}, "I do not know.", False),
        ({"city": "Pelluin"}, "Pelluin", None),
        ({"id": "CT-1"}, "CT-1", None),
        ([], "", None),
        (None, "None", None),
        ('{"mayor": "Mirel Tidemark"}', "mirel  tidemark", True),
    ],
)
def test_only_what_is_new_is_evidence(response: Any, answer: str, used: bool | None) -> None:
    assert Uses(QUERY, answer, []).of(call(response, {"id": "CT-1"})) is used


SHELF = {"title": "Dune", "shelf": "A3", "copies": 2, "id": 7}


@for_each(
    ("answer", "later", "used"),
    [
        ("Dune stands there.", {}, True),
        ("It is on shelf A3.", {}, None),
        ("There are 2.", {}, None),
        ("I reserved it.", {"book": 7}, None),
        ("It is on shelf A4; there are 12.", {}, False),
        ("I do not know.", {"book": 1}, False),
    ],
)
def test_a_short_value_shows_neither_use_nor_disuse(answer: str, later: Any, used: bool | None) -> None:
    uses = Uses(QUERY, answer, [call({}, later, 2.0)])
    assert uses.shows(call(SHELF, started=1.0)) is used
    assert uses.of(call(SHELF, started=1.0)) is (used or False)


def test_a_short_value_that_the_task_or_the_call_itself_says_leaves_nothing_open() -> None:
    query = QUERY.model_copy(update={"text": "Which of the 2 shelves?"})
    assert Uses(query, "One of the 2.", []).shows(call(SHELF)) is False
    assert Uses(QUERY, "Book 7.", []).shows(call(SHELF, {"id": 7})) is False
    assert Uses(QUERY, "", [call({}, {"book": 7}, 0.5)]).shows(call(SHELF, started=1.0)) is False


def test_a_later_call_may_use_a_result_but_not_an_earlier_one() -> None:
    one = call({"id": "CT-153"}, started=1.0)
    assert Uses(QUERY, "", [call({}, {"id": "CT-153"}, 2.0)]).of(one) is True
    assert Uses(QUERY, "", [call({}, {"id": "CT-153"}, 0.5)]).of(one) is False


def test_a_call_of_the_same_answer_was_asked_for_without_the_result() -> None:
    first, second = (replace(call({"id": "CT-153"}, {}, started), asked=1.0) for started in (1.1, 1.2))
    beside = replace(second, arguments={"id": "CT-153"})
    assert Uses(QUERY, "", [first, beside]).of(first) is False
    assert Uses(QUERY, "", [first, replace(beside, asked=1.5, started=1.6)]).of(first) is True


def test_a_huge_response_is_looked_through_in_part() -> None:
    response = [f"value {number}" for number in range(5000)]
    assert Uses(QUERY, "value 7", []).of(call(response)) is True
    assert Uses(QUERY, "value 4999", []).of(call(response)) is False


def test_each_text_is_read_once_however_many_calls_there_are(monkeypatch: pytest.MonkeyPatch) -> None:
    """Four hundred calls of one tool must not take the square of the time of one."""
    answer = "It is 1021 in all of them."
    calls = [call({"degrees": 5000 + place}, {"city": f"Town {place}"}, float(place)) for place in range(50)]
    read: list[str] = []

    def passages(texts: Iterable[str]) -> Passages:
        known = list(texts)
        read.extend(known)
        return Passages(known)

    monkeypatch.setattr(_uses, "Passages", passages)
    uses = Uses(QUERY, answer, calls)
    assert [uses.of(one) for one in calls] == [False] * 50
    assert read.count(answer) == 1
    assert len(read) < 4 * len(calls)
    assert max(map(len, read)) < 2 * len(QUERY.text)


def test_dates_and_marks_are_found_in_later_calls_too() -> None:
    later = [call({}, {"day": "3 May 2026"}, 2.0), call({}, {"mark": "***"}, 3.0)]
    assert Uses(QUERY, "", later).of(call({"day": "2026-05-03"}, started=1.0)) is True
    assert Uses(QUERY, "", later).of(call({"day": "2026-05-04"}, started=1.0)) is False
