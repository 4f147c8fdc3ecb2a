"""How a trial can fail to end well: it crashes, hangs, raises, or answers with what is no answer."""

# ruff: noqa: ASYNC251 - blocking the event loop is what some of them are for

import asyncio
import os
import re
import signal
import sys
import threading
import time

from hostile_base import NAP, done

from trialbed import Answer, ClaimedCall, ModelFailed


class Crashes:
    async def exit_code(self):
        sys.stderr.write("last words")
        os._exit(3)

    async def segfault(self):
        os.kill(os.getpid(), signal.SIGSEGV)
        await asyncio.sleep(NAP)

    async def close_everything(self):
        os.closerange(3, 64)
        return done()

    async def exit_in_native_code(self):
        os.abort()


class Hangs:
    async def sleep(self):
        await asyncio.sleep(NAP)

    async def busy_loop(self):
        while True:
            pass

    async def blocking_sleep(self):
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        time.sleep(NAP)

    async def hold_the_lock(self):
        re.match(r"(a+)+$", "a" * 64 + "b")

    async def stop_itself(self):
        os.kill(os.getpid(), signal.SIGSTOP)

    async def deadlock(self):
        lock = threading.Lock()
        lock.acquire()
        lock.acquire()


class Exceptions:
    async def raise_error(self):
        raise ValueError("the framework does not like this")

    async def raise_unprintable(self):
        class Unprintable(Exception):
            def __str__(self):
                raise RuntimeError("no text for you")

        raise Unprintable

    async def raise_system_exit(self):
        raise SystemExit(4)

    async def raise_interrupt(self):
        raise KeyboardInterrupt

    async def raise_cancelled(self):
        raise asyncio.CancelledError

    async def recurse(self):
        return await self.recurse()

    async def exit_in_a_task(self):
        async def leave():
            sys.exit(5)

        await asyncio.create_task(leave())

    async def model_down(self):
        raise ModelFailed("the model's endpoint answered with status 500: down")


class Answers:
    async def wrong_type(self):
        return 42

    async def bad_node(self):
        return {"answer": {"final_answer": "", "answer_details": [{"role": "tool", "message": "{", "next": []}]}}

    async def not_json(self):
        return Answer(final_answer="", calls=(ClaimedCall(name="x", arguments={"when": object()}),))

    async def surrogate(self):
        return {"answer": {"final_answer": "half a pair: \ud800", "answer_details": []}}

    async def document(self):
        return {"answer": {"final_answer": "yes", "answer_details": []}, "called_apis": [["Weather", "now"]]}
