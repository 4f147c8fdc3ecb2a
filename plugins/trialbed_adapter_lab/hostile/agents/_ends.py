"""Agents whose trials crash, hang, raise, or answer with something else than an answer."""

# ruff: noqa: ASYNC251 - blocking the event loop is what some of them are for

from __future__ import annotations

import asyncio
import os
import re
import signal
import sys
import threading
import time
from typing import Any

from trialbed import Answer, ClaimedCall, ModelFailed
from trialbed_adapter_lab.hostile.agents._base import NAP, done


class Crashes:
    async def exit_code(self) -> Any:
        sys.stderr.write("last words")
        os._exit(3)

    async def segfault(self) -> Any:
        os.kill(os.getpid(), signal.SIGSEGV)
        await asyncio.sleep(NAP)

    async def close_everything(self) -> Any:
        os.closerange(3, 64)
        return done()

    async def exit_in_native_code(self) -> Any:
        os.abort()


class Hangs:
    async def sleep(self) -> Any:
        await asyncio.sleep(NAP)

    async def busy_loop(self) -> Any:
        while True:
            pass

    async def blocking_sleep(self) -> Any:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        time.sleep(NAP)

    async def hold_the_lock(self) -> Any:
        re.match(r"(a+)+$", "a" * 64 + "b")

    async def stop_itself(self) -> Any:
        os.kill(os.getpid(), signal.SIGSTOP)

    async def deadlock(self) -> Any:
        lock = threading.Lock()
        lock.acquire()
        lock.acquire()


class Exceptions:
    async def raise_error(self) -> Any:
        raise ValueError("the framework does not like this")

    async def raise_unprintable(self) -> Any:
        class Unprintable(Exception):
            def __str__(self) -> str:
                raise RuntimeError("no text for you")

        raise Unprintable

    async def raise_system_exit(self) -> Any:
        raise SystemExit(4)

    async def raise_interrupt(self) -> Any:
        raise KeyboardInterrupt

    async def raise_cancelled(self) -> Any:
        raise asyncio.CancelledError

    async def recurse(self) -> Any:
        return await self.recurse()

    async def exit_in_a_task(self) -> Any:
        async def leave() -> None:
            sys.exit(5)

        await asyncio.create_task(leave())

    async def model_down(self) -> Any:
        raise ModelFailed("the model's endpoint answered with status 500: down")


class Answers:
    async def wrong_type(self) -> Any:
        return 42

    async def bad_node(self) -> Any:
        return {"answer": {"final_answer": "", "answer_details": [{"role": "tool", "message": "{", "next": []}]}}

    async def not_json(self) -> Any:
        return Answer(final_answer="", calls=(ClaimedCall(name="x", arguments={"when": object()}),))
