"""Run single trials in the engine, each in its own run; server, models and workers stay up for the next ones."""

from __future__ import annotations

import asyncio
import secrets
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from concurrent.futures import Future
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

from anyio.from_thread import BlockingPortal, start_blocking_portal

from trialbed import hookimpl
from trialbed.api import with_environments
from trialbed.contracts import ModelDriver, ModelInfo, OpenedModel
from trialbed.engine import Standing, run
from trialbed.errors import NothingMeasured, UsageError
from trialbed.files import temporary_folder
from trialbed.models import ObjectModel
from trialbed.preparation import RunObjects, RunOptions, prepare
from trialbed.records import Answer, Outcome, Query, Run, ToolSpec, TrialResult, TrialSpec, WireLog
from trialbed.settings import RunSettings
from trialbed.store import Store
from trialbed.tasks import write_queries
from trialbed.wire import ModelRequest
from trialbed.wire_log import compute_timing


@dataclass(frozen=True)
class SingleTrial:
    """The only trial of a run.

    Attributes:
        run: is not in a permanent store.
    """

    run: Run
    query: Query
    tools: tuple[ToolSpec, ...]
    result: TrialResult

    def keep(self, store: str | Path) -> None:
        """Write the trial into a store, in its own run, for ``bench show`` and pages, and its query next to the store.

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


AskUser = Callable[[SingleTrial], Awaitable[str | None]]
"""Returns the user's next message, given the trial so far; None ends the conversation."""


@contextmanager
def open_suite() -> Iterator[TrialSuite]:
    """Yield a runner for the trials of a test suite."""
    with (
        temporary_folder() as folder,
        start_blocking_portal() as portal,
        portal.wrap_async_context_manager(Standing()) as standing,
    ):
        yield TrialSuite(folder, portal, standing)


class TrialSuite:
    """Runs the trials of a test suite in a dedicated event loop, each as the only trial of its run.

    Attributes:
        portal: calls functions in that event loop.
        turn: is held while a trial begins. Two trials that begin together would each start resources they could share.
    """

    def __init__(self, folder: Path, portal: BlockingPortal, standing: Standing) -> None:
        self.portal = portal
        self.turn = threading.Lock()
        self._folder = folder
        self._standing = standing
        self._stores: list[str] = []
        self._answers: dict[str, Callable[[ModelRequest], Any]] = {}

    def run(self, options: RunOptions, objects: RunObjects) -> SingleTrial:
        """Run a trial. Its dataset is an object with one query."""
        with self.turn:
            trial = self._start(options, objects)
            try:
                return trial.result()
            finally:
                trial.cancel()  # if the test is interrupted

    def start(self, options: RunOptions, objects: RunObjects, user: AskUser) -> Future[SingleTrial]:
        """Start a trial that runs next to others. The user is called in the event loop."""
        # Two runs with the same configuration need separate stores.
        store = self._stores.pop() if self._stores else f"{secrets.token_hex(4)}.db"
        trial = self._start(options, objects, user, store)
        trial.add_done_callback(lambda _: self._stores.append(store))
        return trial

    def _start(
        self, options: RunOptions, objects: RunObjects, user: AskUser | None = None, store: str = "trials.db"
    ) -> Future[SingleTrial]:
        options = replace(options, store=str(self._folder / store), fresh=True)
        if isinstance(objects.model, ObjectModel):
            objects = replace(objects, model=_SuiteModel(objects.model, self._standing, self._answers))
        return self.portal.start_task_soon(_run, options, objects, self._standing, user)


async def _run(options: RunOptions, objects: RunObjects, standing: Standing, user: AskUser | None) -> SingleTrial:
    seen = _Seen()
    options = await with_environments(options, objects)
    asked = None if user is None else partial(seen.ask_user, user)
    objects = replace(objects, user=asked, plugins={**objects.plugins, "trialbed-testing": seen})
    prepared = await asyncio.to_thread(partial(prepare, options, objects, keeps=False))
    if len(prepared.config.cells) > 1:
        raise UsageError("run: a trial has one temperature and one number of tools")
    (seen.query,) = prepared.queries.values()
    try:
        await run(prepared, standing=standing)
    except NothingMeasured:
        if not seen.trials:
            raise
    return seen.trials[-1 if user is None else 0]


@dataclass(eq=False)
class _Seen:
    """Collects the trials of a run, and passes the engine's questions on to its user."""

    query: Query = field(init=False)
    run: Run = field(init=False)
    spec: TrialSpec = field(init=False)
    trials: list[SingleTrial] = field(default_factory=list)
    talking: str = ""
    code = ""
    """A constant: the run is the same for any source of this class, and reading the source for each run is slow."""

    @hookimpl
    def trial_started(self, run: Run, spec: TrialSpec) -> None:
        self.run, self.spec = run, spec

    @hookimpl
    def trial_finished(self, run: Run, result: TrialResult) -> None:
        self.trials.append(SingleTrial(run, self.query, result.wire.tools_of(self.spec.tools), result))

    async def ask_user(self, user: AskUser, wire: WireLog) -> str | None:
        self.talking = self.talking or wire.trial
        if wire.trial != self.talking:  # a new attempt restarts, but the test is at a later message
            return None
        wall = (datetime.now(UTC) - wire.opened_at).total_seconds()
        answer = Answer(final_answer=wire.turns[-1].answer or "")
        so_far = TrialResult(
            trial=self.spec.trial,
            key=self.spec.key,
            seed=self.spec.endpoint.seed,
            outcome=Outcome(started_at=wire.opened_at, wall_time=wall, answer=answer),
            wire=wire,
            timing=compute_timing(wall, wire),
            selected_tools=tuple(tool.name for tool in self.spec.tools),
        )
        return await user(SingleTrial(self.run, self.query, wire.tools_of(self.spec.tools), so_far))


class _SuiteModel(ModelDriver):
    """An object as the model of a trial. All objects of a suite share one endpoint and therefore one server."""

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
