"""Commits the trials that have ended, while others go on."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import KW_ONLY, dataclass, field

from trialbed.errors import TrialbedError
from trialbed.records import TrialResult
from trialbed.store._store import Store

GATHERING = 0.2
"""Seconds to gather ended trials, because committing several takes hardly longer than committing one."""

MOST = 64
"""Trials that may wait to be committed. If more have ended, they are committed first, before the next ones begin."""


@dataclass
class Commits:
    """Ended trials that are not committed yet.

    Only a committed trial counts as ended, for the caller and for the store. If the process is killed, the others run
    again.

    Args:
        committed: called for each trial once it is committed, in the order they ended.
        most: how many may wait to be committed.
        masked: whether secrets are already masked in the trials.
        after: called with trials once they are committed, in a thread, before ``committed``.
    """

    store: Store
    run_id: str
    committed: Callable[[TrialResult], None]
    _: KW_ONLY
    most: int = MOST
    masked: bool = False
    after: Callable[[Sequence[TrialResult]], object] | None = None
    _ended: list[TrialResult] = field(default_factory=list, init=False)
    _waiting: int = field(default=0, init=False)
    _room: asyncio.Event = field(default_factory=asyncio.Event, init=False)
    _wake: asyncio.Event = field(default_factory=asyncio.Event, init=False)
    _hurry: asyncio.Event = field(default_factory=asyncio.Event, init=False)
    _is_open: bool = field(default=True, init=False)

    def put(self, result: TrialResult) -> None:
        """Accept a trial that has ended; returns immediately."""
        self._ended.append(result)
        self._waiting += 1
        self._wake.set()
        if self._waiting > self.most:
            self._hurry.set()

    async def room(self) -> None:
        """Wait while many trials wait to be committed."""
        while self._waiting > self.most:
            self._room.clear()
            await self._room.wait()

    @asynccontextmanager
    async def open(self) -> AsyncIterator[None]:
        """Commit trials while the body runs, and all ended trials at its end, even after an error.

        If task groups in the body fail, their first error from Trialbed is raised in place of the groups.

        Raises:
            DataError: the store refuses a trial; the body is cancelled.
        """
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(self._run())
                yield
                self._is_open = False
                self._hurry.set()
                self._wake.set()
        except BaseExceptionGroup as errors:
            first: BaseException = errors.subgroup(TrialbedError) or errors
            while isinstance(first, BaseExceptionGroup):
                first = first.exceptions[0]
            raise first from None

    async def _run(self) -> None:
        try:
            while self._is_open:
                await self._wake.wait()
                with suppress(TimeoutError):
                    async with asyncio.timeout(GATHERING):
                        await self._hurry.wait()
                await self._commit()
        finally:
            await self._commit()

    async def _commit(self) -> None:
        self._wake.clear()
        self._hurry.clear()
        ended, self._ended = self._ended, []
        if not ended:
            return
        transaction = asyncio.ensure_future(asyncio.to_thread(self._add_all, ended))
        try:
            await asyncio.shield(transaction)
        finally:
            # If this is cancelled meanwhile, the thread goes on.
            await transaction
            self._waiting -= len(ended)
            self._room.set()
            for result in ended:
                self.committed(result)

    def _add_all(self, ended: Sequence[TrialResult]) -> None:
        self.store.add_trials(self.run_id, ended, masked=self.masked)
        if self.after is not None:
            self.after(ended)
