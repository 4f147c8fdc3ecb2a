"""The command that starts a run's server."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from trialbed.engine._options import RunOptions
from trialbed.engine._server import _command


def settings(**options: Any) -> dict[str, str]:
    given = RunOptions(frameworks=("reference",), response_cache=Path("responses.db"), **options)
    words = _command(given)[4:]
    return dict(zip(words[::2], words[1::2], strict=True))


def test_the_gateway_gets_the_runs_patience_with_the_endpoint() -> None:
    found = settings(base_url="http://model/v1", model_retries=3, endpoint_patience=7.5)
    assert found["--upstream"] == "http://model/v1"
    assert (found["--model-retries"], found["--endpoint-patience"]) == ("3", "7.5")
    assert "--upstream" not in settings()


@pytest.mark.parametrize(("timeout", "silence"), [(60.0, 300.0), (900.0, 900.0)])
def test_a_judge_may_take_as_long_as_a_trial(timeout: float, silence: float) -> None:
    assert float(settings(base_url="http://model/v1", timeout=timeout)["--upstream-timeout"]) == silence
