"""From options to a run: look everything up, create or resume the run, and hand it to a sitting."""

from __future__ import annotations

import asyncio
from importlib.metadata import version
from typing import Any

from trialbed.contracts import Executor
from trialbed.drivers import load_driver
from trialbed.engine._dataset import choose_queries, open_dataset
from trialbed.engine._identity import config_digest
from trialbed.engine._lock import run_lock
from trialbed.engine._options import RunOptions
from trialbed.engine._plan import Prepared, new_run, run_config
from trialbed.engine._progress import Progress, Silent
from trialbed.engine._sitting import Sitting
from trialbed.engine._trial import SCRIPTED
from trialbed.errors import UsageError
from trialbed.records import Run
from trialbed.results import check_folder
from trialbed.store import Store

RULE = "rule"


async def run(
    options: RunOptions, *, executor: Executor | None = None, ambient: bool = False, progress: Progress | None = None
) -> list[dict[str, Any]]:
    """Run what was asked for, or resume it, and return one result document per framework.

    Args:
        executor: runs the trials; the driver that the options name if not given.
        ambient: whether requests without a token belong to the open trial.
        progress: is told of every step.

    Raises:
        TrialbedError: nothing ran; says why. What had finished before stays in the store.
    """
    prepared = await asyncio.to_thread(prepare, options, in_process=executor is not None)
    lock = run_lock(options.store, config_digest(prepared.config))
    # Looked up under the lock: another process may be at this very run, which must not be discarded or doubled.
    with await asyncio.to_thread(Store.open, options.store) as store, lock:
        run_ = await asyncio.to_thread(_resume_or_create, store, prepared)
        sitting = Sitting(prepared, store, run_, progress or Silent(), ambient=ambient)
        return await sitting.go(executor)


def prepare(options: RunOptions, *, in_process: bool = False) -> Prepared:
    """Look up the dataset, the queries and the drivers, and see that the documents can be written.

    Raises:
        UsageError, DataError, DriverError: something asked for is not there or not usable.
    """
    _check_models(options)
    dataset = open_dataset(options.dataset, options.data_dir)
    queries = choose_queries(dataset, options.limit, options.query_ids)
    config = run_config(options, dataset, queries, version("trialbed"), in_process=in_process)
    load_driver("selectors", config.selector)
    if not in_process:
        load_driver("executors", options.executor)
    check_folder(options.output)
    return Prepared(options, dataset, queries, config)


def _resume_or_create(store: Store, prepared: Prepared) -> Run:
    fresh = new_run(prepared.config)
    unfinished = store.unfinished_run(fresh.config_digest)
    if unfinished is not None and prepared.options.fresh:
        store.discard_run(unfinished.run_id)
        unfinished = None
    if unfinished is not None:
        store.update_run(unfinished.run_id, status="running")
        return unfinished
    store.create_run(fresh)
    return fresh


def _check_models(options: RunOptions) -> None:
    for model in (options.model, options.judge):
        if model != RULE and not model.startswith(SCRIPTED) and not options.base_url:
            raise UsageError(
                f"the model {model!r} needs an endpoint: give --base-url URL (OpenAI-compatible, ending in /v1), "
                "or use a scripted model such as scripted:gold"
            )
