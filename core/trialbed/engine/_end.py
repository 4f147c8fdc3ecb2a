"""The end of a session: the state in which it leaves the run, and the report that is kept with it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from functools import partial

from trialbed.engine._lost import LostTrials
from trialbed.engine._progress import RunProgress, say_when_long
from trialbed.own_thread import OwnThread
from trialbed.preparation import count_trials
from trialbed.records import Run, RunStatus
from trialbed.store import MadeReport, Store

ReportRun = Callable[[Run], MadeReport | None]
"""Makes the report of a run whose session has ended; None for none that is kept."""

PREPARING = "the run is kept; preparing its figures, so that later commands are fast (Ctrl-C leaves that out)"


class RunEnd:
    """Ends a session, however it went.

    Args:
        report: makes the report that is kept once the run has ended.
    """

    def __init__(self, store: Store, run: Run, progress: RunProgress, report: ReportRun | None) -> None:
        self._store = store
        self._run_id = run.run_id
        self._progress = progress
        self._report = report
        self._time_before = run.overall_time
        self._began = time.monotonic()

    async def reached(self, run: Run, lost: LostTrials) -> Run:
        """Store the state of a run whose trials have all had their turn, and its report; return it in that state."""
        ended = await asyncio.to_thread(self._finish, run, lost)
        await say_when_long(self._progress, "reporting the trials", self._keep_report(ended))
        return ended

    async def cut_short(self, *, void: bool) -> None:
        """Store that the session did not get to the end; a run without a trial, or that is void, is discarded."""
        ended = await asyncio.shield(asyncio.to_thread(self._end_early, void=void))
        if ended is not None:
            keeping = self._keep_report(ended)
            await say_when_long(self._progress, PREPARING, keeping)

    def _end_early(self, *, void: bool) -> Run | None:
        if self._store.has_attempts(self._run_id) and not void:
            self._store.update_run(self._run_id, status="interrupted", overall_time=self._overall_time(), flights="")
            return self._store.run(self._run_id)
        self._store.discard_run(self._run_id)
        return None

    def _finish(self, run: Run, lost: LostTrials) -> Run:
        overall = self._overall_time()
        measured = self._store.count_measured(self._run_id)
        status: RunStatus = "finished" if measured == count_trials(run.config) else "incomplete"
        self._store.update_run(self._run_id, status=status, overall_time=overall, flights="")
        return run.model_copy(update={"status": status, "overall_time": overall, "lost": lost.counts})

    async def _keep_report(self, ended: Run) -> None:
        """Keep the report of a run whose end is stored: whatever keeps it from that, its trials are all there."""
        try:
            report = None if self._report is None else await _in_own_thread(partial(self._report, ended))
            if report is not None:
                await asyncio.to_thread(self._store.keep_report, report)
        except Exception as error:  # noqa: BLE001 - plugins take part in it; the run has ended all the same
            reason = str(error) or type(error).__name__
            self._progress.note(f"the figures of run {ended.run_id} are not kept with it: {reason}")

    def _overall_time(self) -> float:
        return self._time_before + time.monotonic() - self._began


async def _in_own_thread(make: Callable[[], MadeReport | None]) -> MadeReport | None:
    """Make a report in a thread that no program waits for, so that a further Ctrl-C ends it."""
    thread = OwnThread()
    try:
        return await thread.do(make)
    finally:
        thread.end()
