"""Adapters that claim something else than they did, mix trials up, or leave something behind."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import subprocess
import sys
import threading
import urllib.request
from typing import ClassVar

import httpx
from support.defects._registry import caught_by
from support.mutants._mutant import Mutant

from trialbed import ModelFailed, Tool, Usage


@caught_by("claims_are_right_everywhere", seam="cut_off")
def loses_calls_at_the_limit(self):
    return Mutant.on_cut_off(self).model_copy(update={"calls": ()})


@caught_by("unknown_usage_is_none", seam="answer")
def takes_unknown_for_zero(_, answer):
    return answer.model_copy(update={"usage": answer.usage or Usage()})


@caught_by("conversations_start_afresh", "trial_after_a_failed_one", "trial_after_a_cancelled_one", seam="request")
def remembers_conversations(self, request):
    asked = type(self).memory.setdefault("asked", [])
    if self.query not in asked:
        asked.append(self.query)
    first, *others = request["messages"]
    earlier = [{"role": "user", "content": query} for query in asked[-2:-1]]
    return {**request, "messages": [first, *earlier, *others]}


@caught_by("results_start_afresh", "equal_calls_again_and_again", seam="tool")
async def reuses_earlier_results(self, tool, arguments):
    known, key = type(self).memory, f"{tool.name} {json.dumps(arguments)}"
    if key not in known:
        known[key] = await tool.ainvoke(arguments)
    return known[key]


@caught_by("trials_at_once", seam="request")
def has_one_conversation(self, request):
    memory = type(self).memory
    if self.turn == 1:
        memory["model"] = request["model"]
    return {**request, "model": memory["model"]}


@caught_by("tools_start_afresh", "trials_at_once")
class KeepsToolsByName(Mutant):
    known: ClassVar[dict[str, Tool]] = {}

    def bind_tools(self, tools, *, server_url):
        super().bind_tools([self.known.setdefault(tool.name, tool) for tool in tools], server_url=server_url)


@caught_by("conversations_start_afresh")
class AddsTokensUpForEver(Mutant):
    total: ClassVar[list[Usage]] = [Usage()]

    def _count(self, usage):
        if usage:
            spent = Usage(prompt_tokens=usage["prompt_tokens"], completion_tokens=usage["completion_tokens"])
            self.total[0] += spent
        self._usage = self.total[0]


@caught_by("trial_after_a_failed_one")
class BreaksForGood(Mutant):
    broken: ClassVar[list[str]] = []

    async def answer(self, query):
        if self.broken:
            self.broken.clear()
            raise RuntimeError("the circuit is open")
        try:
            return await super().answer(query)
        except ModelFailed:
            self.broken.append("circuit")
            raise


class Leaves(Mutant):
    """Leaves something behind when it is closed."""

    async def close(self):
        await super().close()
        self.left.append(self.leave())


@caught_by("no_tasks_are_left", "twenty_trials_leak_nothing")
class LeavesATask(Leaves):
    def leave(self):
        return asyncio.create_task(asyncio.sleep(3600))


@caught_by("twenty_trials_leak_nothing")
class LeavesAThread(Leaves):
    def leave(self):
        over = threading.Event()
        threading.Thread(target=over.wait, args=(60,), daemon=True).start()
        return over


@caught_by("twenty_trials_leak_nothing")
class LeavesAFile(Leaves):
    def leave(self):
        return os.open(os.devnull, os.O_RDONLY)


@caught_by("twenty_trials_leak_nothing")
class LeavesAProcess(Leaves):
    def leave(self):
        return subprocess.Popen([sys.executable, "-S", "-c", "import time; time.sleep(60)"])


@caught_by("connections_are_closed", "twenty_trials_leak_nothing")
class LeavesConnectionsOpen(Mutant):
    async def close(self):
        self.left.append(self._client)


@caught_by("surroundings_are_untouched", seam="ask")
async def sets_variables(self, messages):
    os.environ["FRAMEWORK_BASE_URL"] = self.endpoint.base_url
    return await self._ask(messages)


@caught_by("surroundings_are_untouched", seam="ask")
async def changes_the_folder(self, messages):
    os.chdir("/")
    return await self._ask(messages)


@caught_by("nothing_is_printed", seam="ask")
async def prints(self, messages):
    sys.stdout.write("thinking\n")
    return await self._ask(messages)


@caught_by("nothing_is_printed", seam="ask")
async def prints_past_python(self, messages):
    os.write(1, b"thinking\n")
    return await self._ask(messages)


@caught_by("event_loop_stays_free", seam="ask")
async def blocks_the_loop(self, messages):
    with httpx.Client(timeout=60, verify=False) as client:
        url = f"{self.endpoint.base_url}/chat/completions"
        return self._message(client.post(url, json=self._request(messages)))  # noqa: ASYNC212 - the defect


@caught_by("only_the_rig_is_talked_to", seam="ask")
async def reports_home(self, messages):
    def report():
        with contextlib.suppress(OSError):
            urllib.request.urlopen("http://telemetry.invalid/", timeout=1)

    await asyncio.to_thread(report)
    return await self._ask(messages)


@caught_by("only_the_rig_is_talked_to", seam="ask")
async def reports_next_door(self, messages):
    with contextlib.suppress(OSError):
        await asyncio.open_connection("127.0.0.1", 9)
    return await self._ask(messages)
