from __future__ import annotations

import random
from typing import Any

import pytest
from support.vendor_rows import own_row

from trialbed_verify.documents import as_document
from trialbed_verify.verification.results import Tally
from trialbed_verify.verification.results._tally import MORE, MOST_NAMES

ATTEMPT = {"status": 200}


def tally(*rows: dict[str, Any]) -> Tally:
    found = Tally()
    for row in rows:
        found.add(row)
    return found


def test_nothing_is_known_of_nothing() -> None:
    own = tally().figures().as_json()
    assert own["case_count"] == 0
    for key in ("success_rate", "schema_accuracy_per_call", "ttft_ms", "tps", "loop_lag_ms", "first_row_at"):
        assert own[key] is None


def test_every_row_is_counted_once_and_by_its_outcome() -> None:
    ends = ["tool_calls", "stop", "stop", "other", "protocol_error", "timeout"]
    found = tally(*(own_row(number, end) for number, end in enumerate(ends, 1)))
    k2 = as_document(found.counts())
    assert (k2["success_count"], k2["failure_count"], found.total) == (4, 2, 6)
    assert (k2["finish_stop"], k2["finish_tool_calls"], k2["finish_others"]) == (2, 1, 1)
    assert k2["finish_others_detail"] == {"length": 1}
    assert found.figures().as_json()["outcomes"] == {
        "other": 1,
        "protocol_error": 1,
        "stop": 2,
        "timeout": 1,
        "tool_calls": 1,
    }
    assert sum(found.figures().as_json()["outcomes"].values()) == found.total


def test_first_attempts_are_told_from_later_ones() -> None:
    own = (
        tally(
            own_row(1, attempts=[ATTEMPT]),
            own_row(2, attempts=[ATTEMPT, ATTEMPT]),
            own_row(3, "timeout", attempts=[ATTEMPT]),
        )
        .figures()
        .as_json()
    )
    assert (own["attempt_count"], own["success_rate"]["n"]) == (4, 3)
    assert own["success_rate"]["value"] == pytest.approx(2 / 3)
    assert own["first_attempt_success_rate"]["value"] == pytest.approx(1 / 3)


def test_a_figure_that_is_missing_is_not_zero() -> None:
    own = tally(own_row(1, tps=40.0), own_row(2, tps=None, total_tokens=None)).figures().as_json()
    assert (own["tps"]["mean"], own["tps"]["n"]) == (40.0, 1)
    assert own["usage_reported"]["total_tokens"] == 1


def test_responses_are_valid_invalid_or_cannot_be_told() -> None:
    unusable = [{"name": "f", "valid": None, "reasons": ["unusable_schema"]}]
    own_fields = tally(
        own_row(1, "tool_calls"),
        own_row(2, "tool_calls", valid=False),
        own_row(3, "tool_calls", tool_calls_valid=None, calls=unusable),
        own_row(4, "tool_calls", tool_calls_valid=None, calls=[]),
    )
    k2, own = as_document(own_fields.counts()), own_fields.figures().as_json()
    assert (k2["successful_tool_call_count"], k2["schema_validation_error_count"]) == (1, 2)
    assert (own["uncheckable_responses"], own["uncheckable_calls"]) == (1, 1)
    assert own["schema_accuracy_per_call"]["n"] == 2
    assert own["call_problems"] == {"wrong_type": 1, "unusable_schema": 1}


def test_examples_are_the_first_of_the_test_set_whatever_ended_first() -> None:
    rows = [
        own_row(number, "protocol_error", problem={"kind": "html", "message": f"page {number}"}) for number in range(50)
    ]
    random.Random(1).shuffle(rows)
    examples = tally(*rows).figures().as_json()["examples"]["problems"]
    assert examples == {
        "html": [{"line": number, "trial": 0, "message": f"page {number}"} for number in range(3)],
    }


def test_examples_of_wrong_calls_say_which_tool_and_what_was_wrong() -> None:
    call = {
        "name": "look_up",
        "valid": False,
        "reasons": ["wrong_type", "missing_required"],
        "detail": "7 is  no\ntext",
    }
    own = tally(own_row(4, "tool_calls", valid=False, calls=[call], trial=2)).figures().as_json()
    expected = [{"line": 4, "trial": 2, "tool": "look_up", "message": "7 is no text"}]
    assert own["examples"]["calls"] == {"missing_required": expected, "wrong_type": expected}


def test_long_messages_are_trimmed() -> None:
    own = tally(own_row(1, "timeout", problem={"kind": "timeout", "message": "x" * 9000})).figures().as_json()
    (example,) = own["examples"]["problems"]["timeout"]
    assert len(example["message"]) == 201


def test_names_of_a_vendors_making_do_not_grow_without_end() -> None:
    rows = [
        own_row(number, "other", finish_reason=f"stop_{number}", served={"system_fingerprint": f"fp_{number}"})
        for number in range(MOST_NAMES + 50)
    ]
    found = tally(*rows)
    details = as_document(found.counts())["finish_others_detail"]
    assert (len(details), details[MORE], sum(details.values())) == (MOST_NAMES + 1, 50, MOST_NAMES + 50)
    assert len(found.figures().as_json()["served_fingerprints"]) == MOST_NAMES + 1
    assert found.figures().as_json()["served_models"] == {"(not told)": MOST_NAMES + 50}


def test_the_lag_of_failures_counts_too_and_times_span_all_rows() -> None:
    own = (
        tally(
            own_row(1, loop_lag_ms=2.0, last_run_at="2026-01-01T00:00:05+00:00"),
            own_row(2, "timeout", loop_lag_ms=80.0, last_run_at="2026-01-01T00:00:04.5+00:00"),
        )
        .figures()
        .as_json()
    )
    assert (own["loop_lag_ms"]["n"], own["loop_lag_ms"]["p50"]) == (2, 41.0)
    assert (own["first_row_at"], own["last_row_at"]) == ("2026-01-01T00:00:04.5+00:00", "2026-01-01T00:00:05+00:00")


def test_trials_of_a_case_that_agree_are_one_observation() -> None:
    """Five trials of each case, all alike, tell no more than one."""
    once = [own_row(number, "stop" if number % 2 else "timeout") for number in range(1, 41)]
    repeated = [
        own_row(number, "stop" if number % 2 else "timeout", trial=trial)
        for number in range(1, 41)
        for trial in range(5)
    ]
    single, five = (tally(*rows).figures().as_json()["success_rate"] for rows in (once, repeated))
    assert (five["n"], single["n"]) == (200, 40)
    assert five["low"] == pytest.approx(single["low"], abs=0.003)


def test_findings_have_examples_with_their_evidence() -> None:
    found = {"kind": "empty_answer", "gate": "text", "severity": "violation", "message": "no text", "evidence": "{}"}
    examples = tally(*(own_row(number, findings=[found]) for number in (4, 1, 3, 2))).figures().as_json()["examples"]
    assert [example["line"] for example in examples["findings"]["empty_answer"]] == [1, 2, 3]
    assert examples["findings"]["empty_answer"][0]["evidence"] == "{}"
