from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from support.vendor_rows import own_row
from support.verification import target, written_set

from trialbed.errors import UsageError
from trialbed_verify.verification import TestSet
from trialbed_verify.verification.results import Journal, Key, existing_answers, tally_rows


def rows(folder: Path, cases: TestSet, *ends: str, **changes: Any) -> None:
    config = target("http://h/v1", folder).digest()
    found = [
        own_row(cases.index(number), end, case=cases.identity(number), config=config) | changes
        for number, end in enumerate(ends)
    ]
    (folder / "results.jsonl").write_text("".join(json.dumps(row) + "\n" for row in found))


async def kept(folder: Path, cases: TestSet) -> dict[Key, bool]:
    async with Journal(folder / "results.jsonl") as journal:
        return existing_answers(journal, target("http://h/v1", folder), cases)


async def test_answers_count_and_failures_do_not(tmp_path: Path) -> None:
    cases = TestSet(written_set(tmp_path / "set.jsonl", 3))
    rows(tmp_path, cases, "stop", "timeout", "tool_calls")
    assert await kept(tmp_path, cases) == {(1, 0): True, (2, 0): False, (3, 0): True}


@pytest.mark.parametrize(
    ("changes", "message"),
    [({"config": "other"}, "another configuration"), ({"case": "other"}, "another request")],
)
async def test_what_was_made_for_something_else_is_refused(changes: Any, message: str, tmp_path: Path) -> None:
    cases = TestSet(written_set(tmp_path / "set.jsonl", 3))
    rows(tmp_path, cases, "stop", **changes)
    with pytest.raises(UsageError, match=rf"row of line 1 belongs to {message}.*--output.*--fresh"):
        await kept(tmp_path, cases)


async def test_a_row_beyond_the_test_set_is_refused(tmp_path: Path) -> None:
    longer = TestSet(written_set(tmp_path / "longer.jsonl", 4))
    rows(tmp_path, longer, "stop", "stop", "stop", "stop")
    with pytest.raises(UsageError, match="row of line 4 belongs to another request"):
        await kept(tmp_path, TestSet(written_set(tmp_path / "set.jsonl", 3)))


async def test_the_tally_is_of_the_last_rows_of_the_keys(tmp_path: Path) -> None:
    cases = TestSet(written_set(tmp_path / "set.jsonl", 3))
    rows(tmp_path, cases, "stop", "timeout", "tool_calls")
    async with Journal(tmp_path / "results.jsonl") as journal:
        list(journal.rows())
        journal.append((1, 0), own_row(1, "other"))
        assert tally_rows(journal, {(1, 0), (2, 0)}).own_fields()["outcomes"] == {"other": 1, "timeout": 1}
