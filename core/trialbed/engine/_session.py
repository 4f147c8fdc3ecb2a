"""A run is locked, created or resumed, and one session of it lasts from its first due trial to its end."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import AsyncIterator, Collection, Iterable, Mapping
from contextlib import asynccontextmanager, nullcontext, suppress
from dataclasses import KW_ONLY, dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from trialbed.contracts import Executor, Judge, OpenedModel, difference
from trialbed.drivers import load_driver
from trialbed.engine._background import RunProgress, Standing, frozen_heap, meanwhile, say_when_long
from trialbed.engine._control import ControlClient
from trialbed.engine._failures import Outage, watch_endpoint
from trialbed.engine._gold import make_gold_calls
from trialbed.engine._judge import judge_duties, judge_of, judge_report
from trialbed.engine._lanes import Committed, Lanes
from trialbed.engine._server import server
from trialbed.engine._spending import Admission, KeptUse, check_budget
from trialbed.engine._tools import RunTools, ToolsNotChosen, prepared_selector
from trialbed.engine._trial import TrialRunner
from trialbed.errors import DataError, DriverError, NothingMeasured, UsageError
from trialbed.models import HelperModels, helpers_of, run_model
from trialbed.plugins import installed_listeners
from trialbed.preparation import (
    Prepared,
    config_digest,
    count_trials,
    due_trials,
    executor_options,
    find_run,
    hidden_paths,
    prices_of,
    remarks,
    with_labels_of,
)
from trialbed.records import FrameworkInfo, Query, Run, RunStatus, TrialKey
from trialbed.scoring_process import ScoringProcesses
from trialbed.store import RunChanges, Store, hold_run, record_run
from trialbed.views import lost_line
from trialbed.wire.addresses import split_address

if TYPE_CHECKING:
    from trialbed.live import CallbackServer

MEASURED = ("version", "adapter", "adapter_version", "python", "lock_digest", "packages")
"""The fields of an agent's description that must be what they were, wherever it runs; the sandbox may change."""


