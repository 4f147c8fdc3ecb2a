"""The same numbers as K2-style comparisons, by their rules written down again."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.examples import examples
from support.vendor_rows import Row, compared_files, k2_row, write_rows

from trialbed.cli import main

KEYS = (
    "total_baseline",
    "total_vendor",
    "common_indices",
    "matched_success",
    "skipped_failures",
    "tool_call_trigger_similarity",
    "tool_call_schema_accuracy",
)


def reference(baseline: list[Row], vendor: list[Row]) -> Row:
    """The rules: rows by index, the last one wins; pairs of two successes; a positive is exactly ``tool_calls``."""
    ours = {row["data_index"]: row for row in baseline}
    theirs = {row["data_index"]: row for row in vendor}
    common = [(ours[index], theirs[index]) for index in sorted(ours.keys() & theirs.keys())]
    matched = [pair for pair in common if all(row["status"] == "success" for row in pair)]
    counts = {"TP": 0, "FP": 0, "FN": 0, "TN": 0}
    triggered = valid = 0
    for one, other in matched:
        expected, found = (row.get("finish_reason") == "tool_calls" for row in (one, other))
        counts["TP" if expected and found else "FP" if found else "FN" if expected else "TN"] += 1
        triggered += found
        valid += found and bool(other.get("tool_calls_valid"))
    precision = counts["TP"] / (counts["TP"] + counts["FP"]) if counts["TP"] + counts["FP"] else 0.0
    recall = counts["TP"] / (counts["TP"] + counts["FN"]) if counts["TP"] + counts["FN"] else 0.0
    f1 = 2 * precision * recall / (precision + recall) if precision + recall else 0.0
    return {
        "total_baseline": len(ours),
        "total_vendor": len(theirs),
        "common_indices": len(common),
        "matched_success": len(matched),
        "skipped_failures": len(common) - len(matched),
        "tool_call_trigger_similarity": {
            **counts,
            "precision": round(precision, 4),
            "recall": round(recall, 4),
            "f1": round(f1, 4),
        },
        "tool_call_schema_accuracy": {
            "count_finish_reason_tool_calls": triggered,
            "count_successful_tool_call": valid,
            "schema_accuracy": f"{valid / triggered:.2%}" if triggered else "0.00%",
        },
    }


def compared(baseline: list[Row], vendor: list[Row]) -> Row:
    with tempfile.TemporaryDirectory() as folder:
        files = [write_rows(Path(folder) / f"{name}.jsonl", rows) for name, rows in (("a", baseline), ("b", vendor))]
        document = compared_files(*files)
    return {key: document[key] for key in KEYS}


ENDS = st.sampled_from(["tool_calls", "tool_calls", "stop", "stop", "length", "content_filter"])
VALIDITY = st.sampled_from([True, True, False, None])


def rows_of(ends: list[tuple[str, bool | None]]) -> list[Row]:
    return [
        k2_row(number, end, valid=valid if end == "tool_calls" else None) for number, (end, valid) in enumerate(ends, 1)
    ]


def pairs(ends: st.SearchStrategy[str]) -> st.SearchStrategy[list[tuple[tuple[str, bool | None], ...]]]:
    side = st.tuples(ends, VALIDITY)
    return st.lists(st.tuples(side, side), min_size=1, max_size=40)


@settings(max_examples=examples(0.75))
@given(pairs(st.one_of(ENDS, st.just("failed"))), st.randoms(use_true_random=False))
def test_with_failures_repeats_and_in_any_order_they_are_too(answers: list[Any], random: Any) -> None:
    baseline, vendor = (rows_of([pair[side] for pair in answers]) for side in (0, 1))
    # A repeat of a row before the row itself, as an interrupted and resumed run leaves it.
    vendor = [row | {"status": "failed"} for row in vendor if random.random() < 0.3] + vendor
    random.shuffle(baseline)
    assert compared(baseline, vendor) == reference(baseline, vendor)


SCHEMA = {"type": "object", "properties": {"q": {"type": "string"}}, "required": ["q"]}
OFFERED = {"type": "function", "function": {"name": "look_up", "parameters": SCHEMA}}
RIGHT, WRONG = '{"q": "parrots"}', '{"q": 5}'


def answered_row(number: int, arguments: str = RIGHT) -> Row:
    """Return a row of another tool whose response has all that its columns say: a call in odd rows, text in others."""
    is_call = bool(number % 2)
    call = {"id": f"c{number}", "type": "function", "function": {"name": "look_up", "arguments": arguments}}
    message = {"role": "assistant", "content": None, "tool_calls": [call]}
    finish = "tool_calls" if is_call else "stop"
    choice = {"index": 0, "message": message if is_call else {"role": "assistant", "content": "Yes."}}
    asked = {"model": "m-id", "messages": [{"role": "user", "content": f"task {number}"}], "tools": [OFFERED]}
    response = {"id": f"r{number}", "model": "m-id", "choices": [choice | {"finish_reason": finish}]}
    return k2_row(number, finish, valid=arguments == RIGHT if is_call else None, request=asked, response=response)


def choice_of(row: Row) -> Row:
    found: Row = row["response"]["choices"][0]
    return found


def arguments(text: str, *, valid: object) -> Callable[[Row], object]:
    """Give a row's call these arguments, and its column this verdict."""

    def change(row: Row) -> None:
        choice_of(row)["message"]["tool_calls"][0]["function"]["arguments"] = text
        row["tool_calls_valid"] = valid

    return change


