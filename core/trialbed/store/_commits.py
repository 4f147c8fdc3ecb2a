"""Commits the trials that have ended, while others go on."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, suppress
from functools import partial

from trialbed.errors import TrialbedError
from trialbed.records import TrialResult
from trialbed.store._store import Store

GATHERING = 0.2
"""Seconds in which trials that end are gathered: to commit several together takes hardly longer than to commit one."""

MOST = 64
"""Trials that wait to be committed; where more have ended, the next ones begin later."""


class Commits:
    """The trials that have ended and are not committed yet.

    Only a committed trial counts as ended, for the caller as for the store: should the process be killed, the others
    are run again.

    Args:
        committed: called for each trial once it is committed, in the order in which they ended.
        gathering: seconds.
        most: how many may wait to be committed.
        masked: whether there are no secrets in the trials any more.
        after: called with trials once they are committed, in a thread, before ``committed``.
    """

    def __init__(
        self,
        store: Store,
        run_id: str,
        committed: Callable[[TrialResult], None],
        *,
        gathering: float = GATHERING,
        most: int = MOST,
        masked: bool = False,
        after: Callable[[Sequence[TrialResult]], object] | None = None,
    ) -> None:
        self._committed = committed
        self._gathering = gathering
        self._most = most
        self._add = partial(store.add_trials, run_id, masked=True) if masked else partial(store.add_trials, run_id)
        self._after = after
        self._ended: list[TrialResult] = []
        self._waiting = 0
        self._room = asyncio.Event()
        self._room.set()
        self._wake = asyncio.Event()
        self._closed = asyncio.Event()

    async def add(self, result: TrialResult) -> None:
        """Take in a trial that has ended; waits while many wait to be committed."""
        self.put(result)
        await self.room()

    def put(self, result: TrialResult) -> None:
        """Take in a trial that has ended, at once."""
        self._ended.append(result)
        self._wake.set()
        self._count(1)

    async def room(self) -> None:
        """Wait while many trials wait to be committed."""
        await self._room.wait()

    @asynccontextmanager
    async def open(self) -> AsyncIterator[None]:
        """Commit trials while the body runs, and in the end all that have ended, however it ends.

        Of the errors of task groups in the body, the most informative one is raised in place of the groups.

        Raises:
            DataError: the store refuses a trial; the body is cancelled.
        """
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(self._run())
                yield
                self._closed.set()
                self._wake.set()
        except BaseExceptionGroup as errors:
            raise _most_informative(errors) from None

    async def _run(self) -> None:
        try:
            while not self._closed.is_set():
                await self._wake.wait()
                with suppress(TimeoutError):
                    async with asyncio.timeout(self._gathering):
                        await self._closed.wait()
                await self._commit()
        finally:
            await self._commit()

    async def _commit(self) -> None:
        self._wake.clear()
        ended, self._ended = self._ended, []
        if not ended:
            return
        transaction = asyncio.ensure_future(asyncio.to_thread(self._add_all, ended))
        try:
            await asyncio.shield(transaction)
        finally:
            # Where this is cancelled meanwhile, the thread goes on.
            await transaction
            self._count(-len(ended))
            for result in ended:
                self._committed(result)

    def _add_all(self, ended: Sequence[TrialResult]) -> None:
        self._add(ended)
        if self._after is not None:
            self._after(ended)

    def _count(self, more: int) -> None:
        self._waiting += more
        if self._waiting > self._most:
            self._room.clear()
        else:
            self._room.set()


def _most_informative(group: BaseExceptionGroup[BaseException]) -> BaseException:
    """Return the first of Trialbed's own errors, else the first."""
    leaves = list(_leaves(group))
    return next((error for error in leaves if isinstance(error, TrialbedError)), leaves[0])


def _leaves(group: BaseExceptionGroup[BaseException]) -> Iterator[BaseException]:
    for error in group.exceptions:
        if isinstance(error, BaseExceptionGroup):
            yield from _leaves(error)
        else:
            yield error
