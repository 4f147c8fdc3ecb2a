from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Any

import pytest
from support.vendor_rows import own_row
from support.verification import summarised

from trialbed.views import Table, csv_text
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


def test_notes_name_what_is_behind_each_count(summaries: list[dict[str, Any]]) -> None:
    notes = verification_tables(summaries)[0].notes
    assert "bad: cut_stream, trial 2/0, 3/0: ended early" in notes
    assert "bad: cut_stream, trial 4/0: reset | by peer" in notes
    assert "bad: wrong_type, trial 1/0: look_up: 7 is not of type 'string'" in notes
    assert any("bad: this machine was delayed" in note for note in notes)
    assert "* good is the baseline." in notes
    assert not any(note.startswith("good:") for note in notes)


def test_records_are_one_per_vendor_and_leave_empty_what_is_unknown(summaries: list[dict[str, Any]]) -> None:
    good, bad = csv.DictReader(io.StringIO(csv_text([verification_record(one) for one in summaries])))
    assert (good["vendor"], good["is_baseline"], good["tool_calls"]) == ("good", "True", "4")
    assert (bad["problems"], bad["failed"], bad["not_sent"]) == ("3 cut_stream", "3", "3")
    assert (bad["tps_mean"], bad["tps_n"]) == ("50.0", "1")
    assert (good["loop_lag_ms_p95"], good["client_saturated"]) == ("", "")
    assert good["base_url"] == "http://127.0.0.1:1/v1"


def test_keys_in_settings_are_redacted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ACME_API_KEY", "sk-nobody-may-see-this")
    summary = summarised(tmp_path)
    summary["provenance"]["configuration"]["extra_body"] = {"auth": "sk-nobody-may-see-this"}
    (note,) = verification_tables([summary])[1].notes
    assert 'extra body {"auth": "[redacted]"}; ' in note