@dataclass
class RunSession:
    """Runs the remaining trials of a run, N at a time, and commits each when it ends.

    Args:
        ambient: whether requests without a token belong to the open trial.
        committed: called with trials once they are committed, in a thread.
        standing: what this run may share with others.
    """

    prepared: Prepared
    store: Store
    record: Run
    progress: RunProgress
    _: KW_ONLY
    ambient: bool
    standing: Standing
    committed: Committed | None = None

    def __post_init__(self) -> None:
        self._used = KeptUse(self.prepared.options, self.store, self.record, self.record.helpers)
        self._listeners = installed_listeners(self.prepared.objects.plugins)
        self._outage = Outage(measured=False, key_variable=self.prepared.options.api_key_env)
        self._earlier: dict[str, FrameworkInfo] = {}
        self._admission: Admission | None = None
        self._lost = Counter(self.record.lost)
        self._at_once = self.prepared.options.concurrency
        self._began = time.monotonic() - self.record.overall_time
        # The agents, each shared by all its cells, and whether all of them are objects of this process.
        self._frameworks = tuple(dict.fromkeys(cell.framework for cell in self.record.config.cells))
        self._is_live = {*self._frameworks} <= set(self.prepared.objects.agents)

    async def run(self) -> Run:
        """Run every trial that was not measured yet.

        Raises:
            NothingMeasured: no trial could reach the server or the model.
        """
        try:
            await self._trials()
        except BaseException as error:
            void = isinstance(error, NothingMeasured) and not self._outage.measured
            await asyncio.shield(asyncio.to_thread(self._end_early, void=void))
            raise
        finally:
            self.progress.end()
            self._listeners.end()
        return await asyncio.to_thread(self._finish)

    def _end_early(self, *, void: bool) -> None:
        """Store that the session ended early; a run without a trial, or a void one, is discarded."""
        if self.store.each_attempt_summary(self.record.run_id) and not void:
            overall = time.monotonic() - self._began
            self.store.update_run(self.record.run_id, status="interrupted", overall_time=overall)
        else:
            self.store.discard_run(self.record.run_id)

    def _finish(self) -> Run:
        """Store the final state of a run after every trial had its turn, and return the run in that state."""
        overall = time.monotonic() - self._began
        measured = self.store.count_measured(self.record.run_id)
        status: RunStatus = "finished" if measured == count_trials(self.record.config) else "incomplete"
        self.store.update_run(self.record.run_id, status=status, overall_time=overall)
        ended = {"status": status, "overall_time": overall, "lost": dict(self._lost)}
        return self.record.model_copy(update=ended)

    async def _trials(self) -> None:
        config, options = self.record.config, self.prepared.options
        read = partial(self.store.each_attempt_summary, self.record.run_id)
        ends = await asyncio.to_thread(lambda: due_trials(config, read(), retry_failed=options.retry_failed))
        todo = ends.trials
        if not todo:
            if options.retry_failed:
                self.progress.note(f"run {self.record.run_id} has no failed trials to repeat")
            return
        self._earlier = {info.name: info for info in self.record.frameworks if info.name in ends.current}
        self._outage = Outage(measured=bool(ends.measured), key_variable=options.api_key_env, models=config.models)
        if options.budget is not None:
            check_budget(options, self.record, own_judge=self.prepared.objects.judge is not None)
        answered = {config.cell(framework).model for framework in ends.measured}
        async with self._runner(answered, todo[0][0]) as runner:
            self._listeners.notify("run_started", run=self.record)
            total = count_trials(config)
            self.progress.begin(self.record, total=total, done=total - len(todo))
            with frozen_heap():
                lanes = Lanes(
                    self.store,
                    self.record.run_id,
                    slots=self._at_once,
                    ambient=self.ambient,
                    outage=self._outage,
                    lost=self._lost,
                    progress=self.progress,
                    ended=lambda result: self._listeners.notify("trial_finished", run=self.record, result=result),
                    committed=self.committed,
                    admission=self._admission,
                )
                await lanes.run(runner, todo)
        self._outage.check()
        if told := lost_line(self._lost):
            self.progress.note(told)
        if self._outage.gone:
            self.progress.note(f"{self._outage.gone}; repeat the command to run what is left")
        over_budget = bool(self._outage.spent)
        if over_budget != self.record.over_budget:
            self.record = self.record.model_copy(update={"over_budget": over_budget})
            await asyncio.to_thread(partial(self.store.update_run, self.record.run_id, over_budget=over_budget))
        if over_budget:
            self.progress.note(f"{self._outage.spent}; repeat the command with a larger --budget to continue")

    async def _models(self, answered: Collection[str]) -> dict[str, OpenedModel]:
        """Open the run's models, before anything else is started for the trials.

        Args:
            answered: models that answered in an earlier session; the others are probed first.
        """
        options, own = self.prepared.options, self.prepared.objects.model
        found: dict[str, OpenedModel] = {}
        for name, identity in {cell.model: cell.model_identity for cell in self.record.config.cells}.items():
            model = run_model(name, own)
            settings = replace(options, probe=0) if name in answered else options
            key = own, name, identity, options.base_url, options.api_key_env
            found[name] = await self.standing.use(key, partial(model.open, settings))
            for note in found[name].notes:
                self.progress.note(note)
        # No more agents work concurrently than a model answers requests.
        self._at_once = min([options.concurrency, *(model.at_once for model in found.values() if model.at_once)])
        return found

    @asynccontextmanager
    async def _runner(self, answered: Collection[str], first: TrialKey) -> AsyncIterator[TrialRunner]:
        """Open everything that trials need.

        Args:
            answered: the models that answered earlier.
            first: the first trial that is due.
        """
        prepared, config = self.prepared, self.record.config
        options, objects = prepared.options, prepared.objects
        models = await self._models(answered)
        live: Executor | None = None
        calls: CallbackServer | None = None
        # Objects of this process need the room of live code, which takes long to import.
        if objects.agents:
            from trialbed.live import LiveExecutor

            live = LiveExecutor(objects.agents)
        if objects.bodies or objects.user is not None or not isinstance(objects.simulator, str | None):
            from trialbed.live import CallbackServer

            calls = CallbackServer(objects.bodies, objects.simulator, user=objects.user, seconds=config.limits.timeout)
        workers = live if live is not None and self._is_live else await self._workers()
        executors = {
            cell.label: live if live is not None and cell.framework in objects.agents else workers
            for cell in config.cells
        }
        helpers = HelperModels(options, self.record)
        # Workers import their frameworks while the tools are selected and the server starts.
        async with (
            live or nullcontext(),
            helpers,
            calls or nullcontext(),
            meanwhile(self._describe(executors)) as described,
        ):
            open_selector = partial(prepared_selector, options, helpers, own=objects.selector)
            tools = RunTools(self.record, prepared.apis, prepared.queries, self.store, open_selector)
            # Immediately, to notice a selector that cannot choose before any trial.
            chosen = tools(config.cells[0].max_tools, first.query_id)
            try:
                await say_when_long(self.progress.note, "choosing the tools of the first tasks", chosen)
            except ToolsNotChosen as error:
                raise error.reason from error
            async with self._server(models, helpers, calls, workers) as (control, judge, scoring):
                for executor in {*executors.values()}:
                    executor.waited = control.time_waited
                    executor.connect(control.url)
                criteria, asked = judge_duties(options, prepared.queries.values())
                own = objects.judge is not None
                report = judge_report(judge, options, own=own, criteria=criteria, asked=asked)
                frameworks = await described
                if query := next((query for query in prepared.queries.values() if query.turns), None):
                    refuse_turns(frameworks, query)
                asking = {query.user.kind: query.query_id for query in prepared.queries.values() if query.user}
                if "model" in asking and options.user_model is None and options.server_url is None:
                    raise UsageError(f"task {asking['model']}: a model plays its user; name it with --user-model")
                if "caller" in asking and objects.user is None:
                    raise UsageError(f"task {asking['caller']}: a test plays its user, with `trialbed.conversation`")
                changes = RunChanges(
                    frameworks=frameworks,
                    server_url=control.url,
                    judge=dict(report),
                    on_nodes=self.record.on_nodes or workers.remote,
                    # Scorers that are objects of this program are known here alone.
                    scores={**self.record.scores, **self._listeners.descriptions()},
                )
                self.record = self.record.model_copy(update=dict(changes))
                await asyncio.to_thread(partial(self.store.update_run, self.record.run_id, **changes))
                if options.gold_answers:
                    await make_gold_calls(
                        self.store,
                        self.record.run_id,
                        control,
                        prepared.simulator,
                        prepared.queries.values(),
                        concurrency=options.concurrency,
                        note=self.progress.note,
                    )
                runner = TrialRunner(
                    run=self.record,
                    queries=prepared.queries,
                    tools=tools,
                    simulator=prepared.simulator,
                    control=control,
                    executors=executors,
                    live=objects.agents,
                    callbacks=calls,
                    listeners=self._listeners,
                    judge=judge,
                    models=models,
                    cached_as=prepared.cached_as,
                    slots=asyncio.Semaphore(self._at_once),
                    ambient=self.ambient,
                    processes=scoring,
                    checks=objects.checks,
                    shares=len(self.record.config.frameworks) * self.record.config.repeat > 1,
                )
                async with (
                    self._used.keep_within(helpers, control) if any(helpers_of(options)) else nullcontext(),
                    meanwhile(watch_endpoint(control.endpoint, self.progress)),
                ):
                    yield runner
            self.record = self.record.model_copy(update={"helpers": self._used.found})

    async def _workers(self) -> Executor:
        prepared, options = self.prepared, self.prepared.options
        executor: Executor = load_driver("executors", options.executor)(environments=options.environments)
        executor.options = executor_options(options)
        executor.concurrency = options.concurrency
        executor.hidden = hidden_paths(options, prepared.dataset.files)
        executor.commands = dict(prepared.commands)
        programs = tuple(command.digest() for command in prepared.commands.values())
        # Workers in a sandbox reach one server alone.
        server = self.record.run_id if options.sandbox else ""
        key = options.executor, options.executor_options, self._frameworks, programs, server
        return await self.standing.use(key, lambda: executor)

    @asynccontextmanager
    async def _server(
        self, models: Mapping[str, OpenedModel], helpers: HelperModels, calls: CallbackServer | None, workers: Executor
    ) -> AsyncIterator[tuple[ControlClient, Judge, ScoringProcesses]]:
        """Open the server, the judge, which may ask its model there, and the processes that score."""
        prepared, options, objects = self.prepared, self.prepared.options, self.prepared.objects
        simulator, user = options.simulator_model, options.user_model
        if options.budget is not None:
            used = partial(self._used.so_far, helpers)
            self._admission = await asyncio.to_thread(Admission, options.budget, self.store, self.record, used)
        async with (
            server(
                options,
                calls_back=calls is not None,
                workers=not self._is_live,
                models=models.values(),
                cache=prepared.cache,
                simulator_prices=helpers.prices("simulator", split_address(simulator)[0]) if simulator else None,
                user_prices=helpers.prices("user", split_address(user)[0]) if user else None,
                host=workers.server_host(),
                standing=self.standing,
            ) as control,
            judge_of(helpers, control, own=objects.judge) as judge,
            ScoringProcesses() as scoring,
        ):
            self._listeners.elsewhere = scoring
            yield control, judge, scoring

    async def _describe(self, executors: Mapping[str, Executor]) -> tuple[FrameworkInfo, ...]:
        """Describe the agents. If the run uses other machines, they must be the same as at its beginning.

        Raises:
            DriverError: an agent has changed.
        """
        runs = {cell.framework: executors[cell.label] for cell in self.record.config.cells}
        asked = [runs[name].describe(name) for name in self._frameworks]
        own = dict(zip(self._frameworks, await asyncio.gather(*asked), strict=True))
        moves = self.record.on_nodes or any(executor.remote for executor in executors.values())
        for name, info in own.items() if moves else ():
            if found := _changes(self._earlier.get(name, info), info):
                raise DriverError(
                    f"an agent has changed since the run began: {found}; restore it, or start a new run with --fresh"
                )
        return tuple(own[cell.framework].model_copy(update={"name": cell.label}) for cell in self.record.config.cells)


