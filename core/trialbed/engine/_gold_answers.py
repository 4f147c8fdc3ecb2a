"""The gold calls of a run's queries, made once by the run itself: how long they take, and what they are answered."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence

from trialbed.engine._control import ControlClient
from trialbed.engine._identity import new_trial_token
from trialbed.engine._tools import complete_gold_calls
from trialbed.errors import TrialbedError
from trialbed.records import GoldAnswer, Query, TrialRegistration
from trialbed.store import Store

MODEL = "scripted:none"
"""The model of the trials in which gold calls are made; it is asked nothing."""

GoldAnswers = Mapping[int | str, GoldAnswer]
"""What the gold calls of queries were answered, by the query's id."""


class GoldCalls:
    """Makes the gold calls of queries, each in a trial of its own, and keeps what they are answered.

    Args:
        simulator: answers for the Apis, as in the run's trials.
        concurrency: how many queries at once; the calls of one query are made in order.
        note: told what the user should know.
    """

    def __init__(
        self,
        store: Store,
        run_id: str,
        control: ControlClient,
        simulator: str,
        *,
        concurrency: int,
        note: Callable[[str], None],
    ) -> None:
        self._store = store
        self._run_id = run_id
        self._control = control
        self._simulator = simulator
        self._note = note
        self._slots = asyncio.Semaphore(concurrency)

    async def make(self, queries: Sequence[Query]) -> None:
        """Make the gold calls that the run has no answers of yet.

        A query whose calls do not reach the server has none: the user is told, and the run goes on.
        """
        known = await asyncio.to_thread(self._store.gold_answers, self._run_id)
        due = [query for query in queries if query.gold_calls and query.query_id not in known]
        async with asyncio.TaskGroup() as group:
            for query in due:
                group.create_task(self._keep(query))

    async def _keep(self, query: Query) -> None:
        async with self._slots:
            try:
                answer = await self._answer(query)
            except TrialbedError as error:
                self._note(f"the gold calls of query {query.query_id!r} were not made: {error}")
                return
        await asyncio.to_thread(self._store.add_gold_answer, self._run_id, answer)

    async def _answer(self, query: Query) -> GoldAnswer:
        trial = new_trial_token()
        await self._control.open_trial(
            TrialRegistration(trial=trial, model=MODEL, apis=query.apis, simulator=self._simulator)
        )
        try:
            began = time.perf_counter()
            for call in complete_gold_calls(query):
                await self._control.call_api(trial, call)
            seconds = time.perf_counter() - began
        finally:
            wire = await self._control.close_trial(trial)
        return GoldAnswer(query_id=query.query_id, seconds=seconds, calls=wire.api_calls)
