"""Adapters that leave things behind, block, or talk to others."""

from __future__ import annotations

import asyncio
import contextlib
import os
import subprocess
import sys
import threading
import urllib.request

import httpx
from support.defects._defective import Defective


class LeavesATask(Defective):
    caught_by = ("no_tasks_are_left", "twenty_trials_leak_nothing")

    async def close(self):
        await super().close()
        self.left.append(asyncio.create_task(asyncio.sleep(3600)))


class LeavesConnectionsOpen(Defective):
    caught_by = ("connections_are_closed", "twenty_trials_leak_nothing")

    async def close(self):
        self.left.append(self._client)


class LeavesAThread(Defective):
    caught_by = ("twenty_trials_leak_nothing",)

    async def close(self):
        await super().close()
        self.left.append(over := threading.Event())
        threading.Thread(target=over.wait, args=(60,), daemon=True).start()


class LeavesAFile(Defective):
    caught_by = ("twenty_trials_leak_nothing",)

    async def close(self):
        await super().close()
        self.left.append(os.open(os.devnull, os.O_RDONLY))


class LeavesAProcess(Defective):
    caught_by = ("twenty_trials_leak_nothing",)

    async def close(self):
        await super().close()
        command = [sys.executable, "-S", "-c", "import time; time.sleep(60)"]
        self.left.append(subprocess.Popen(command))  # noqa: ASYNC220 - as frameworks do


class SetsVariables(Defective):
    caught_by = ("surroundings_are_untouched",)

    async def answer(self, query):
        os.environ["FRAMEWORK_BASE_URL"] = self.endpoint.base_url
        return await super().answer(query)

    async def close(self):
        await super().close()


class ChangesTheFolder(Defective):
    caught_by = ("surroundings_are_untouched",)

    async def answer(self, query):
        os.chdir("/")
        return await super().answer(query)


class Prints(Defective):
    caught_by = ("nothing_is_printed",)

    async def answer(self, query):
        sys.stdout.write("thinking\n")
        return await super().answer(query)


class PrintsPastPython(Defective):
    caught_by = ("nothing_is_printed",)

    async def answer(self, query):
        os.write(1, b"thinking\n")
        return await super().answer(query)


class BlocksTheLoop(Defective):
    caught_by = ("event_loop_stays_free",)

    async def _ask(self, messages):
        with httpx.Client(timeout=60, verify=False) as client:
            url = f"{self.endpoint.base_url}/chat/completions"
            response = client.post(url, json=self._request(messages))  # noqa: ASYNC212 - the defect
        return self._message(response)


class ReportsHome(Defective):
    caught_by = ("only_the_rig_is_talked_to",)

    async def answer(self, query):
        def report():
            with contextlib.suppress(OSError):
                urllib.request.urlopen("http://telemetry.invalid/", timeout=1)

        await asyncio.to_thread(report)
        return await super().answer(query)


class ReportsNextDoor(Defective):
    caught_by = ("only_the_rig_is_talked_to",)

    async def answer(self, query):
        with contextlib.suppress(OSError):
            await asyncio.open_connection("127.0.0.1", 9)
        return await super().answer(query)
