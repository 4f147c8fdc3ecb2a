"""The judge of a run: a rule, or a model that is asked through the gateway like any other."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import cast

from trialbed.contracts import Judge
from trialbed.drivers import load_driver
from trialbed.engine._control import ControlClient
from trialbed.engine._identity import new_trial_token
from trialbed.engine._models import MODEL_JUDGE, is_scripted, judge_drivers
from trialbed.engine._trial import DUMMY_KEY
from trialbed.errors import NothingMeasured
from trialbed.records import ModelEndpoint, RunConfig, TrialRegistration


@asynccontextmanager
async def judge_of(config: RunConfig, control: ControlClient) -> AsyncIterator[Judge]:
    """The judge that ``--judge`` names: a driver (``rule``), else the model of that name."""
    if config.judge in judge_drivers():
        judge = cast("Judge", load_driver("judges", config.judge)(None, votes=config.judge_votes))
        try:
            yield judge
        finally:
            await judge.close()
        return
    async with _endpoint(config, control) as endpoint:
        judge = cast("Judge", load_driver("judges", MODEL_JUDGE)(endpoint, votes=config.judge_votes))
        try:
            yield judge
        finally:
            await judge.close()


@asynccontextmanager
async def _endpoint(config: RunConfig, control: ControlClient) -> AsyncIterator[ModelEndpoint]:
    trial, model = new_trial_token(), config.judge
    base_url = None if is_scripted(model) else config.base_url
    await control.open_trial(TrialRegistration(trial=trial, model=model, base_url=base_url, seed=config.seed))
    try:
        url = f"{control.url}/t/{trial}/v1"
        yield ModelEndpoint(base_url=url, api_key=DUMMY_KEY, model=model, temperature=0.0, seed=config.seed)
    finally:
        # Every verdict is in its trial's scores by now.
        with suppress(NothingMeasured):
            await control.close_trial(trial)
