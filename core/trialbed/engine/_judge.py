"""The judge of a run, with a driver and a model behind the gateway or at its own endpoint."""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from typing import TYPE_CHECKING

from trialbed.contracts import Judge
from trialbed.drivers import list_drivers
from trialbed.engine._control import ControlClient, new_trial_token
from trialbed.engine._trial import DUMMY_KEY
from trialbed.errors import NothingMeasured
from trialbed.installed import PROJECT_DISTRIBUTION
from trialbed.models import HelperModels, check_standing, helper_endpoint, is_at_endpoint, judge_choice, with_endpoint
from trialbed.records import Json, ModelEndpoint, Query, TrialRegistration
from trialbed.scoring import (
    CRITERIA_CALIBRATION,
    RULE,
    calibration_of,
    has_expectations,
    judge_apart,
    judge_identity,
    kept_calibrations,
    make_judge,
)
from trialbed.settings import RunSettings
from trialbed.wire.addresses import split_address

if TYPE_CHECKING:
    from trialbed.model_access import ModelAccess


@asynccontextmanager
async def judge_of(
    helpers: HelperModels, control: ControlClient | None = None, *, own: Judge | None = None
) -> AsyncIterator[Judge]:
    """Open the judge of the settings.

    Args:
        control: the run's server; the judge's model is asked through its gateway. None asks the endpoint directly.
        own: the judge, if it is an object; its owner closes it.
    """
    if own is not None:
        async with judge_apart(own) as apart:
            yield apart
        return
    settings = helpers.settings
    driver, model = judge_choice(settings)
    async with AsyncExitStack() as stack:
        access = None if model is None else await stack.enter_async_context(_access(helpers, control, model))
        judge = make_judge(driver, access, votes=settings.judge_votes, prompts=settings.judge_prompts)
        if {known.distribution for known in list_drivers("judges") if known.name == driver} != {PROJECT_DISTRIBUTION}:
            if access is not None:
                from trialbed.foreign_code import in_this_loop  # most judges are Trialbed's
                from trialbed.model_access import RelayedModel

                # The connections of the model are of this event loop.
                judge.model = RelayedModel(access.endpoint, in_this_loop(access))
            judge = await stack.enter_async_context(judge_apart(judge))
        stack.push_async_callback(judge.close)
        yield judge


@asynccontextmanager
async def standing_judge(settings: RunSettings) -> AsyncIterator[tuple[Judge, RunSettings]]:
    """Open the judge of these settings outside of a run, with the settings completed; no server is needed for it.

    Raises:
        UsageError: the judge does not exist, or its model cannot be asked without a server.
    """
    settings = with_endpoint(settings)
    check_standing(settings)
    async with HelperModels(settings) as helpers, judge_of(helpers) as judge:
        yield judge, settings


def judge_duties(settings: RunSettings, queries: Collection[Query]) -> tuple[bool, bool]:
    """Return whether a judge reads criteria in a run over these queries, and whether it gives verdicts.

    Criteria have a separate calibration. The judge ``rule`` gives no verdict if every task has expectations.
    """
    criteria = any(query.expected and query.expected.all_criteria for query in queries)
    return criteria, judge_choice(settings)[0] != RULE or not all(map(has_expectations, queries))


def judge_report(
    judge: Judge, settings: RunSettings, *, own: bool = False, criteria: bool = False, asked: bool = True
) -> Mapping[str, Json]:
    """Describe a judge for result documents, with its name, model, votes, prompts and calibration.

    Args:
        own: whether it is an object, which is not calibrated.
        criteria: whether it reads the criteria of tasks; they have a separate calibration.
        asked: whether it gives verdicts.
    """
    about = {name: value for name, value in judge.about.items() if name != "judge"}
    if own:
        none = {"calibration": None, **({CRITERIA_CALIBRATION: None} if criteria else {})}
        return {"driver": settings.judge, "model": None, "votes": settings.judge_votes, **about, **none}
    read = kept_calibrations().get(identity_of(judge, settings, criteria=True)) if criteria else None
    driver, model = judge_choice(settings)
    return {
        "driver": driver,
        "model": model and split_address(model)[0],
        "votes": settings.judge_votes,
        **about,
        **({} if asked else {"asked": False}),
        "calibration": calibration_of(judge, identity_of(judge, settings)),
        **({CRITERIA_CALIBRATION: read and read.model_dump()} if criteria else {}),
    }


def identity_of(judge: Judge, settings: RunSettings, *, criteria: bool = False) -> str:
    """Return the key of this judge among the stored calibrations.

    Args:
        criteria: whether to return the key for its calibration on criteria.
    """
    driver, model = judge_choice(settings)
    named = model and split_address(model)[0]
    return judge_identity(f"{driver}: criteria" if criteria else driver, named, judge.about)


@asynccontextmanager
async def _access(helpers: HelperModels, control: ControlClient | None, model: str) -> AsyncIterator[ModelAccess]:
    settings = helpers.settings
    if control is None or split_address(model)[1] is not None:
        access = helpers.access("judge", helper_endpoint(model, settings))
        yield access
        await access.close()
        return
    async with _gateway(settings, control, model) as endpoint:
        yield helpers.access("judge", endpoint, origin=settings.base_url or model)


@asynccontextmanager
async def _gateway(settings: RunSettings, control: ControlClient, model: str) -> AsyncIterator[ModelEndpoint]:
    trial = new_trial_token()
    base_url = settings.base_url if is_at_endpoint(model, settings) else None
    registration = TrialRegistration(trial=trial, model=model, base_url=base_url, seed=settings.seed)
    await control.open_trial(registration)
    try:
        url = f"{control.url}/t/{trial}/v1"
        yield ModelEndpoint(base_url=url, api_key=DUMMY_KEY, model=model, temperature=0.0, seed=settings.seed)
    finally:
        # Every verdict is in its trial's scores by now.
        with suppress(NothingMeasured):
            await control.close_trial(trial)
