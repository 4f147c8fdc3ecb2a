from __future__ import annotations

import random
from pathlib import Path

import pytest
from support.vendor_rows import Row, compared_files, k2_row, own_row, request, write_rows

from trialbed.errors import DataError, UsageError
from trialbed_verify.rows import FileRows
from trialbed_verify.table import Pairing, pair, read_one


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


def test_repeated_requests_are_paired_in_their_order(tmp_path: Path) -> None:
    baseline = [k2_row(n, request=request(7)) for n in (1, 2, 3)] + [k2_row(4)]
    vendor = [k2_row(n, request=request(7)) for n in (11, 12, 13)] + [k2_row(14, request=request(4))]
    assert numbers(paired(tmp_path, baseline, vendor)) == [(1, 11), (2, 12), (3, 13), (4, 14)]


def test_trials_are_paired_by_their_number(tmp_path: Path) -> None:
    baseline = [own_row(1, trial=trial) for trial in (0, 1, 2)]
    (pair,) = paired(tmp_path, baseline, [own_row(1, trial=1)]).pairs
    assert [(ours.trial, theirs.trial) for ours, theirs in pair.rows()] == [(1, 1)]
    assert len(pair.baseline) == 3


def test_ours_and_another_tools_rows_are_paired_by_request(tmp_path: Path) -> None:
    found = paired(tmp_path, [own_row(1), own_row(2)], [k2_row(2), k2_row(1)])
    assert not found.by_name
    assert numbers(found) == [(1, 1), (2, 2)]


def test_the_last_row_of_a_key_counts(tmp_path: Path) -> None:
    vendor = [own_row(1, "timeout"), own_row(2), own_row(1, "tool_calls")]
    found = paired(tmp_path, [own_row(1), own_row(2)], vendor)
    assert [theirs.outcome for one in found.pairs for _, theirs in one.rows()] == ["tool_calls", "stop"]


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


def test_a_case_that_was_prepared_otherwise_is_refused(tmp_path: Path) -> None:
    vendor = [own_row(1), own_row(2, request=request(99))]
    with pytest.raises(UsageError, match=r"1 case with different requests \(messages\): .*base\.jsonl, line 2"):
        paired(tmp_path, [own_row(1), own_row(2)], vendor)


def test_nothing_in_common_is_refused_even_when_forced(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no request in common"):
        paired(tmp_path, [k2_row(1)], [k2_row(2)], force=True)


def test_a_file_of_two_configurations_is_refused(tmp_path: Path) -> None:
    rows = [own_row(1), own_row(1, config="another", vendor="other")]
    with pytest.raises(DataError, match=r"rows of 2 configurations \(acme / m, other / m\)"):
        read_one(FileRows(write_rows(tmp_path / "both.jsonl", rows)))


def test_a_file_without_rows_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="contains no result rows"):
        read_one(FileRows(write_rows(tmp_path / "empty.jsonl", [])))


def test_the_vendor_of_another_tools_file_is_the_files_name(tmp_path: Path) -> None:
    found = read_one(FileRows(write_rows(tmp_path / "kimi-k2_acme_results.jsonl", [k2_row(1)])))
    assert (found.vendor, found.model) == ("kimi-k2_acme", "m-id")


def test_the_document_says_what_was_paired(tmp_path: Path) -> None:
    files = [
        write_rows(tmp_path / f"{name}.jsonl", [own_row(1), *more]) for name, more in (("a", [own_row(2)]), ("b", []))
    ]
    assert compared_files(*files, force=True)["pairing"] == {
        "by": "case",
        "cases": 1,
        "only_baseline": 1,
        "only_vendor": 0,
        "asked_otherwise": 0,
        "settings": {},
    }
