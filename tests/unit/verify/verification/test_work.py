"""What goes in comes out: every case has ended, or is left, or there is a loud error."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.vendor_rows import own_row
from support.verification import rows, target

from trialbed.errors import DriverBroken, TrialbedError
from trialbed_verify.verification import Case
from trialbed_verify.verification._retries import VendorDown, VendorPaused
from trialbed_verify.verification._work import VendorWork
from trialbed_verify.verification.results._journal import Journal
from trialbed_verify.verification.results._tally import Tally

Answer = Callable[[int, int], dict[str, Any]]


class Sender:
    """Answers from memory."""

    def __init__(self, answer: Answer) -> None:
        self.answer = answer

    async def send(self, case: Case, trial: int, keep: Callable[[dict[str, Any]], None]) -> None:
        keep(self.answer(case.index, trial))


def work(journal: Journal, answer: Answer, count: int = 10) -> VendorWork:
    todo = [(line, 0) for line in range(1, count + 1)]
    return VendorWork(target("http://h/v1", journal.path.parent), journal, Sender(answer), todo, Tally())  # type: ignore[arg-type]


async def send(one: VendorWork, size: int = 10) -> None:
    await one.block(lambda line: Case(line, "", {}), 3, size, lambda _target, _row: None)


def answered(line: int, trial: int) -> dict[str, Any]:
    return own_row(line, trial=trial)


async def test_every_case_ends_once(tmp_path: Path) -> None:
    async with Journal(tmp_path / "results.jsonl") as journal:
        one = work(journal, answered)
        await send(one, 4)
        assert one.left == 6
        await send(one)
        await one.finish()
    assert (one.left, one.tally.total) == (0, 10)
    assert [row["data_index"] for row in rows(tmp_path / "results.jsonl")] == list(range(1, 11))


@pytest.mark.parametrize("error", [VendorDown(), DriverBroken("acme: no")])
async def test_a_vendor_that_is_given_up_leaves_its_cases(error: Exception, tmp_path: Path) -> None:
    def answer(line: int, trial: int) -> dict[str, Any]:
        if line > 4:
            raise error
        return answered(line, trial)

    async with Journal(tmp_path / "results.jsonl") as journal:
        one = work(journal, answer)
        await send(one)
        await one.finish()
    assert (one.down, one.left, one.tally.total) == (True, 6, 4)
    assert one.failure == ("acme: no" if isinstance(error, DriverBroken) else None)


async def test_a_vendor_that_is_left_alone_for_now_goes_on_where_it_was(tmp_path: Path) -> None:
    pauses, sent = [True], list[int]()

    def answer(line: int, trial: int) -> dict[str, Any]:
        if line > 4 and pauses:
            raise VendorPaused
        sent.append(line)
        return answered(line, trial)

    async with Journal(tmp_path / "results.jsonl") as journal:
        one = work(journal, answer)
        await send(one, 8)
        assert (one.down, one.left, one.tally.total) == (False, 6, 4)
        pauses.clear()
        await send(one, 3)
        assert sent[4:] == [5, 6, 7]
        await send(one)
        await one.finish()
    assert (one.left, one.tally.total) == (0, 10)


async def test_cases_that_were_not_sent_again_keep_their_old_row(tmp_path: Path) -> None:
    def down(line: int, trial: int) -> dict[str, Any]:
        raise VendorDown

    async with Journal(tmp_path / "results.jsonl") as journal:
        journal.append((2, 0), own_row(2, "timeout"))
        one = work(journal, down)
        await send(one)
        await one.finish()
    assert (one.left, one.tally.total) == (10, 1)
    assert one.tally.own_fields()["outcomes"] == {"timeout": 1}


async def test_a_case_that_is_lost_on_the_way_is_a_loud_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def forgetful(self: VendorWork, block: Any, *rest: Any) -> None:
        if 5 in {line for line, _ in block}:
            block.remove((5, 0))
        await lane(self, block, *rest)

    lane = VendorWork._lane
    monkeypatch.setattr(VendorWork, "_lane", forgetful)
    async with Journal(tmp_path / "results.jsonl") as journal:
        one = work(journal, answered)
        await send(one)
        with pytest.raises(TrialbedError, match=r"cases were lost.*of 10 to send 9 ended and 0 are left"):
            await one.finish()


async def test_a_row_that_is_lost_in_the_file_is_a_loud_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    append = Journal.append

    def forgetful(self: Journal, key: Any, row: Any) -> Any:
        return row if key == (5, 0) else append(self, key, row)

    monkeypatch.setattr(Journal, "append", forgetful)
    async with Journal(tmp_path / "results.jsonl") as journal:
        one = work(journal, answered)
        await send(one)
        with pytest.raises(TrialbedError, match=r"the file has rows of 9, the summary counts 10"):
            await one.finish()
