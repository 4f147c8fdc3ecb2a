from __future__ import annotations

import json
from pathlib import Path

import pytest
from support.vendor_rows import own_row
from support.verification import KEY, summarised

from trialbed_verify.verification.results import write_summary


def test_it_begins_with_the_fields_of_k2_style_tools(tmp_path: Path) -> None:
    found = summarised(tmp_path, own_row(1), own_row(2, "tool_calls"), own_row(3, "timeout"), not_sent=1).as_json()
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
    about = summarised(tmp_path).as_json()["provenance"]
    assert about["configuration"]["base_url"] == "http://127.0.0.1:1/v1"
    assert about["test_set"] == "set.jsonl"
    assert len(about["test_set_digest"]) == 64
    assert (about["test_set_cases"], about["trials"], about["proxy"]) == (4, 2, None)
    assert about["drivers"]["vendor"] is None
    assert about["drivers"]["model_adapter"].startswith("generic (trialbed ")
    assert KEY not in json.dumps(about)


@pytest.mark.parametrize(("lag", "saturated"), [(None, None), (5.0, False), (80.0, True)])
def test_a_client_that_was_late_itself_is_marked(lag: float | None, saturated: bool | None, tmp_path: Path) -> None:
    assert summarised(tmp_path, own_row(1, loop_lag_ms=lag)).client_saturated is saturated


def test_whatever_a_vendor_says_can_be_written(tmp_path: Path) -> None:
    found = summarised(tmp_path, own_row(1, "other", finish_reason="odd \ud800 reason"))
    write_summary(tmp_path / "summary.json", found)
    read = json.loads((tmp_path / "summary.json").read_text())
    assert read["finish_others_detail"] == {"odd \ud800 reason": 1}
