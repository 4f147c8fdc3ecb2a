"""The grounds of a trial's scores, in words."""

from __future__ import annotations

from typing import Any

from support.cases import for_each

from trialbed.records import Failure, Score
from trialbed.report.inspection import detail_text, expectation_lines, reason_text

SEVEN = [["", f"a{place}"] for place in range(7)]


@for_each(
    ("name", "detail", "words"),
    [
        ("api_call_score", {"right": [["t", "a"]], "missing": [], "extra": []}, ""),
        (
            "api_call_score",
            {"missing": [["", "find_order"], ["t", "a"]], "extra": [["t", "b"]]},
            "missing: find_order, t/a; extra: t/b",
        ),
        ("gold_offered", {"missing": SEVEN}, "missing: a0, a1, a2, a3, a4 and 2 more"),
        ("model_turns", {"failed": 0, "repeated": 0, "claimed": 3}, ""),
        ("model_turns", {"failed": 2, "repeated": 1, "claimed": None}, "failed: 2; repeated: 1"),
        ("call_success", {"calls": 1, "failed": []}, "calls: 1"),
        ("own", {"odd_words": ["a", "b"], "found": 0, "more": {"x": 1}}, 'odd words: a, b; found: 0; more: {"x": 1}'),
        ("own", {"rows": [["a", 1]]}, 'rows: [["a", 1]]'),
    ],
)
def test_a_detail_is_said_in_words(name: str, detail: dict[str, Any], words: str) -> None:
    assert detail_text(Score(name=name, value=0.0, detail=detail)) == words


def test_expectations_that_are_not_met_are_explained_once() -> None:
    listed = [
        {"text": "the answer says '12.5'", "met": False, "reason": ""},
        {"text": "polite", "met": False, "reason": "rude"},
        {"text": "the expected calls", "met": True, "reason": ""},
        {"text": "short", "met": None, "reason": "it raised"},
    ]
    reason = "2 of 4 expectations are not met: the answer does not say '12.5'; polite: rude"
    detail = {"method": "expectations", "reason": reason, "expectations": listed}
    score = Score(name="sopr_score", value=0.0, label="Unsolved", detail=detail)
    assert reason_text(score) == "2 of 4 expectations are not met"
    assert list(expectation_lines(score)) == [
        "not met: the answer says '12.5'",
        "not met: polite",
        "met: the expected calls",
        "not known: short: it raised",
    ]


def test_a_single_expectation_is_not_listed() -> None:
    one = [{"text": "polite", "met": False, "reason": "rude"}]
    assert not list(expectation_lines(Score(name="sopr_score", value=0.0, detail={"expectations": one})))
    assert not list(expectation_lines(Score(name="sopr_score", value=0.0, detail={"expectations": "many"})))


def test_a_failure_or_the_scorers_own_words_are_the_reason() -> None:
    failed = Score(name="own", value=None, failure=Failure(kind="scorer", message="it raised: x"))
    assert reason_text(failed) == "it raised: x"
    assert reason_text(Score(name="own", value=0.0, detail={"reason": "it lacks: 21"})) == "it lacks: 21"
    assert reason_text(Score(name="own", value=0.0)) == ""
