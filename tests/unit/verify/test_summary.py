"""The summary of an endpoint, as a function of its rows."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.vendor_rows import own_row
from support.verification import KEY, summarised

from trialbed_verify.summary import MORE, MOST_NAMES

ATTEMPT = {"status": 200}
Summed = Callable[..., dict[str, Any]]


@pytest.fixture
def summed(tmp_path: Path) -> Summed:
    """Makes the summary of rows."""
    return lambda *rows: summarised(tmp_path, *rows)


def test_every_row_is_counted_once_and_by_its_outcome(summed: Summed) -> None:
    ends = ["tool_calls", "stop", "stop", "other", "protocol_error", "timeout"]
    found = summed(*(own_row(number, end) for number, end in enumerate(ends, 1)))
    k2 = found
    assert (k2["success_count"], k2["failure_count"], found["case_count"]) == (4, 2, 6)
    assert (k2["finish_stop"], k2["finish_tool_calls"], k2["finish_others"]) == (2, 1, 1)
    assert k2["finish_others_detail"] == {"length": 1}
    assert found["outcomes"] == {"other": 1, "protocol_error": 1, "stop": 2, "timeout": 1, "tool_calls": 1}
    assert sum(found["outcomes"].values()) == found["case_count"]


def test_first_attempts_are_told_from_later_ones(summed: Summed) -> None:
    own = summed(
        own_row(1, attempts=[ATTEMPT]),
        own_row(2, attempts=[ATTEMPT, ATTEMPT]),
        own_row(3, "timeout", attempts=[ATTEMPT]),
    )
    assert (own["attempt_count"], own["success_rate"]["n"]) == (4, 3)
    assert own["success_rate"]["value"] == pytest.approx(2 / 3)
    assert own["first_attempt_success_rate"]["value"] == pytest.approx(1 / 3)


def test_thoughts_outside_the_completion_are_billed_and_counted(summed: Summed) -> None:
    usage = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 40}
    own = summed(own_row(1, response={"usage": usage}, **usage), own_row(2, completion_tokens=7))
    assert own["usage"]["completion_tokens"] == 12
    assert own["billed_completion_tokens"] == 30 + 7


def test_examples_are_the_first_of_the_test_set_whatever_ended_first(summed: Summed) -> None:
    rows = [
        own_row(number, "protocol_error", problem={"kind": "html", "message": f"page {number}"}) for number in range(50)
    ]
    random.Random(1).shuffle(rows)
    examples = summed(*rows)["examples"]["problems"]
    assert examples == {"html": [{"line": number, "trial": 0, "message": f"page {number}"} for number in range(3)]}


def test_names_of_a_vendors_making_do_not_grow_without_end(summed: Summed) -> None:
    rows = [
        own_row(number, "other", finish_reason=f"stop_{number}", served={"system_fingerprint": f"fp_{number}"})
        for number in range(MOST_NAMES + 50)
    ]
    found = summed(*rows)
    details = found["finish_others_detail"]
    assert (len(details), details[MORE], sum(details.values())) == (MOST_NAMES + 1, 50, MOST_NAMES + 50)
    assert len(found["served_fingerprints"]) == MOST_NAMES + 1
    assert found["served_models"] == {"(not told)": MOST_NAMES + 50}


def test_it_begins_with_the_fields_of_k2_style_tools(tmp_path: Path) -> None:
    found = summarised(tmp_path, own_row(1), own_row(2, "tool_calls"), own_row(3, "timeout"), not_sent=1)
    assert list(found)[:13] == [
        "model",
        "success_count",
        "failure_count",
        "finish_stop",
        "finish_tool_calls",
        "finish_others",
        "finish_others_detail",
        "schema_validation_error_count",
        "successful_tool_call_count",
        "usage",
        "eval_started_at",
        "eval_finished_at",
        "eval_duration_ms",
    ]
    assert (found["success_count"], found["failure_count"], found["not_sent"]) == (2, 1, 1)
    assert found["eval_duration_ms"] == 3000


def test_it_says_where_it_comes_from_and_holds_no_key(tmp_path: Path) -> None:
    about = summarised(tmp_path)["provenance"]
    assert about["configuration"]["base_url"] == "http://127.0.0.1:1/v1"
    assert about["test_set"] == "set.jsonl"
    assert len(about["test_set_digest"]) == 64
    assert (about["test_set_cases"], about["trials"], about["proxy"]) == (4, 2, None)
    assert about["drivers"]["vendor"] is None
    assert about["drivers"]["model_adapter"].startswith("generic (trialbed ")
    assert KEY not in json.dumps(about)
