"""The local executor's settings."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any, ClassVar

import pytest
from support.cases import for_each

from trialbed.errors import SettingsError
from trialbed.records import Failure, Outcome
from trialbed_plugins.executors import local
from trialbed_plugins.executors.local import LocalExecutor, _as_told, read_memory


@for_each(
    ("text", "limit"),
    [
        ("1048576", 1 << 20),
        ("512M", 512 << 20),
        ("2g", 2 << 30),
        (" 7K ", 7 << 10),
        ("4 GB", 4 * 10**9),
        ("1.5G", 3 << 29),
        ("4GiB", 4 << 30),
    ],
)
def test_amounts_of_memory(text, limit):
    assert read_memory("--executor-option memory", text) == limit


def test_a_wrong_limit_is_refused_with_the_name_of_its_variable(monkeypatch):
    for text in ("", "0", "0G", "-1", "4 apples", "lots"):
        monkeypatch.setenv("TRIALBED_MEMORY_LIMIT", text)
        with pytest.raises(SettingsError, match="TRIALBED_MEMORY_LIMIT"):
            LocalExecutor()


class CountedWorker:
    """Stands for a worker; counts those that there are."""

    now = most = 0
    started: ClassVar[list[str]] = []
    usable, forks = True, None

    def __init__(self, framework: str, *_: Any) -> None:
        self.framework, self.fresh = framework, True
        self.mark = f"w{len(self.started)}"
        self.started.append(framework)
        CountedWorker.now += 1
        CountedWorker.most = max(self.most, self.now)

    async def start(self, *_: Any) -> None:
        """Be there."""

    async def run(self, *_: Any) -> Outcome:
        await asyncio.sleep(0)
        self.fresh = False
        return Outcome(started_at=datetime.now(UTC), wall_time=1.0)

    async def strays(self) -> int:
        return 0

    def spent(self) -> str:
        return ""

    async def dismiss(self) -> None:
        """Be ended next."""

    async def end(self) -> None:
        await asyncio.sleep(0)
        CountedWorker.now -= 1


async def test_workers_of_one_framework_make_room_for_those_of_another(monkeypatch):
    monkeypatch.setattr(local, "Worker", CountedWorker)
    executor = LocalExecutor(most_idle=2)
    executor.concurrency = 4
    async with executor:
        for framework in ("a", "b", "c", "a"):
            spec = SimpleNamespace(key=SimpleNamespace(framework=framework), fresh=False)
            await asyncio.gather(*(executor.execute(spec) for _ in range(4)))
    assert (CountedWorker.most, CountedWorker.now) == (6, 0)
    assert CountedWorker.started.count("b") == 4


@for_each(
    ("told", "kept"),
    [("endpoint", "agent"), ("server", "agent"), ("agent", "agent"), ("timeout", "timeout"), ("model", "model")],
)
def test_a_worker_cannot_say_that_its_trial_was_not_measured(told, kept):
    failure = Failure(kind=told, message="it was not me", detail="a trace")
    outcome = _as_told(Outcome(started_at=datetime(2026, 1, 1, tzinfo=UTC), wall_time=1, failure=failure))
    assert outcome.failure is not None
    assert (outcome.failure.kind, outcome.failure.message) == (kept, "it was not me")
