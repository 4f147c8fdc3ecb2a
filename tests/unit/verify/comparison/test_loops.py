"""Runs of one vendor after another are its trials, whether they are in one file or in several."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.vendor_rows import k2_row, own_row, write_rows

from trialbed.errors import UsageError
from trialbed_verify.compare import compare
from trialbed_verify.comparer import vendor_files
from trialbed_verify.rows import FileRows
from trialbed_verify.table import as_trials, read_one

CASES = 40


def loops(path: Path, count: int) -> Path:
    ends = ("tool_calls", "stop")
    at = "2026-01-01T00:0{}:00"
    return write_rows(
        path,
        [
            k2_row(number, ends[number % 2], valid=True if number % 2 == 0 else None, last_run_at=at.format(one))
            for one in range(count)
            for number in range(1, CASES + 1)
        ],
    )


def test_runs_in_one_file_are_trials(tmp_path: Path) -> None:
    found = read_one(FileRows(loops(tmp_path / "all.jsonl", 5)))
    cases = found.cases(by_name=found.names_cases)
    assert {len(trials) for trials in cases.values()} == {5}
    assert "160 rows repeat a case that was answered before" in found.notes[0]


def test_a_comparison_counts_them(tmp_path: Path) -> None:
    (found,) = compare(
        read_one(FileRows(loops(tmp_path / "a.jsonl", 3))), [read_one(FileRows(loops(tmp_path / "b.jsonl", 2)))]
    )
    assert found["panel"].trials == (3, 2)
    assert found["panel"].cases == CASES
    assert any("a.jsonl: 80 rows repeat" in note for note in found["notes"])


def test_an_answer_after_a_failure_takes_its_place(tmp_path: Path) -> None:
    rows = [k2_row(1, "failed"), k2_row(1, "stop"), own_row(2, "protocol_error"), own_row(2, "stop")]
    for own in (rows[:2], rows[2:]):
        found = read_one(FileRows(write_rows(tmp_path / "rows.jsonl", own)))
        (row,) = found.rows
        assert row.success
        assert found.notes == ()


def test_failures_of_runs_in_one_file_count(tmp_path: Path) -> None:
    rows = [*(k2_row(number, "failed" if number == 1 else "stop") for number in (1, 2)), *(k2_row(n) for n in (1, 2))]
    found = read_one(FileRows(write_rows(tmp_path / "rows.jsonl", rows)))
    assert [(row.data_index, row.trial, row.success) for row in found.rows] == [
        (1, 0, False),
        (1, 1, True),
        (2, 0, True),
        (2, 1, True),
    ]


def test_several_files_of_a_vendor_are_its_trials(tmp_path: Path) -> None:
    files = [loops(tmp_path / f"{name}.jsonl", 1) for name in ("one", "two")]
    found = as_trials([read_one(FileRows(path)) for path in files], "acme")
    assert found.vendor == "acme"
    assert {row.trial for row in found.rows} == {0, 1}
    assert vendor_files(f"acme={files[0]},{files[1]}") == ("acme", [str(path) for path in files])
    assert vendor_files(f"acme={tmp_path}") == ("acme", [str(path) for path in files])
    assert vendor_files(str(files[0])) == (None, [str(files[0])])


def test_a_folder_without_results_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="the folder has no results files"):
        vendor_files(str(tmp_path))
