from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from trialbed.errors import DataError
from trialbed_evaluation.calibration import embedded_cases, read_cases

CASE = {"id": "a", "query": "q?", "answer": "x", "label": "Solved"}


def written(folder: Path, *lines: object) -> Path:
    path = folder / "labels.jsonl"
    path.write_text("\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines), encoding="utf-8")
    return path


def test_the_embedded_cases_are_many_and_varied() -> None:
    cases = embedded_cases()
    assert len(cases) >= 120
    assert len({case.query.text for case in cases}) >= 40
    assert len({case.answer.final_answer for case in cases}) >= 120
    counts = Counter(case.label for case in cases)
    assert min(counts.values()) >= 10, counts


def test_a_case_has_what_a_judge_sees(tmp_path: Path) -> None:
    call = {"tool": "t", "api": "a", "arguments": {"x": 1}, "response": {"y": 2}}
    (case,) = read_cases(written(tmp_path, "", CASE | {"calls": [call], "facts": ["2"], "reference": "two"}))
    assert (case.id, case.label, case.answer.finish) == ("a", "Solved", "give_answer")
    assert [call.api.title for call in case.wire.api_calls] == ["t_a"]
    assert [ref.pair for ref in case.query.gold_apis] == [("t", "a")]
    assert (case.query.reference_facts, case.query.reference_answer) == (("2",), "two")


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ([], "no labelled cases"),
        (["{"], "line 1: the case: Invalid JSON"),
        (["[]"], "line 1: the case: Input should be an object"),
        ([CASE, CASE], "line 2: the id .a. is already used in line 1"),
        ([CASE | {"label": "solved"}], "line 1: label"),
        ([{"id": "a", "query": "q?"}], "must have answer and label"),
        ([CASE | {"answers": [{"answer": "x", "label": "Solved"}]}], "must have answer and label, or answers"),
        ([CASE | {"wrong": 1}], "line 1: wrong"),
        (
            [CASE, CASE | {"id": "b", "criterion": "It is kind."}],
            "cases with a criterion and cases without one separately",
        ),
        ([CASE | {"criterion": ""}], "line 1: criterion"),
    ],
)
def test_a_wrong_line_is_named(tmp_path: Path, lines: list[object], message: str) -> None:
    with pytest.raises(DataError, match=message):
        read_cases(written(tmp_path, *lines))
