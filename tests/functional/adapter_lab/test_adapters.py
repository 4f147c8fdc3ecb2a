"""Adapters without a framework of their own pass the kit, as their authors would run it."""

from __future__ import annotations

import warnings

import pytest
from support.blocking import BlockingAgent
from support.garbage import leave_out_what_stays

from trialbed.contracts import BaseAgent
from trialbed_adapter_lab import CHECKS, Level, check_adapter


@pytest.fixture(scope="module", autouse=True)
def settled() -> None:
    """Let the check of twenty trials search for garbage among what the kit makes."""
    leave_out_what_stays()


def conform(agent: str | type[BaseAgent], level: Level = "may") -> tuple[str, ...]:
    """The dialects in which an adapter that conforms has asked."""
    with warnings.catch_warnings():
        warnings.simplefilter("default")  # as in a worker
        report = check_adapter(agent, level=level)
    assert not report.problems
    assert len(report.findings) >= (len(CHECKS) if level == "may" else 33)
    return report.dialects


def test_the_reference_conforms() -> None:
    assert conform("reference") == ("chat_completions",)


@pytest.mark.parametrize("dialect", ["messages", "responses"])
@pytest.mark.slow
def test_the_reference_conforms_in_other_dialects(dialect: str) -> None:
    assert conform(f"reference-{dialect}") == (dialect,)


def test_an_adapter_may_answer_without_async() -> None:
    """It then runs in a thread, which nobody can cancel."""
    conform(BlockingAgent, level="should")
