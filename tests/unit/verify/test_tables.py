from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Any

import pytest
from support.vendor_rows import own_row
from support.verification import summarised

from trialbed.views import Table, csv_text, markdown
from trialbed_verify.tables import verification_record, verification_tables

CUT = {"kind": "cut_stream", "message": "ended early"}
CALL = {"name": "look_up", "valid": False, "reasons": ["wrong_type"], "detail": "7 is not of type 'string'"}


@pytest.fixture
def summaries(tmp_path: Path) -> list[dict[str, Any]]:
    """A baseline, and a vendor that fails now and then, was not sent everything, and was measured late."""
    good = summarised(
        tmp_path, *(own_row(number, "tool_calls") for number in range(1, 5)), is_baseline=True, vendor="good"
    )
    bad = summarised(
        tmp_path,
        own_row(1, "tool_calls", valid=False, calls=[CALL], loop_lag_ms=90.0, notes=["tokens_after_finish"]),
        own_row(2, "protocol_error", problem=CUT),
        own_row(3, "protocol_error", problem=CUT),
        own_row(4, "protocol_error", problem=CUT | {"message": "reset | by peer"}),
        own_row(4, "other", trial=1, tps=None, ttft_ms=None),
        not_sent=3,
        vendor="bad",
    )
    return [good, bad]


def cells(table: Table) -> dict[str, tuple[str, ...]]:
    return {row.label: row.cells for row in table.rows}


def test_vendors_are_columns_and_what_is_unknown_is_a_dash(summaries: list[dict[str, Any]]) -> None:
    figures, sources = verification_tables(summaries)
    assert figures.title == "m: 4 requests of set.jsonl"
    assert list(figures.columns) == ["", "good*", "bad"]
    found = cells(figures)
    assert found["requests ended"] == ("4", "5")
    assert found["failed: cut_stream"] == ("", "3")
    assert found["wrong calls: wrong_type"] == ("", "1")
    assert found["findings: tokens_after_finish"] == ("", "1")
    assert found["not sent"] == ("", "3")
    assert found["own lag, ms"] == ("-", "90/90/90")
    assert found["tokens/s"] == ("50/50/50", "50/50/50")
    assert found["success rate"][0] == "1.00 [0.51, 1.00] n=4"
    assert "base url http://127.0.0.1:1/v1; model id m; " in sources.notes[0]
    assert "provider" not in sources.notes[0]


def test_what_vendors_do_not_have_in_common_has_a_row(summaries: list[dict[str, Any]]) -> None:
    summaries[0]["provenance"]["trials"] = 3
    assert cells(verification_tables(summaries)[1])["trials"] == ("3", "2")
    assert "trials 3" in verification_tables(summaries[:1])[1].notes[0]


def test_notes_name_what_is_behind_each_count(summaries: list[dict[str, Any]]) -> None:
    notes = verification_tables(summaries)[0].notes
    assert "bad: cut_stream, trial 2/0, 3/0: ended early" in notes
    assert "bad: cut_stream, trial 4/0: reset | by peer" in notes
    assert "bad: wrong_type, trial 1/0: look_up: 7 is not of type 'string'" in notes
    assert any("bad: this machine was delayed" in note for note in notes)
    assert "* good is the baseline." in notes
    assert not any(note.startswith("good:") for note in notes)


def test_markdown_holds_the_tables_and_the_examples(summaries: list[dict[str, Any]]) -> None:
    text = markdown(verification_tables(summaries))
    assert "|  | good\\* | bad |" in text
    assert "| failed: cut\\_stream |  | 3 |" in text
    assert "bad: cut\\_stream, trial 4/0: reset \\| by peer" in text


def test_models_have_tables_of_their_own(summaries: list[dict[str, Any]]) -> None:
    other = summaries[0] | {"model": "m-2"}
    titles = [table.title.partition(":")[0] for table in verification_tables([*summaries, other])]
    assert titles == ["m", "Where the answers come from", "m-2", "Where the answers come from"]


def test_records_are_one_per_vendor_and_leave_empty_what_is_unknown(summaries: list[dict[str, Any]]) -> None:
    good, bad = csv.DictReader(io.StringIO(csv_text([verification_record(one) for one in summaries])))
    assert (good["vendor"], good["is_baseline"], good["tool_calls"]) == ("good", "True", "4")
    assert (bad["problems"], bad["failed"], bad["not_sent"]) == ("3 cut_stream", "3", "3")
    assert (bad["tps_mean"], bad["tps_n"]) == ("50.0", "1")
    assert (good["loop_lag_ms_p95"], good["client_saturated"]) == ("", "")
    assert good["base_url"] == "http://127.0.0.1:1/v1"


def test_vendors_without_answers_of_a_suite_have_no_score_of_it(summaries: list[dict[str, Any]]) -> None:
    suites = {"triggering": {"score": {"value": 0.5, "low": 0.1, "high": 0.9, "n": 2}}}
    good, bad = csv.DictReader(
        io.StringIO(csv_text([verification_record(one) for one in (summaries[0], summaries[1] | {"suites": suites})]))
    )
    assert (good["suite_triggering"], bad["suite_triggering"], bad["suite_triggering_n"]) == ("", "0.5", "2")


def test_what_no_vendor_has_is_no_row_of_a_table(tmp_path: Path) -> None:
    (figures, _), (record,) = verification_tables([summarised(tmp_path)]), [verification_record(summarised(tmp_path))]
    assert cells(figures) == {"requests ended": ("0",), "tool_calls": ("0",), "stop": ("0",), "other": ("0",)}
    assert record["success_rate"] is None


def test_settings_that_were_asked_for_are_told(tmp_path: Path) -> None:
    summary = summarised(tmp_path)
    about = summary["provenance"]
    about["configuration"] |= {"temperature": 0.0, "extra_body": {"top_p": 0.9}}
    about["bad_lines"] = [{"line": 9, "reason": "not JSON"}]
    (note,) = verification_tables([summary])[1].notes
    assert 'temperature 0.0; extra body {"top_p": 0.9}; ' in note
    assert "; skipped lines 9 (not JSON)" in note


def test_keys_in_settings_are_redacted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ACME_API_KEY", "sk-nobody-may-see-this")
    summary = summarised(tmp_path)
    summary["provenance"]["configuration"]["extra_body"] = {"auth": "sk-nobody-may-see-this"}
    (note,) = verification_tables([summary])[1].notes
    assert 'extra body {"auth": "[redacted]"}; ' in note


def test_failures_and_requests_that_were_not_sent_are_alarming(summaries: list[dict[str, Any]]) -> None:
    figures, _ = verification_tables(summaries)
    assert [row.label for row in figures.rows if row.alarming] == ["failed: cut_stream", "not sent"]


def test_a_price_is_that_of_all_answers(summaries: list[dict[str, Any]]) -> None:
    priced = summaries[0] | {"cost": {"input": 0.01, "output": 0.03, "total": 0.04}}
    assert cells(verification_tables([priced, summaries[1]])[0])["cost"] == ("0.04", "-")
    assert "cost" not in cells(verification_tables(summaries)[0])
