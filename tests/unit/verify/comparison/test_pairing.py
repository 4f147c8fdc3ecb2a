"""Which rows of two files are compared, and which are trials."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from support.vendor_rows import Row, k2_row, own_row, request, write_rows

from trialbed.errors import DataError, UsageError
from trialbed_verify.compare import compare
from trialbed_verify.comparer import vendor_files
from trialbed_verify.rows import FileRows
from trialbed_verify.table import Pairing, as_trials, pair, read_one


def paired(folder: Path, baseline: list[Row], vendor: list[Row], *, force: bool = False) -> Pairing:
    files = [write_rows(folder / f"{name}.jsonl", rows) for name, rows in (("base", baseline), ("acme", vendor))]
    return pair(read_one(FileRows(files[0])), read_one(FileRows(files[1])), force=force)


def numbers(found: Pairing) -> list[tuple[int | None, int | None]]:
    """The test set's lines that were paired."""
    return [(ours.data_index, theirs.data_index) for one in found.pairs for ours, theirs in one.rows()]


def test_rows_are_paired_by_what_they_ask_never_by_their_number(tmp_path: Path) -> None:
    baseline = [k2_row(n) for n in range(1, 21)]
    # The vendor's rows kept the numbers of an older test set.
    vendor = [k2_row(n, data_index=n % 20 + 1) for n in range(1, 21)]
    random.Random(1).shuffle(vendor)
    assert numbers(paired(tmp_path, baseline, vendor)) == [(n, n % 20 + 1) for n in range(1, 21)]


def test_trials_are_paired_by_their_number(tmp_path: Path) -> None:
    baseline = [own_row(1, trial=trial) for trial in (0, 1, 2)]
    (pair,) = paired(tmp_path, baseline, [own_row(1, trial=1)]).pairs
    assert [(ours.trial, theirs.trial) for ours, theirs in pair.rows()] == [(1, 1)]
    assert len(pair.baseline) == 3


def test_files_of_different_requests_are_refused_with_their_lines(tmp_path: Path) -> None:
    baseline, vendor = [k2_row(n) for n in range(1, 11)], [k2_row(n) for n in range(4, 12)]
    with pytest.raises(UsageError) as caught:
        paired(tmp_path, baseline, vendor)
    said = str(caught.value)
    assert f"{tmp_path}/acme.jsonl lacks 3 rows that {tmp_path}/base.jsonl has: lines 1, 2, 3" in said
    assert f"{tmp_path}/base.jsonl lacks 1 row that {tmp_path}/acme.jsonl has: line 8" in said
    assert "use --force to compare the 7 common cases" in said
    forced = paired(tmp_path, baseline, vendor, force=True)
    assert numbers(forced) == [(n, n) for n in range(4, 11)]
    assert (len(forced.only_baseline), len(forced.only_vendor)) == (3, 1)


def test_a_temperature_that_the_vendor_is_left_to_choose_is_reported_and_refuses_nothing(tmp_path: Path) -> None:
    baseline = [k2_row(n, request=request(n, temperature=0.6)) for n in (1, 2)]
    vendor = [k2_row(n, request=request(n)) for n in (1, 2)]
    found = paired(tmp_path, baseline, vendor)
    assert found.settings == {"temperature is 0.6 in the baseline and absent in the vendor's": 2}
    with pytest.raises(UsageError, match="temperature is absent in the baseline"):
        paired(tmp_path, vendor, baseline)


def test_other_settings_are_refused_with_their_values(tmp_path: Path) -> None:
    baseline = [k2_row(n, request=request(n, temperature=0.6)) for n in (1, 2, 3)]
    vendor = [
        k2_row(1, request=request(1, temperature=0.6)),
        *(k2_row(n, request=request(n, top_p=0.9)) for n in (2, 3)),
    ]
    with pytest.raises(UsageError) as caught:
        paired(tmp_path, baseline, vendor)
    assert "the settings of 2 requests differ: temperature is 0.6 in the baseline and absent in the vendor's" in str(
        caught.value
    )
    assert "top_p is absent in the baseline and 0.9 in the vendor's" in str(caught.value)
    assert len(paired(tmp_path, baseline, vendor, force=True).pairs) == 3


def test_a_file_of_two_configurations_is_refused(tmp_path: Path) -> None:
    rows = [own_row(1), own_row(1, config="another", vendor="other")]
    with pytest.raises(DataError, match=r"rows of 2 configurations \(acme / m, other / m\)"):
        read_one(FileRows(write_rows(tmp_path / "both.jsonl", rows)))


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


def test_a_comparison_counts_them(tmp_path: Path) -> None:
    (found,) = compare(
        read_one(FileRows(loops(tmp_path / "a.jsonl", 3))), [read_one(FileRows(loops(tmp_path / "b.jsonl", 2)))]
    )
    assert found["panel"].trials == (3, 2)
    assert found["panel"].cases == CASES
    assert any("a.jsonl: 80 rows repeat" in note for note in found["notes"])


def test_several_files_of_a_vendor_are_its_trials(tmp_path: Path) -> None:
    files = [loops(tmp_path / f"{name}.jsonl", 1) for name in ("one", "two")]
    found = as_trials([read_one(FileRows(path)) for path in files], "acme")
    assert found.vendor == "acme"
    assert {row.trial for row in found.rows} == {0, 1}
    assert vendor_files(f"acme={files[0]},{files[1]}") == ("acme", [str(path) for path in files])
    assert vendor_files(f"acme={tmp_path}") == ("acme", [str(path) for path in files])
    assert vendor_files(str(files[0])) == (None, [str(files[0])])
