"""The access that the models of a run's selector and judge have."""

from __future__ import annotations

from pathlib import Path

import pytest

from trialbed.models import HelperModels
from trialbed.records import ModelEndpoint
from trialbed.settings import RunSettings


@pytest.mark.parametrize(
    ("settings", "seconds"), [({}, 300.0), ({"timeout": 400.0}, 400.0), ({"helper_timeout": 2.5}, 2.5)]
)
async def test_a_silent_model_is_given_up_after_the_time_that_is_set(
    settings: dict[str, float], seconds: float, tmp_path: Path
) -> None:
    async with HelperModels(RunSettings(completions=tmp_path / "c.db", **settings)) as helpers:  # type: ignore[arg-type]
        access = helpers.access("selector", ModelEndpoint(base_url="http://model/v1", api_key="k", model="m"))
        assert access._timeout == seconds
