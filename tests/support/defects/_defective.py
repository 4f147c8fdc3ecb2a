"""What defective adapters have in common."""

from __future__ import annotations

import asyncio
import os
import subprocess
import threading
from typing import Any, ClassVar

from trialbed import Answer
from trialbed_plugins.frameworks.reference import ReferenceAgent


class Defective(ReferenceAgent):
    """Names the checks that must fail because of it."""

    caught_by: ClassVar[tuple[str, ...]] = ()
    left: ClassVar[list[Any]] = []

    @classmethod
    def forget(cls):
        """Let go of what was left behind."""
        while cls.left:
            thing = cls.left.pop()
            if isinstance(thing, int):
                os.close(thing)
            elif isinstance(thing, subprocess.Popen):
                thing.kill()
                thing.wait()
            elif isinstance(thing, threading.Event):
                thing.set()


class Turn(Defective):
    """Plays the calls of a turn in its own way: ``make`` returns their results."""

    async def answer(self, query):
        messages = [{"role": "system", "content": self.system_prompt}, {"role": "user", "content": query}]
        for turn in range(1, self.limits.max_steps + 1):
            message = await self._ask(messages)
            messages.append(message)
            calls = message.get("tool_calls") or []
            if not calls:
                return self._finish(message.get("content") or "", turn)
            messages += await self.make(calls)
        return self.cut_off()

    async def make(self, calls):
        return await asyncio.gather(*map(self._result, calls))

    def cut_off(self):
        turns = self.limits.max_steps
        return Answer(final_answer="", calls=tuple(self._calls), usage=self._usage, model_turns=turns)