ARE_NOT, ARE = "the file says valid, the arguments are not", "the file says not valid, the arguments are"
NONE, OTHER = "the file says success, and the response has no answer", "the file has another finish reason than the"

CONTRADICTIONS: dict[str, tuple[Callable[[Row], object], tuple[float, float], str]] = {
    "arguments of a wrong type": (arguments(WRONG, valid=True), (0.7, 1.0), ARE_NOT),
    "valid arguments called wrong": (arguments(RIGHT, valid=False), (1.0, 1.0), ARE),
    "wrong arguments without a verdict": (
        lambda row: (arguments(WRONG, valid=True)(row), row.pop("tool_calls_valid")),
        (0.7, 1.0),
        "",
    ),
    "an unknown tool": (
        lambda row: choice_of(row)["message"]["tool_calls"][0]["function"].update(name="dig"),
        (0.7, 1.0),
        ARE_NOT,
    ),
    "no calls": (lambda row: choice_of(row)["message"].update(tool_calls=None), (0.7, 1.0), ARE_NOT),
    "a response of null": (lambda row: row.update(response=None), (1.0, 0.85), NONE),
    "an error": (lambda row: row.update(response={"error": {"message": "busy"}}), (1.0, 0.85), NONE),
    "no choices": (lambda row: row["response"].update(choices=[]), (1.0, 0.85), NONE),
    "another finish reason": (lambda row: choice_of(row).update(finish_reason="length"), (1.0, 1.0), OTHER),
    "no response to look at": (lambda row: row.pop("response"), (1.0, 1.0), ""),
    "no tools to check calls against": (lambda row: row["request"].pop("tools"), (1.0, 1.0), ""),
}
"""Name -> a fault of three rows of ten with calls, the schema and success rates, and the remark."""


@pytest.mark.parametrize("name", CONTRADICTIONS)
def test_a_row_that_contradicts_itself_counts_by_its_response(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "1000")
    change, rates, remark = CONTRADICTIONS[name]
    baseline, vendor = ([answered_row(number) for number in range(1, 21)] for _ in range(2))
    # Requests are the same on both sides.
    for row in [*vendor[:6:2], *(baseline[:6:2] if "tools" in name.split() else [])]:
        change(row)
    files = [write_rows(tmp_path / f"{name}.jsonl", rows) for name, rows in (("a", baseline), ("b", vendor))]
    assert main(["compare", *map(str, files), "--force", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    schema, success = (document[figure]["vendor"] for figure in ("schema_accuracy", "success_rate"))
    assert (schema["per_response"]["value"], success["value"]) == pytest.approx(rates)
    # Scripts for other tools get the figures that those compute from their own columns.
    assert {key: document[key] for key in KEYS} == reference(baseline, vendor)
    assert main(["compare", *map(str, files), "--force"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert ("the file " in shown) == bool(remark)
    assert not remark or f"b.jsonl: 3 rows: {remark}" in shown
    # The gate and the rate are made of the same answers.
    gate = next(one for one in document["panel"]["gates"] if one["gate"] == "schema")
    assert gate["vendor"] in (None, pytest.approx(1 - rates[0]))
