"""What tests of judges and of scoring share: a store with two runs, and a model that plays a judge."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from support.judge_endpoint import JudgeEndpoint, judge_endpoint
from support.stored_commands import bench, no_width, stored

from trialbed.wire import RetryWaits

__all__ = ["bench", "no_width", "stored"]


@pytest.fixture
async def model(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[JudgeEndpoint]:
    """A model whose judges do not wait between two attempts."""
    monkeypatch.setattr("trialbed.wire._client.WAITS", RetryWaits(first=0.0))
    async with judge_endpoint() as served:
        yield served


@pytest.fixture
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder of state, which has no calibrations."""
    monkeypatch.setenv("TRIALBED_STATE_DIR", str(tmp_path / "state"))
