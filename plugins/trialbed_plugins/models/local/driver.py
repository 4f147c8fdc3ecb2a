"""The driver for models on this machine: ``local:NAME``, ``local:FILE.gguf``."""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import secrets
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from trialbed.child_processes import stop_process
from trialbed.contracts import ModelDriver, ModelInfo, OpenedModel
from trialbed.errors import ServerUnavailable, UsageError
from trialbed.files import make_private_file, make_private_folder
from trialbed.installed import extra_command
from trialbed.records import COMMON_NAME
from trialbed.settings import RunSettings, state_dir
from trialbed_plugins.models.endpoint import probe
from trialbed_plugins.models.local._weights import (
    ENDING,
    OWN,
    PACKAGED,
    choose_template,
    find_weights,
    installed_names,
)

RUNTIME = "xllamacpp"
"""The package of llama.cpp, included in the extra."""

EXTRA = "local"

CONTEXT = 16_384
"""Longest conversation, in tokens."""

ANSWER = 1024
"""Longest answer to a request without a limit, in tokens. Small models may never stop."""

MODEL = "local"
"""The model's name in requests to llama.cpp. It has one model and accepts any name."""


class LocalModels(ModelDriver):
    """Models that llama.cpp serves on this machine for the run, without a key or a network."""

    contract = "1"

    def advice(self) -> str:
        """Name the missing packages."""
        if _release() is None:
            return f"models on this machine need llama.cpp: {extra_command(EXTRA)}"
        if not installed_names():
            known = ", ".join(f"{self.scheme}:{name}" for name in PACKAGED)
            return f"no weights are installed; naming one of {known} says which packages have them"
        return ""

    def names(self, settings: RunSettings) -> Sequence[str]:  # noqa: ARG002 - they are on this machine
        """Return the installed weights and the files in this folder; empty without llama.cpp."""
        if _release() is None:
            return ()
        return [*installed_names(), *sorted(path.name for path in Path.cwd().glob(f"*{ENDING}") if path.is_file())]

    def describe(self, name: str, settings: RunSettings) -> ModelInfo:
        """Describe the model by its weights, its template and the release of llama.cpp."""
        release = _release()
        if release is None:
            raise UsageError(
                f"local:{name} needs llama.cpp, which is not installed: {extra_command(EXTRA)}; or name a model "
                "of a server that runs with --base-url URL"
            )
        weights = find_weights(name)
        _, text = choose_template(settings.chat_template, weights.name)
        template = OWN if text is None else hashlib.sha256(text.encode()).hexdigest()
        bounds = f"context {CONTEXT} answer {ANSWER}"
        return ModelInfo(
            identity=f"gguf {weights.digest} template {template} {bounds} {RUNTIME} {release}",
            told_name=COMMON_NAME,
            costs=False,
            deterministic=True,
            cached=True,
        )

    @asynccontextmanager
    async def open(self, name: str, settings: RunSettings) -> AsyncIterator[OpenedModel]:
        """Serve the model and check its calls first."""
        weights = find_weights(name)
        template, text = choose_template(settings.chat_template, weights.name)
        key, log = secrets.token_urlsafe(24), _log(weights.title)
        model = {
            "path": str(await asyncio.to_thread(weights.whole)),
            "template": text,
            "context": CONTEXT,
            "answer": ANSWER,
            "threads": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1,
            "key": key,
        }
        async with _llama_server(weights.title, model, log) as url:
            notes = await probe(weights.title, (), settings, key, base_url=url) if settings.probe else ()
            about = f"{weights.title}: template {template}, {CONTEXT:,} tokens of context; its log: {log}"
            yield OpenedModel(model=MODEL, base_url=url, api_key=key, notes=(about, *notes), at_once=1)


def _release() -> str | None:
    try:
        return version(RUNTIME)
    except PackageNotFoundError:
        return None


START_TIMEOUT = 600.0
"""Seconds to load the weights. A slow disk needs minutes for large ones."""

STOP_TIMEOUT = 5.0
SHOWN = 1500
"""Characters from the end of the log in an error."""


@asynccontextmanager
async def _llama_server(title: str, model: Mapping[str, Any], log: Path) -> AsyncIterator[str]:
    """Serve a model and yield its address. If this process dies, the model's process ends too.

    Args:
        title: the model's name, for errors.
        model: the settings for ``trialbed_plugins.models.local.__main__``.
        log: the file for the output of llama.cpp.

    Raises:
        ServerUnavailable: it cannot load the model, or not in time; the message contains the end of its log.
    """
    with log.open("ab") as output:
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "trialbed_plugins.models.local",
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=output,
            # Waiting threads that spin slow each other down many times if anything else is running.
            env={**os.environ, "OMP_WAIT_POLICY": "passive"},
            # The engine handles Ctrl-C in the terminal.
            start_new_session=True,
        )
    assert process.stdin is not None and process.stdout is not None  # noqa: S101, PT018 - asked for above
    try:
        process.stdin.write(json.dumps(model).encode() + b"\n")
        try:
            line = await asyncio.wait_for(process.stdout.readline(), START_TIMEOUT)
        except TimeoutError:
            reason = f"{title} was not loaded within {START_TIMEOUT:g} s; its log is {log}"
            raise ServerUnavailable(reason) from None
        if not line:
            raise ServerUnavailable(f"{title} cannot be loaded; the end of its log, {log}:\n{_end(log)}")
        yield f"{json.loads(line)['url']}/v1"
    finally:
        await stop_process(process, STOP_TIMEOUT)


def _log(title: str) -> Path:
    folder = state_dir() / "logs"
    make_private_folder(folder)
    name = "".join(sign if sign.isalnum() or sign in ".-" else "-" for sign in title)
    path = folder / f"{name}-{datetime.now(UTC):%Y%m%dT%H%M%S}-{os.getpid()}.log"
    make_private_file(path)
    return path


def _end(log: Path) -> str:
    with log.open("rb") as file:
        file.seek(max(0, log.stat().st_size - SHOWN))
        return file.read().decode("utf-8", "replace").strip()
