"""Runs trials and reports them: what ``bench run`` and the Python API share."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace

from trialbed.catalogs import queries_by_id
from trialbed.contracts import Executor
from trialbed.drivers import load_driver
from trialbed.engine import RunProgress, judge_refusal, run, say_when_long
from trialbed.errors import TrialbedError
from trialbed.plugins import installed_listeners
from trialbed.preparation import NO_OBJECTS, Prepared, RunObjects, RunOptions, prepare
from trialbed.records import Run, TrialResult
from trialbed.report import Report, check_folder, open_documents, read_report, write_document
from trialbed.report.comparison import chosen_baseline
from trialbed.report.kept import make_report
from trialbed.store import MadeReport, Store, StoredRun, make_columns, open_store


async def run_and_report(
    options: RunOptions,
    *,
    objects: RunObjects = NO_OBJECTS,
    executor: Executor | None = None,
    ambient: bool = False,
    progress: RunProgress | None = None,
    documents: bool = True,
) -> Report:
    """Run what was asked for, or resume it; write the result documents and report what was measured.

    Args:
        objects: the parts of the run that are objects of this process.
        executor: runs the trials of all frameworks that are not; the driver that the options name if not given.
        ambient: whether requests without a token belong to the open trial.
        progress: follows the run.
        documents: whether result documents are written.

    Raises:
        TrialbedError: nothing ran; says why. What had finished before stays in the store.
    """
    prepared = await asyncio.to_thread(prepare_run, options, objects, executor=executor)
    reporter = RunReporter(prepared, objects)
    ended = await run(prepared, executor=executor, ambient=ambient, progress=progress, report=reporter)
    shown = progress or RunProgress()
    await _judge_again(prepared, ended, shown)
    concluding = asyncio.to_thread(reporter.conclude, ended, documents=documents)
    return await say_when_long(shown, "writing the documents", concluding)


async def _judge_again(prepared: Prepared, ended: Run, progress: RunProgress) -> None:
    """Have the further judges grade the answers of a run that has ended, as ``bench score --judge`` does.

    What keeps one from it is a note: the trials have been paid for, and are reported all the same.
    """
    for judge in prepared.options.judges[1:]:
        try:
            refusal = await _judge_once(prepared, ended.run_id, judge, progress)
        except TrialbedError as error:
            refusal = str(error)
        if refusal:
            progress.note(
                f"the judge {judge} has not graded the answers: {refusal}; "
                f"bench score {ended.run_id} --judge {judge} asks it"
            )


async def _judge_once(prepared: Prepared, run_id: str, judge: str, progress: RunProgress) -> str | None:
    """Have a further judge grade the answers; returns why it may not."""
    options = replace(prepared.options, judge=judge)
    queries = queries_by_id(prepared.queries)
    with Store.open(options.store) as store:
        stored = await asyncio.to_thread(store.find_run, run_id)
        refusal = await asyncio.to_thread(judge_refusal, options.budget, options, store, stored)
        if refusal is None:
            progress.note(f"the judge {judge} grades the answers")
            rejudge = load_driver("components", "judging").rejudge
            await rejudge(store, stored, queries, options, is_part=True)
        return refusal


def prepare_run(options: RunOptions, objects: RunObjects = NO_OBJECTS, *, executor: Executor | None = None) -> Prepared:
    """Look everything up that a run and its report need, and see that the documents can be written.

    Raises:
        UsageError, DataError, DriverError: something asked for is not there or not usable.
    """
    prepared = prepare(options, objects, executor=executor)
    against, frameworks = prepared.options.against, prepared.config.frameworks
    if against is not None and frameworks:
        chosen_baseline(frameworks, against)
    check_folder(options.output)
    return prepared


class RunReporter:
    """Reports a run once its trials have ended, for its store, its documents and the caller."""

    def __init__(self, prepared: Prepared, objects: RunObjects = NO_OBJECTS) -> None:
        self._prepared = prepared
        self._listeners = installed_listeners(objects.plugins)
        self._made: tuple[MadeReport, Report] | None = None

    def __call__(self, ended: Run) -> MadeReport | None:
        """Report the run as its session ends; if it lacks trials, only their columns, where these are kept.

        Raises:
            DataError: a plugin's figure has the name of another.
        """
        with open_store(self._prepared.options.store) as store:
            stored = replace(store.run(ended.run_id), record=ended)
            if ended.status != "finished":
                return make_columns(stored)
            self._made = self._make(stored)
            return self._made[0]

    def _make(self, stored: StoredRun) -> tuple[MadeReport, Report]:
        found: list[Report] = []

        def read() -> Report:
            found.append(self._read(stored))
            return found[0]

        made = make_report(stored, read, self._listeners)
        return made, found[0]

    def _read(self, stored: StoredRun) -> Report:
        options = self._prepared.options
        return read_report(
            stored,
            queries_by_id(self._prepared.queries),
            against=options.against,
            margin=options.margin,
            allow_incomplete=options.allow_incomplete,
            described=self._listeners.descriptions(),
            aggregate=self._listeners.aggregate,
        )

    def conclude(self, run: Run, *, documents: bool = True) -> Report:
        """Report a run that has ended: write its result documents, if they are wanted, and notify plugins.

        Raises:
            DataError: a document cannot be written, or a plugin's figure has the name of another.
        """
        options = self._prepared.options
        with open_store(options.store) as store:
            report = self._current(store.run(run.run_id))
            if documents:
                with open_documents(report, options.output) as made:
                    for document, entries in made:
                        write_document(document, options.output, entries)
            self._listeners.notify("run_finished", run=report.run, report=report)
        return replace(report, whole=lambda: _each_result(options.store, run.run_id))

    def _current(self, stored: StoredRun) -> Report:
        """The report of the run as it is now: a further judge may have graded it since it ended."""
        if self._made is not None and self._made[0].trials == stored.version()[1:]:
            return replace(self._made[1], run=stored.record, whole=stored.each_result)
        if stored.status != "finished":
            return self._read(stored)
        made, report = self._make(stored)
        with suppress(TrialbedError), Store.open(self._prepared.options.store) as store:
            store.keep_report(made)  # one that is not kept is made anew by those who read it
        return report


def _each_result(store: str, run_id: str) -> Iterator[TrialResult]:
    with open_store(store) as reader:
        yield from reader.run(run_id).each_result()
