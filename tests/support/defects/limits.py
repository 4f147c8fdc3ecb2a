"""Adapters that miss a limit, or that cannot be cancelled."""

from __future__ import annotations

import asyncio
import contextlib
from typing import ClassVar

from support.defects._defective import Defective, Turn

from trialbed import ModelFailed


class AsksOnceMore(Turn):
    caught_by = ("step_limit_is_kept", "unfinished_is_no_answer")

    async def answer(self, query):
        answer = await super().answer(query)
        if answer.finish is None and not answer.final_answer and self._calls:
            last = {"role": "user", "content": "Give your final answer."}
            await self._ask([{"role": "system", "content": self.system_prompt}, last])
            return answer.model_copy(update={"final_answer": "I could not finish."})
        return answer


class CountsOneTooFew(Defective):
    caught_by = ("step_limit_is_kept", "answer_in_the_last_turn_counts")

    def __init__(self, endpoint, limits, *, system_prompt):
        fewer = limits.model_copy(update={"max_steps": max(1, limits.max_steps - 1)})
        super().__init__(endpoint, fewer, system_prompt=system_prompt)


class AnswersWithTheRefusal(Defective):
    """Leaves the limit to the gateway, and returns its refusal as the model's answer."""

    caught_by = ("refusal_is_not_an_answer", "step_limit_is_kept")

    def __init__(self, endpoint, limits, *, system_prompt):
        super().__init__(endpoint, limits.model_copy(update={"max_steps": 100}), system_prompt=system_prompt)

    async def answer(self, query):
        try:
            return await super().answer(query)
        except ModelFailed as error:
            return self._finish(str(error), 1)


class SkipsTheLastCalls(Turn):
    caught_by = ("calls_of_the_last_turn_are_made",)

    async def make(self, calls):
        return [] if len(self._calls) == self.limits.max_steps - 1 else await super().make(calls)


class WaitsCancellationsOut(Defective):
    caught_by = ("cancelled_during_a_tool", "cancelled_during_a_model_request")

    async def answer(self, query):
        working = asyncio.ensure_future(super().answer(query))
        while not working.done():
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.shield(working)
        return working.result()


class LeavesItsWorkRunning(Defective):
    caught_by = ("cancelled_during_a_tool", "cancelled_during_a_model_request")

    async def answer(self, query):
        return await asyncio.shield(super().answer(query))

    async def close(self):
        pass


class BreaksOnCancellation(Defective):
    """Holds a lock of the process, and does not free it when it is cancelled."""

    caught_by = ("trial_after_a_cancelled_one",)
    held: ClassVar[set[str]] = set()

    async def answer(self, query):
        if self.held:
            self.held.clear()
            raise RuntimeError("the session is in use")
        self.held.add(query)
        answer = await super().answer(query)
        self.held.clear()
        return answer
