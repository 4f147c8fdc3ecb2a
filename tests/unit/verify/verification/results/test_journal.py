from __future__ import annotations

import json
import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.examples import examples

from trialbed.errors import DataError, TrialbedError, UsageError
from trialbed_verify.verification.results import Journal
from trialbed_verify.verification.results._journal import TORN

KEY = "sk-secret-0123456789"


def row(line: int, trial: int = 0, **fields: Any) -> dict[str, Any]:
    return {"data_index": line, "trial": trial, "status": "success", **fields}


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


@contextmanager
def little_room(size: int) -> Iterator[None]:
    """No file of this process may grow beyond so many bytes: writes fail as they do on a full disk."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


async def test_a_row_is_in_the_file_at_once_and_in_order_at_the_end(tmp_path: Path) -> None:
    path = tmp_path / "a" / "results.jsonl"
    async with Journal(path) as journal:
        for key in ((3, 0), (1, 1), (1, 0)):
            journal.append(key, row(*key))
            assert lines(path)[-1] == row(*key)
        assert journal.count == 3
        assert (journal.has((1, 1)), journal.has((2, 0))) == (True, False)
        await journal.compact()
    assert [(found["data_index"], found["trial"]) for found in lines(path)] == [(1, 0), (1, 1), (3, 0)]


async def test_the_last_row_of_a_key_counts(tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    async with Journal(path) as journal:
        journal.append((1, 0), row(1, n=1))
        journal.append((1, 0), row(1, n=2))
        assert [found["n"] for _, found in journal.latest_rows()] == [2]
        await journal.compact()
    assert lines(path) == [row(1, n=2)]
    async with Journal(path) as again:
        assert list(again.rows()) == [((1, 0), row(1, n=2))]


async def test_a_secret_is_in_no_row_and_in_nothing_made_of_it(tmp_path: Path) -> None:
    async with Journal(tmp_path / "results.jsonl", secrets=(KEY, "short")) as journal:
        kept = journal.append((1, 0), row(1, said=f"your key {KEY} is short"))
    assert kept["said"] == "your key [redacted] is short"
    assert lines(tmp_path / "results.jsonl") == [kept]


@pytest.mark.parametrize("odd", [2**70, "\ud800", {"a": ["\udfff"]}])
async def test_whatever_a_vendor_sends_can_be_kept(odd: Any, tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    async with Journal(path) as journal:
        journal.append((1, 0), row(1, odd=odd))
        await journal.compact()
    async with Journal(path) as again:
        assert [found["odd"] for _, found in again.rows()] == [odd]


async def test_a_full_disk_costs_no_row_that_was_kept(tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    async with Journal(path) as journal:
        journal.append((1, 0), row(1))
        whole = path.read_bytes()
        message = r"results\.jsonl: cannot be written: .*kept.*--incremental"
        with little_room(len(whole) + 20), pytest.raises(TrialbedError, match=message):
            journal.append((2, 0), row(2, much="x" * 500))
        assert path.read_bytes() == whole
        assert journal.count == 1
        journal.append((2, 0), row(2))
        with little_room(10), pytest.raises(TrialbedError, match="cannot be written"):
            await journal.compact()
        assert len(lines(path)) == 2
    assert {file.name for file in tmp_path.glob("*")} == {"results.jsonl", ".results.jsonl.lock"}  # noqa: ASYNC240


async def test_one_writes_at_a_time(tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    async with Journal(path):
        with pytest.raises(UsageError, match="another process is writing"):
            async with Journal(path):
                pass
    async with Journal(path) as journal:
        assert journal.count == 0


async def test_a_place_that_cannot_be_written_is_named_and_can_be_tried_again(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for path in (tmp_path / "file" / "results.jsonl", tmp_path):
        with pytest.raises(UsageError, match=r"cannot be written: .*--output"):
            async with Journal(path):
                pass


@pytest.mark.parametrize(
    "line", ["oops", "[1]", "7", '{"status": "success"}', '{"data_index": "1", "status": "x"}', '{"data_index": 1}']
)
async def test_a_line_that_is_no_row_is_named(line: str, tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    path.write_text(f"{json.dumps(row(1))}\n\n{line}\n")
    async with Journal(path) as journal:
        with pytest.raises(DataError, match=r"results\.jsonl, line 3: not a result row"):
            list(journal.rows())


async def test_rows_can_be_discarded(tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    path.write_text(json.dumps(row(1)) + "\n")
    async with Journal(path) as journal:
        journal.discard()
        await journal.compact()
    assert path.read_bytes() == b""


async def test_rows_that_are_discarded_stay_until_there_is_a_new_one(tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    path.write_text(json.dumps(row(1)) + "\n")
    async with Journal(path) as journal:
        list(journal.rows())
        journal.discard()
    assert lines(path) == [row(1)]
    async with Journal(path) as journal:
        journal.discard()
        journal.append((2, 0), row(2))
        journal.append((3, 0), row(3))
        assert lines(path) == [row(2), row(3)]


ROWS = st.lists(
    st.tuples(st.integers(1, 9), st.integers(0, 2), st.text(max_size=20) | st.just("\ud800") | st.just("é\n")),
    min_size=1,
    max_size=8,
)


@given(made=ROWS, data=st.data())
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=examples(0.6))
async def test_cut_at_any_byte_no_whole_row_is_lost(made: Any, data: st.DataObject, tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    path.unlink(missing_ok=True)
    path.with_name(path.name + TORN).unlink(missing_ok=True)
    async with Journal(path) as journal:
        for line, trial, text in made:
            journal.append((line, trial), row(line, trial, text=text))
    whole = path.read_bytes()
    cut = data.draw(st.integers(0, len(whole)))
    path.write_bytes(whole[:cut])
    ends = [place for place, byte in enumerate(whole) if byte == ord("\n")]
    # A line whose end alone is missing is whole.
    kept = sum(end <= cut for end in ends)
    async with Journal(path) as again:
        found = [(key, text["text"]) for key, text in again.rows()]
        assert found == [((line, trial), text) for line, trial, text in made[:kept]]
        again.append((99, 0), row(99, text="new"))
        await again.compact()
    last = {(line, trial): text for line, trial, text in made[:kept]} | {(99, 0): "new"}
    async with Journal(path) as settled:
        assert {key: found["text"] for key, found in settled.rows()} == last
