"""Every case that goes in is completed or left, or there is an error; queues are served in turn."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from support.vendor_rows import own_row
from support.verification import target

from trialbed.errors import DriverBroken, TrialbedError
from trialbed.wire.circuit import CircuitOpen
from trialbed_verify.verification import Case
from trialbed_verify.verification._queue import KeptCase, Key, TargetQueue, round_robin
from trialbed_verify.verification._retries import VendorDown
from trialbed_verify.verification.row import Row

Answer = Callable[[int, int], Row]


class Sender:
    """Answers from memory."""

    def __init__(self, answer: Answer) -> None:
        self.answer = answer

    async def send(self, case: Case, trial: int, keep: Callable[[Row], None]) -> None:
        keep(self.answer(case.index, trial))


def work(
    folder: Path, answer: Answer, count: int = 10, stored: Sequence[Key] = ()
) -> tuple[TargetQueue, dict[Key, Row]]:
    """A queue, and the rows that it gives away."""
    todo, kept = deque((line, 0) for line in range(1, count + 1)), dict[Key, Row]()

    async def room() -> None:
        pass

    before = dict.fromkeys(stored, KeptCase(0, is_answered=True))
    sender: Any = Sender(answer)
    return TargetQueue("h", target("http://h/v1", folder), sender, todo, before, kept.__setitem__, room), kept


async def send(one: TargetQueue, size: int = 10) -> None:
    cases: Any = SimpleNamespace(at_line=lambda line: Case(line, "", {}))
    await one.send_block(cases, 3, size)


def answer_row(line: int, trial: int) -> Row:
    return own_row(line, trial=trial)


async def test_every_case_ends_once(tmp_path: Path) -> None:
    one, kept = work(tmp_path, answer_row)
    await send(one, 4)
    assert one.left == 6
    await send(one)
    one.check_counts(10)
    assert (one.left, len(one.completed)) == (0, 10)
    assert [row["data_index"] for row in kept.values()] == list(range(1, 11))


@pytest.mark.parametrize("error", [VendorDown(), DriverBroken("acme: no")])
async def test_a_vendor_that_is_given_up_leaves_its_cases(error: Exception, tmp_path: Path) -> None:
    def answer(line: int, trial: int) -> Row:
        if line > 4:
            raise error
        return answer_row(line, trial)

    one, kept = work(tmp_path, answer)
    await send(one)
    one.check_counts(4)
    assert (one.down, one.left, len(kept)) == (True, 6, 4)
    assert one.failure == ("acme: no" if isinstance(error, DriverBroken) else None)


async def test_a_vendor_that_is_left_alone_for_now_goes_on_where_it_was(tmp_path: Path) -> None:
    pauses, sent = [True], list[int]()

    def answer(line: int, trial: int) -> Row:
        if line > 4 and pauses:
            raise CircuitOpen
        sent.append(line)
        return answer_row(line, trial)

    one, kept = work(tmp_path, answer)
    await send(one, 8)
    assert (one.down, one.left, len(kept)) == (False, 6, 4)
    pauses.clear()
    await send(one, 3)
    assert sent[4:] == [5, 6, 7]
    await send(one)
    one.check_counts(10)


async def test_a_case_that_is_lost_on_the_way_is_a_loud_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def forgetful(self: TargetQueue, block: Any, *rest: Any) -> None:
        if 5 in {line for line, _ in block}:
            block.remove((5, 0))
        await work_off(self, block, *rest)

    work_off = TargetQueue._work
    monkeypatch.setattr(TargetQueue, "_work", forgetful)
    one, _ = work(tmp_path, answer_row)
    await send(one)
    with pytest.raises(TrialbedError, match=r"cases were lost.*9 were completed and 0 are left"):
        one.check_counts(9)


async def test_a_case_that_the_store_lacks_is_a_loud_error(tmp_path: Path) -> None:
    one, _ = work(tmp_path, answer_row, stored=[(1, 0), (11, 0), (12, 0)])
    await send(one)
    with pytest.raises(TrialbedError, match="2 were stored before, and 11 are now"):
        one.check_counts(11)


class Queue:
    """A queue of so many blocks; after some of them it waits until it is woken."""

    def __init__(self, name: str, left: int, *rests: int) -> None:
        self.name = name
        self.left = left
        self.down = False
        self.rests = rests
        self.turns = 0
        self.woken = asyncio.Event()

    async def wait_for_probe(self) -> None:
        if self.turns in self.rests:
            self.woken.clear()
            await self.woken.wait()


class Round:
    """Records which queue was served, block by block."""

    def __init__(self) -> None:
        self.turns = ""
        self.inside = self.most = 0

    async def serve(self, queue: Queue) -> None:
        self.inside += 1
        self.most = max(self.most, self.inside)
        await asyncio.sleep(0)
        self.turns += queue.name
        queue.turns += 1
        queue.left -= 1
        self.inside -= 1

    async def play(self, queues: Sequence[Queue], slots: int) -> None:
        await round_robin(queues, slots, self.serve)  # type: ignore[arg-type]


async def let_tasks_run() -> None:
    """Let every task run until it waits to be woken."""
    for _ in range(100):
        await asyncio.sleep(0)


async def test_queues_are_served_in_turn_until_all_are_empty() -> None:
    one = Round()
    await one.play([Queue("a", 3), Queue("b", 1), Queue("c", 2)], 1)
    assert (one.turns, one.most) == ("abcaca", 1)


async def test_no_more_queues_are_served_at_a_time_than_there_are_slots() -> None:
    one = Round()
    await one.play([Queue(name, 5) for name in "abcd"], 2)
    assert one.most == 2
    assert {name: one.turns.count(name) for name in "abcd"} == dict.fromkeys("abcd", 5)


async def test_a_queue_that_is_down_is_not_served_again() -> None:
    one, failing = Round(), Queue("a", 9)

    async def serve(queue: Queue) -> None:
        await one.serve(queue)
        queue.down = queue is failing

    await round_robin([failing, Queue("b", 2)], 1, serve)  # type: ignore[list-item, arg-type]
    assert one.turns == "abb"


async def test_a_waiting_queue_does_not_hold_up_the_others() -> None:
    one, resting = Round(), Queue("a", 3, 1)
    playing = asyncio.create_task(one.play([resting, Queue("b", 2), Queue("c", 2)], 1))
    await let_tasks_run()
    assert one.turns == "abcbc"
    resting.woken.set()
    await playing
    assert one.turns == "abcbcaa"


async def test_a_queue_that_has_waited_joins_the_end_of_the_line() -> None:
    one, resting = Round(), Queue("a", 3, 1)

    async def serve(queue: Queue) -> None:
        await one.serve(queue)
        if one.turns == "abcb":
            resting.woken.set()

    await round_robin([resting, Queue("b", 9), Queue("c", 9)], 1, serve)  # type: ignore[list-item, arg-type]
    assert one.turns.startswith("abcbcbacba")
