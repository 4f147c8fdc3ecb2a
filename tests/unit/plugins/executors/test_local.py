"""The local executor's settings, and orders of executors elsewhere, which hold a lock and a token."""

from __future__ import annotations

import traceback
from datetime import UTC, datetime

import pytest
from support.cases import for_each

from trialbed.errors import SettingsError, UsageError
from trialbed.records import Failure, Outcome
from trialbed_plugins.executors import job
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


@for_each(
    ("told", "kept"),
    [("endpoint", "agent"), ("server", "agent"), ("agent", "agent"), ("timeout", "timeout"), ("model", "model")],
)
def test_a_worker_cannot_say_that_its_trial_was_not_measured(told, kept):
    failure = Failure(kind=told, message="it was not me", detail="a trace")
    outcome = _as_told(Outcome(started_at=datetime(2026, 1, 1, tzinfo=UTC), wall_time=1, failure=failure))
    assert outcome.failure is not None
    assert (outcome.failure.kind, outcome.failure.message) == (kept, "it was not me")


def test_what_is_wrong_with_an_order_is_said_without_what_it_holds() -> None:
    text = '{"framework": "f", "lock": "secret==1", "trial": {"url": "http://host/t/token"}, "options": ["x-y-z"]}'
    with pytest.raises(UsageError, match=r"standard input is not an order: .*options: Input should be") as found:
        job.run_job(text)
    shown = "".join(traceback.format_exception(found.value))
    assert not [part for part in ("secret==1", "/t/token", "x-y-z") if part in shown]
