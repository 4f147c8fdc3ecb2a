"""Snapshots of calls and answers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support.cases import for_each
from support.scoring import NOON, api_call, model_call

from trialbed.errors import DataError, UsageError
from trialbed.records import WireLog
from trialbed_testing import Snapshot
from trialbed_testing._snapshots import explain


def log(*calls: Any, answers: tuple[float, ...] = ()) -> WireLog:
    """A log of calls, with answers of the model that ended at these times."""
    asked = tuple(model_call().model_copy(update={"started": time, "duration": 0.0}) for time in answers)
    timed = tuple(call.model_copy(update={"started": time}) for time, call in calls)
    return WireLog(trial="t", opened_at=NOON, api_calls=timed, model_calls=asked)


def snapshot(folder: Path, wire: WireLog, *, update: bool = False) -> Snapshot:
    return Snapshot(lambda number: folder / f"one-{number}.txt", update=update, log_of=lambda _: wire)


LOG = log(
    *((2.0, api_call("find", {"id": 8})), (2.1, api_call("find", {"id": 7})), (4.0, api_call("pay", error="no"))),
    answers=(1.0, 3.0),
)
SWAPPED = log(
    *((2.0, api_call("find", {"id": 7})), (2.1, api_call("find", {"id": 8})), (4.0, api_call("pay", error="no"))),
    answers=(1.0, 3.0),
)
LATER = log(
    *((2.0, api_call("find", {"id": 7})), (4.0, api_call("find", {"id": 8})), (4.1, api_call("pay", error="no"))),
    answers=(1.0, 3.0),
)


@for_each(
    ("other", "equal", "shown"), [(SWAPPED, True, ""), (LATER, False, "-  find(id=8)"), (log(), False, "+no calls")]
)
def test_calls_are_compared_by_what_the_model_asked_for_at_once(
    tmp_path: Path, other: WireLog, equal: bool, shown: str
) -> None:
    kept = snapshot(tmp_path, LOG, update=True)
    assert kept == LOG.api_calls
    assert (tmp_path / "one-1.txt").read_text() == "- find(id=7)\n  find(id=8)\n- pay() -> refused\n"
    again = snapshot(tmp_path, other)
    assert (other.api_calls == again) is equal
    lines = explain("==", other.api_calls, again)
    assert lines is not None
    assert shown in "\n".join(lines)
    assert equal or "--trialbed-update" in lines[1]
    tmp_path.joinpath("one-1.txt").unlink()


def test_each_comparison_of_a_test_has_a_snapshot_of_its_own(tmp_path: Path) -> None:
    kept = snapshot(tmp_path, LOG, update=True)
    assert kept == "first"
    assert kept == "second\nline"
    again = snapshot(tmp_path, LOG)
    assert again == "first"
    assert again != "second"
    assert "-line" in again.difference
    assert again != "third"
    assert "there is no such snapshot" in again.difference[0]
    with pytest.raises(UsageError, match="a snapshot holds calls or text, not 7"):
        assert again == 7


@for_each("text", ["a\r\nb", "half of a pair: \ud83d", "\r", "a\r\r\nb"])
def test_any_text_is_equal_to_its_snapshot(tmp_path: Path, text: str) -> None:
    assert snapshot(tmp_path, LOG, update=True) == text
    assert snapshot(tmp_path, LOG) == text
    tmp_path.joinpath("one-1.txt").unlink()


def test_a_text_that_could_not_be_read_again_is_not_written(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="is larger than 1,000,000 bytes; compare a part of the text"):
        assert snapshot(tmp_path, LOG, update=True) == "x" * 1_000_000
    assert not list(tmp_path.iterdir())
