"""Starts a run. It is locked, created or resumed, and handed to a session."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, nullcontext, suppress
from functools import partial

from trialbed.engine._background import Standing
from trialbed.engine._lanes import Committed
from trialbed.engine._progress import RunProgress
from trialbed.engine._session import RunSession
from trialbed.errors import DataError
from trialbed.preparation import Prepared, config_digest, find_run, prices_of, remarks, with_labels_of
from trialbed.records import Run
from trialbed.store import RunChanges, Store, hold_run, record_run


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
