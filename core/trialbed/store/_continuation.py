"""The run that a command continues, or begins: found, locked and recorded."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import ExitStack, asynccontextmanager

from trialbed.records import Run, RunConfig
from trialbed.store._runs import RunChanges, new_run
from trialbed.store._store import Store
from trialbed.wire.redaction import redact


@asynccontextmanager
async def hold_run(store: Store, digest: str, find: Callable[[], Run | None]) -> AsyncIterator[Run | None]:
    """Find the run that a command continues, and hold its lock; None if the command begins one.

    Args:
        digest: of the configuration that the command asks for.
        find: looks for the run in the store.

    Raises:
        UsageError: another process is at it.
    """
    with ExitStack() as locks:
        # Looked up under the locks: another process may be at this very run, which must not be discarded or doubled.
        locks.enter_context(store.lock(digest))
        found = await asyncio.to_thread(find)
        if found is not None:
            locks.enter_context(store.lock(found.run_id))
            # Read again: before it was locked, another process may have been at it.
            found = await asyncio.to_thread(store.run, found.run_id)
        yield found


def record_run(
    store: Store,
    found: Run | None,
    config: RunConfig,
    digest: str,
    *,
    tags: Iterable[str],
    note: str | None,
    own: RunChanges,
) -> Run:
    """Record that a command begins a run, or continues the one that was found; return it.

    Args:
        tags, note: the user's words for it, which are added to those that it has; None leaves the note.
        own: further fields.
    """
    known = found.tags if found else ()
    tags = tuple(dict.fromkeys((*known, *filter(None, map(str.strip, tags)))))
    note = redact(note if note is not None else found.note if found else "")
    changes: RunChanges = {**own, "config": config, "config_digest": digest, "tags": tags, "note": note}
    if found is None:
        run = new_run(config, digest).model_copy(update=dict(changes))
        store.create_run(run)
        return run
    changes["status"] = "running"
    store.update_run(found.run_id, **changes)
    return store.run(found.run_id)
