"""Runs single trials without a run, such as those of a test suite."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from trialbed.contracts import Executor, OpenedModel
from trialbed.engine import (
    ControlClient,
    TrialRunner,
    judge_of,
    select_for,
    server,
    server_start,
    worker_executor,
)
from trialbed.environments import EnvironmentStore, needed_environments
from trialbed.errors import UsageError
from trialbed.listeners import Listeners
from trialbed.live import CallbackServer, LiveExecutor
from trialbed.models import FoundModel, HelperModels, ObjectModel, run_model
from trialbed.plugins import installed_listeners
from trialbed.preparation import Prepared, RunObjects, RunOptions, config_digest, hidden_paths, prepare, trial_keys
from trialbed.records import FrameworkInfo, Query, Run, RunConfig, ToolSpec, TrialResult
from trialbed.settings import env_dir
from trialbed.store import Store, new_run, new_run_id
from trialbed.tasks import write_queries
from trialbed.wire import ModelRequest


@dataclass(frozen=True)
class SingleTrial:
    """A trial that ran by itself.

    Attributes:
        run: with this trial alone; it is in no store.
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
            opened.add_selections(self.run.run_id, config.selector, offers, config.cells[0].max_tools)
            opened.add_trial(self.run.run_id, self.result)
            opened.update_run(self.run.run_id, status="finished")


class SingleTrials:
    """An async context manager that runs single trials, at a server which stays for all of them, as workers do."""

    def __init__(self) -> None:
        self._workers: dict[str, tuple[Executor, FrameworkInfo]] = {}
        self._stack = AsyncExitStack()
        self._callbacks = CallbackServer(stays=True)
        self._servers: dict[object, ControlClient] = {}
        self._models: dict[str, OpenedModel] = {}
        self._objects: dict[str, Callable[[ModelRequest], Any]] = {}
        self._starting = asyncio.Lock()
        self._listeners: Listeners | None = None
        self._first: Run | None = None

    async def __aenter__(self) -> Self:
        await self._stack.enter_async_context(self._callbacks)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._stack.aclose()

    async def run(self, options: RunOptions, objects: RunObjects) -> SingleTrial:
        """Run the one trial of these options, whose dataset, of one query, is an object.

        Raises:
            TrialbedError: it cannot be run; says why.
        """
        elsewhere = [label for label in options.frameworks if label not in objects.agents]
        if elsewhere:
            found = await needed_environments(elsewhere, EnvironmentStore(env_dir()), build=False)
            options = replace(options, environments=found)
        prepared = await asyncio.to_thread(partial(prepare, options, objects, keeps=False))
        options, objects, (query,) = prepared.options, prepared.objects, prepared.queries.values()
        if len(prepared.config.cells) > 1:
            raise UsageError("run: a trial has one temperature and one number of tools")
        run, (key,) = self._new_run(prepared.config), trial_keys(prepared.config)
        seconds, listeners = prepared.config.limits.timeout, self._listening(objects)
        async with LiveExecutor(objects.agents) as live, HelperModels(options, run) as helpers:
            model = await self._model(prepared)
            control = await self._server(prepared, model)
            executor: Executor = live
            if key.framework not in objects.agents:
                executor, info = await self._worker(prepared, control, key.framework)
                run = run.model_copy(update={"frameworks": (info,)})
            live.waited = control.time_waited
            live.connect(control.url)
            tools = select_for(query, prepared, helpers)
            async with judge_of(helpers, options.judge[0], control, own=objects.judge) as judge:
                runner = TrialRunner(
                    run=run,
                    queries={query.query_id: query},
                    tools=partial(_offer, tools),
                    simulator=prepared.simulator,
                    control=control,
                    executors={key.framework: executor},
                    live=frozenset(objects.agents),
                    callbacks=self._callbacks.of(objects.bodies, objects.simulator, seconds),
                    listeners=listeners,
                    judge=judge,
                    models={prepared.config.cells[0].model: model},
                    cached_as=prepared.cached_as,
                    checks=objects.checks,
                    shares=False,
                )
                try:
                    result = await runner(key)
                finally:
                    if listeners is not self._listeners:
                        listeners.end()
        return SingleTrial(run, query, tools, result)

    def _new_run(self, config: RunConfig) -> Run:
        """Return a run of a configuration; the packages that are installed are read once."""
        self._first = self._first or new_run(config, config_digest(config))
        own = {"run_id": new_run_id(), "created_at": datetime.now(UTC)}
        return self._first.model_copy(update={**own, "config": config, "config_digest": config_digest(config)})

    def _listening(self, objects: RunObjects) -> Listeners:
        """Return the listeners of a trial; the plugins that are installed are looked for once, if it brings none."""
        if objects.plugins:
            return installed_listeners(objects.plugins)
        self._listeners = self._listeners or installed_listeners()
        return self._listeners

    async def _model(self, prepared: Prepared) -> OpenedModel:
        """Return the model of a trial, open; it stays so for later trials. Objects share one endpoint.

        Raises:
            TrialbedError: it cannot be opened.
        """
        options, own = prepared.options, prepared.objects.model
        if isinstance(own, ObjectModel):
            self._objects[name := f"object-{len(self._objects) + 1}"] = own.answer
            shared = ObjectModel(self._answer_of_object)
            return replace(await self._open("objects", FoundModel(shared, "objects"), options), model=name)
        cell = prepared.config.cells[0]
        key = json.dumps([cell.model, cell.model_identity, options.base_url, options.api_key_env])
        return await self._open(key, run_model(cell.model, own), options)

    async def _open(self, key: str, found: FoundModel, options: RunOptions) -> OpenedModel:
        async with self._starting:
            if key not in self._models:
                self._models[key] = await self._stack.enter_async_context(found.open(options))
        return self._models[key]

    def _answer_of_object(self, request: ModelRequest) -> Any:
        return self._objects[request.model](request)

    async def _server(self, prepared: Prepared, model: OpenedModel) -> ControlClient:
        """Return the server for a model: one for all trials that one does for."""
        options, cache = prepared.options, prepared.cache
        start = server_start(options, [model], cache=cache)
        async with self._starting:
            if start not in self._servers:
                opened = server(options, calls_back=True, models=[model], cache=cache)
                self._servers[start] = await self._stack.enter_async_context(opened)
        return self._servers[start]

    async def _worker(self, prepared: Prepared, control: ControlClient, label: str) -> tuple[Executor, FrameworkInfo]:
        """Return the executor of a framework or program, which stays for later trials, and a description of it."""
        options, commands = prepared.options, prepared.commands.values()
        hidden = hidden_paths(options, prepared.dataset.files)
        own = [label, options.executor, str(hidden), *(command.digest() for command in commands)]
        key = json.dumps([control.url, *own])
        async with self._starting:
            if key not in self._workers:
                executor = await self._stack.enter_async_context(worker_executor(prepared))
                executor.waited = control.time_waited
                executor.connect(control.url)
                self._workers[key] = executor, await executor.describe(label)
        return self._workers[key]


async def _offer(tools: tuple[ToolSpec, ...], *_: object) -> tuple[ToolSpec, ...]:
    """Return the tools of the one query, as the tools of a run are returned."""
    return tools