def refuse_turns(frameworks: Iterable[FrameworkInfo], query: Query) -> None:
    """Refuse a task with several messages of the user if an agent cannot be asked again.

    Raises:
        UsageError: there are such agents; names them.
    """
    messages = "answers" if query.user else f"{len(query.turns)} messages"
    if lacking := [info.name for info in frameworks if not info.converses]:
        raise UsageError(
            f"task {query.query_id} has {messages} of the user, and {', '.join(lacking)} can only be "
            "asked once; leave it out, or have the agent converse: an adapter sets `converses`, a function takes "
            "`history`"
        )


def _changes(before: FrameworkInfo, now: FrameworkInfo) -> str:
    """Describe how an agent has changed; packages that only one side has are ignored."""
    had, has = ({one.partition("==")[0]: one for one in info.packages} for info in (before, now))
    common = sorted(had.keys() & has.keys())
    return difference(
        before.model_copy(update={"packages": tuple(had[name] for name in common)}),
        now.model_copy(update={"packages": tuple(has[name] for name in common)}),
        MEASURED,
    )


async def run(
    prepared: Prepared,
    *,
    ambient: bool = False,
    progress: RunProgress | None = None,
    committed: Committed | None = None,
    standing: Standing | None = None,
) -> Run:
    """Run or resume a prepared run, until every result is in the store.

    Args:
        ambient: whether requests without a token belong to the open trial.
        progress: follows the run.
        committed: called with trials once they are committed, in a thread.
        standing: what earlier and later runs of this event loop share with this one; None for a run that is alone.

    Raises:
        TrialbedError: nothing ran; says why. Trials that had ended before stay in the store.
    """
    shown, digest = progress or RunProgress(), config_digest(prepared.config)
    async with nullcontext(standing) if standing is not None else Standing() as kept:
        store = await kept.use(prepared.options.store, partial(_opened, prepared.options.store))
        async with hold_run(store, digest, partial(find_run, store, prepared)) as found:
            run_ = await asyncio.to_thread(_record, store, prepared, found, digest, shown)
            for line in prepared.notes:
                shown.note(line)
            session = RunSession(prepared, store, run_, shown, ambient=ambient, standing=kept, committed=committed)
            return await session.run()


@asynccontextmanager
async def _opened(place: str) -> AsyncIterator[Store]:
    with await asyncio.to_thread(Store.open, place) as store:
        yield store


def _record(store: Store, prepared: Prepared, found: Run | None, digest: str, progress: RunProgress) -> Run:
    """Return the run to continue, which is the one found or a new one.

    Args:
        found: the run that the command continues; it is locked.
    """
    options = prepared.options
    if found is not None and options.fresh:
        store.discard_run(found.run_id)
        found = None
    if found is None:
        with suppress(DataError):  # of another run, which need not keep this one from starting
            for remark in remarks(store, prepared):
                progress.note(remark)
    config = prepared.config if found is None else with_labels_of(found.config, prepared.config)
    prices = prices_of(options, config, found)
    own = RunChanges(against=options.against, margin=options.margin, prices=prices)
    return record_run(store, found, config, digest, tags=options.tags, note=options.note, own=own)
