"""The agent that tries to get at things that are none of its business; the query names one."""

from __future__ import annotations

import asyncio
import os
import socket
from pathlib import Path
from typing import Any

import httpx

from trialbed_adapter_lab.hostile.agents._cheating import Cheating

FILES, PORT, SECRET = "HOSTILE_FILES", "HOSTILE_PORT", "HOSTILE_MARK"
"""Variables: a folder with the store and the keys, a port where something listens, and the end of every secret."""

STORE = "harm.db"
"""The store of the run, in that folder."""

REFUSED = "refused: "
"""Begins the answer where the agent was kept out."""

PATIENCE = 3.0


class Snooping(Cheating):
    """Makes the attempt that the query names, with spaces for underscores, and answers with its result."""

    async def answer(self, query: str) -> Any:
        """Make an attempt."""
        await self.ask()
        try:
            return await asyncio.to_thread(getattr(self, query.replace(" ", "_")))
        except Exception as error:  # noqa: BLE001 - whatever keeps it out is its answer
            return f"{REFUSED}{type(error).__name__}: {error}"

    def gold_of_the_dataset(self) -> str:
        from trialbed_adapter_lab.hostile._tasks import CheatTasksDriver  # a sandbox hides it

        return str(CheatTasksDriver().open(None, Path()).queries()[0].gold_calls)

    def the_store(self) -> str:
        return (Path(os.environ[FILES]) / STORE).read_bytes()[:20].hex()

    def the_keys_of_the_project(self) -> str:
        return (Path(os.environ[FILES]) / ".env").read_text()

    def secrets_in_the_environment(self) -> str:
        return _found(name for name, value in os.environ.items() if f"-KEY-{os.environ[SECRET]}" in value)

    def secrets_of_the_engine(self) -> str:
        wanted = f"-KEY-{os.environ[SECRET]}".encode()
        own = Path(f"/proc/{os.getppid()}/environ"), Path(f"/proc/{os.getpid()}/environ")
        return _found(
            str(path) for path in Path("/proc").glob("[0-9]*/environ") if path not in own and _has(path, wanted)
        )

    def tokens_of_other_trials(self) -> str:
        paths = ("/control/trials", "/control/untagged", "/metrics")
        root = self.endpoint.base_url.partition("/t/")[0]
        return _found(path for path in paths if httpx.get(f"{root}{path}", timeout=PATIENCE).status_code == 200)

    def another_port(self) -> str:
        with socket.create_connection(("127.0.0.1", int(os.environ[PORT])), PATIENCE):
            return "connected"


def _found(found: Any) -> str:
    return ", ".join(found) or f"{REFUSED}there is nothing"


def _has(path: Path, wanted: bytes) -> bool:
    try:
        return wanted in path.read_bytes()
    except OSError:
        return False
