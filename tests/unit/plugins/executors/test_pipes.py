"""Reading what a worker writes."""

from __future__ import annotations

import asyncio
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.cases import for_each

from trialbed.worker import Started, message_line
from trialbed_plugins.executors import _worker
from trialbed_plugins.executors._worker import Pipes, WorkerFault, crash

LINE = message_line(Started(nonce="n", trial="trial"))


@given(st.data(), st.integers(1, 4))
def test_messages_arrive_however_the_bytes_are_cut(data, count):
    stream = LINE * count
    cuts = sorted(data.draw(st.sets(st.integers(0, len(stream)))) | {0, len(stream)})

    async def arrived():
        pipes = Pipes("n")
        for start, stop in pairwise(cuts):
            pipes.pipe_data_received(1, stream[start:stop])
        return [await pipes.message() for _ in range(count)]

    assert asyncio.run(arrived()) == [Started(nonce="n", trial="trial")] * count


@pytest.mark.parametrize("noise", [b"hello\n", b"\n", b"{}\n", LINE.replace(b'"n"', b'"m"'), b"\xff\xfe\n"])
async def test_noise_is_a_fault_and_nothing_after_it_counts(noise):
    pipes = Pipes("n")
    pipes.pipe_data_received(1, noise + LINE)
    with pytest.raises(WorkerFault, match="not a message") as fault:
        await pipes.message()
    assert fault.value.kind == "protocol"
    assert not pipes.usable


async def test_a_long_line_is_a_fault_before_it_ends(monkeypatch):
    monkeypatch.setattr(_worker, "MAX_LINE", 1 << 20)
    pipes = Pipes("n")
    for _ in range(1025):
        pipes.pipe_data_received(1, b"x" * 1024)
    with pytest.raises(WorkerFault, match="more than 1 MiB"):
        await pipes.message()


async def test_only_the_end_of_standard_error_is_kept():
    pipes = Pipes("n")
    for number in range(20_000):
        pipes.pipe_data_received(2, b"line %d\n" % number)
    assert len(pipes.tail()) <= _worker.TAIL
    assert pipes.tail().endswith("line 19999")
    pipes.forget()
    assert pipes.tail() == ""


@for_each(
    ("code", "text"),
    [(3, "exit code 3"), (0, "exit code 0"), (-11, "SIGSEGV"), (-9, "SIGKILL; the system"), (-200, "200")],
)
def test_crashes_say_how(code, text):
    assert text in crash(code).message
    assert crash(code).kind == "crash"


class Broken:
    """Stands for a process whose input is closing already."""

    def get_pipe_transport(self, _):
        return self

    def is_closing(self):
        return True

    def abort(self):
        raise AttributeError("asyncio would end it a second time")


async def test_a_pipe_that_broke_just_now_is_hung_up_too():
    pipes = Pipes("n")
    pipes.connection_made(Broken())
    pipes.hang_up()
