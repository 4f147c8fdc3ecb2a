"""Run trials and report them, for ``bench run`` and the Python API."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial

from trialbed.engine import RunProgress, run
from trialbed.plugins import installed_listeners
from trialbed.preparation import NO_OBJECTS, Prepared, RunObjects, RunOptions, prepare
from trialbed.records import TrialResult
from trialbed.report import Entries, Report, add_entries, check_folder, each_document, read_report, write_document
from trialbed.store import open_store


async def run_and_report(
    options: RunOptions,
    *,
    objects: RunObjects = NO_OBJECTS,
    ambient: bool = False,
    progress: RunProgress | None = None,
    documents: bool = True,
) -> Report:
    """Run what was asked for, or resume it; write the result documents and report what was measured.

    Args:
        objects: the parts of the run that are objects of this process.
        ambient: whether requests without a token belong to the open trial.
        progress: follows the run.
        documents: whether result documents are written.

    Raises:
        TrialbedError: nothing ran; says why. What had finished before stays in the store.
    """
    prepared = await asyncio.to_thread(prepare_run, options, objects)
    store, queries = prepared.options.store, prepared.queries
    # Entries of documents are made when trials are committed, to avoid reading them again at the end of the run.
    entries: Entries | None = {} if documents else None
    keep = None if entries is None else partial(add_entries, entries, queries)
    ended = await run(prepared, ambient=ambient, progress=progress, committed=keep)

    def conclude() -> Report:
        with open_store(store) as reader:
            listeners = installed_listeners(objects.plugins)
            report = read_report(
                reader.run(ended.run_id),
                queries,
                listeners,
                against=options.against,
                margin=options.margin,
                allow_incomplete=options.allow_incomplete,
            )
            if entries is not None:
                for document, own in each_document(report, entries):
                    write_document(document, options.output, own)
            listeners.notify("run_finished", run=report.run, report=report)
        return replace(report, results=partial(_results, store, ended.run_id))

    return await asyncio.to_thread(conclude)


def prepare_run(options: RunOptions, objects: RunObjects = NO_OBJECTS) -> Prepared:
    """Look everything up that a run and its report need, and see that the documents can be written.

    Raises:
        UsageError, DataError, DriverError: something asked for is not there or not usable.
    """
    prepared = prepare(options, objects)
    against, frameworks = prepared.options.against, prepared.config.frameworks
    if against is not None and frameworks:
        from trialbed.report.comparison import chosen_baseline

        chosen_baseline(frameworks, against)
    check_folder(options.output)
    return prepared


def _results(store: str, run_id: str, rows: Sequence[int]) -> Iterator[TrialResult]:
    with open_store(store) as reader:
        yield from reader.run(run_id).results_at(rows)
