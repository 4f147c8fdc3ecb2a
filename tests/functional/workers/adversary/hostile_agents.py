"""Agents that do what no agent should; the query says what."""

import asyncio
import json
import os
import random
import sys
import threading
import time
import urllib.request
from pathlib import Path

from hostile_base import NAP, Base, done, end_at_the_next_command
from hostile_ends import Answers, Crashes, Exceptions, Hangs
from hostile_leftovers import Clocks, Leftovers
from hostile_output import Memory, Output
from hostile_processes import Processes

from trialbed import Deviation


class Hostile(Crashes, Hangs, Exceptions, Answers, Processes, Output, Memory, Leftovers, Clocks, Base):
    """Each method is a query."""

    deviations = (Deviation(text="does harm"),)

    async def answer(self, query):
        if "HOSTILE_ASKS" in os.environ:
            self.ask(query)
        return await getattr(self, query.replace(" ", "_"))()

    def ask(self, query):
        """One request to the model, after which no failure can be an earlier trial's."""
        body = {"model": self.endpoint.model, "messages": [{"role": "user", "content": query}]}
        headers = {"Content-Type": "application/json", "Authorization": f"Bearer {self.endpoint.api_key}"}
        url = f"{self.endpoint.base_url}/chat/completions"
        urllib.request.urlopen(urllib.request.Request(url, json.dumps(body).encode(), headers)).read()

    async def good(self):
        return done()

    async def pid(self):
        return done(str(os.getpid()))

    async def wait_to_go(self):
        while not (Path(os.environ["HOSTILE_FOLDER"]) / "go").exists():  # noqa: ASYNC110 - another process makes it
            await asyncio.sleep(0.01)
        return done()

    async def environment(self):
        return done("\n".join(f"{name}={value}" for name, value in os.environ.items()))

    async def randomness(self):
        return done(repr(random.random()))

    async def folder(self):
        return done(os.getcwd())


class Blocking(Base):
    """Answers on a thread of the worker's."""

    def answer(self, query):
        assert threading.current_thread() is not threading.main_thread()
        if query == "fork":
            os.fork()
        if query == "hang":
            time.sleep(NAP)
        if query == "exit":
            sys.exit(6)
        return done()


class BadlyClosing(Base):
    async def answer(self, query):
        if query == "raise":
            raise ValueError("first")
        return done()

    async def close(self):
        raise RuntimeError("second")


class OtherContract(Base):
    contract = "0"


class Ending(Base):
    """Its worker ends as soon as it is given a trial."""

    @classmethod
    def framework_version(cls):
        end_at_the_next_command()
        return "6.6.6"


class NoAgent:
    contract = "3"
