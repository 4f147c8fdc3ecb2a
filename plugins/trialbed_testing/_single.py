"""Runs single trials in the engine, a run each, whose server, models and workers stay for the next ones."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from anyio.from_thread import start_blocking_portal

from trialbed import hookimpl
from trialbed.api import with_environments
from trialbed.contracts import ModelDriver, ModelInfo, OpenedModel
from trialbed.engine import Standing, run
from trialbed.errors import NothingMeasured, UsageError
from trialbed.files import temporary_folder
from trialbed.models import ObjectModel
from trialbed.preparation import RunObjects, RunOptions, prepare
from trialbed.records import Query, Run, ToolSpec, TrialResult, TrialSpec
from trialbed.settings import RunSettings
from trialbed.store import Store
from trialbed.tasks import write_queries
from trialbed.wire import ModelRequest


@dataclass(frozen=True)
class SingleTrial:
    """The trial of a run that has no other.

    Attributes:
        run: it is in no store that stays.
    """

    run: Run
    query: Query
    tools: tuple[ToolSpec, ...]
    result: TrialResult

    def keep(self, store: str | Path) -> None:
        """Write the trial into a store as a run of its own, for ``bench show`` and pages, and its query beside it.

        Raises:
            DataError: the store cannot be written.
        """
        path = write_queries([self.query], self.run.config.test_set, Path(store).absolute().parent)
        config = self.run.config.model_copy(update={"dataset": str(path)})
        with Store.open(str(store)) as opened:
            opened.create_run(self.run.model_copy(update={"config": config}))
            offers = {self.query.query_id: self.tools}
            opened.add_selections(self.run.run_id, offers, config.cells[0].max_tools)
            opened.add_trial(self.run.run_id, self.result)
            opened.update_run(self.run.run_id, status="finished")


RunTrial = Callable[[RunOptions, RunObjects], SingleTrial]
"""Runs the one trial of these options, whose dataset, of one query, is an object."""


@contextmanager
def open_suite() -> Iterator[RunTrial]:
    """Yield what runs the trials of a test suite, one after the other, in an event loop of its own."""
    turn, answers = threading.Lock(), dict[str, Callable[[ModelRequest], Any]]()
    with (
        temporary_folder() as folder,
        start_blocking_portal() as portal,
        portal.wrap_async_context_manager(Standing()) as standing,
    ):

        def run_trial(options: RunOptions, objects: RunObjects) -> SingleTrial:
            options = replace(options, store=str(folder / "trials.db"), fresh=True)
            if isinstance(objects.model, ObjectModel):
                objects = replace(objects, model=_SuiteModel(objects.model, standing, answers))
            with turn:
                trial = portal.start_task_soon(_run, options, objects, standing)
                try:
                    return trial.result()
                finally:
                    trial.cancel()  # where the test is interrupted

        yield run_trial


async def _run(options: RunOptions, objects: RunObjects, standing: Standing) -> SingleTrial:
    seen = _Seen()
    options = await with_environments(options, objects)
    objects = replace(objects, plugins={**objects.plugins, "trialbed-testing": seen})
    prepared = await asyncio.to_thread(partial(prepare, options, objects, keeps=False))
    if len(prepared.config.cells) > 1:
        raise UsageError("run: a trial has one temperature and one number of tools")
    try:
        await run(prepared, standing=standing)
    except NothingMeasured:
        if not seen.trials:
            raise
    (query,) = prepared.queries.values()
    whole, result = seen.trials[-1]
    return SingleTrial(whole, query, result.wire.tools_of(seen.tools), result)


@dataclass(eq=False)
class _Seen:
    """What the engine tells of a run."""

    tools: tuple[ToolSpec, ...] = ()
    trials: list[tuple[Run, TrialResult]] = field(default_factory=list)
    code = ""
    """It is the same run whatever this class says; to read its source for each takes long."""

    @hookimpl
    def trial_started(self, spec: TrialSpec) -> None:
        self.tools = spec.tools

    @hookimpl
    def trial_finished(self, run: Run, result: TrialResult) -> None:
        self.trials.append((run, result))


class _SuiteModel(ModelDriver):
    """An object as the model of a trial. All those of a suite share an endpoint, so that one server does for them."""

    contract = "1"

    def __init__(self, own: ObjectModel, standing: Standing, answers: dict[str, Callable[[ModelRequest], Any]]) -> None:
        self._own = own
        self._standing = standing
        self._answers = answers

    def describe(self, name: str, settings: RunSettings) -> ModelInfo:
        return self._own.describe(name, settings)

    @asynccontextmanager
    async def open(self, name: str, settings: RunSettings) -> AsyncIterator[OpenedModel]:
        answers, called = self._answers, f"object-{len(self._answers) + 1}"
        answers[called] = self._own.answer
        shared = ObjectModel(lambda request: answers[request.model](request))
        yield replace(await self._standing.use(_SuiteModel, partial(shared.open, name, settings)), model=called)
