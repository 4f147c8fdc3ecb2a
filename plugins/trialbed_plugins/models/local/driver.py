"""The driver of models on this machine: ``local:NAME``, ``local:FILE.gguf``."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from trialbed.contracts import ModelDriver, ModelInfo, OpenedModel
from trialbed.errors import UsageError
from trialbed.installed import extra_command
from trialbed.records import COMMON_NAME
from trialbed.settings import RunSettings
from trialbed_plugins.models._probe import probe
from trialbed_plugins.models.local._gguf import read_head
from trialbed_plugins.models.local._memory import check_memory
from trialbed_plugins.models.local._process import llama_server
from trialbed_plugins.models.local._template import choose_template
from trialbed_plugins.models.local._weights import ENDING, PACKAGED, find_weights, installed_names

RUNTIME = "xllamacpp"
"""The package of llama.cpp, which comes with the extra."""

EXTRA = "local"

CONTEXT = 16_384
"""Tokens of the longest conversation, or fewer where the model was trained for fewer."""

ANSWER = 1024
"""Tokens of the longest answer to a request that sets no bound: small models may never stop."""

MODEL = "local"
"""The name by which llama.cpp is asked; it has one model, and takes any."""


class LocalModels(ModelDriver):
    """Models that llama.cpp serves on this machine for the run, without a key or a network."""

    contract = "1"
    settings = ("chat_template",)

    def advice(self) -> str:
        """Name the packages that are missing."""
        if _release() is None:
            return f"models on this machine need llama.cpp: {extra_command(EXTRA)}"
        if not installed_names():
            known = ", ".join(f"{self.scheme}:{name}" for name in PACKAGED)
            return f"no weights are installed; naming one of {known} says which packages have them"
        return ""

    def names(self, settings: RunSettings) -> Sequence[str]:  # noqa: ARG002 - they are on this machine
        """The installed weights, and the files of this folder; none without llama.cpp."""
        if _release() is None:
            return ()
        return [*installed_names(), *sorted(path.name for path in Path.cwd().glob(f"*{ENDING}") if path.is_file())]

    def describe(self, name: str, settings: RunSettings) -> ModelInfo:
        """Describe it by its weights, its template, and the release of llama.cpp."""
        release = _release()
        if release is None:
            raise UsageError(
                f"local:{name} needs llama.cpp, which is not installed: {extra_command(EXTRA)}; or name a model "
                "of a server that runs with --base-url URL"
            )
        weights = find_weights(name)
        template = choose_template(settings.chat_template, read_head(weights.files[0]))
        bounds = f"context {CONTEXT} answer {ANSWER}"
        return ModelInfo(
            identity=f"gguf {weights.digest} template {template.identity} {bounds} {RUNTIME} {release}",
            told_name=COMMON_NAME,
            costs=False,
            deterministic=True,
            cached=True,
        )

    @asynccontextmanager
    async def open(self, name: str, settings: RunSettings) -> AsyncIterator[OpenedModel]:
        """Serve it; look at its calls first."""
        weights = find_weights(name)
        head = read_head(weights.files[0])
        template = choose_template(settings.chat_template, head)
        context = min(CONTEXT, head.context or CONTEXT)
        check_memory(weights.title, weights.size, head.context_memory(context))
        model = {
            "path": str(await asyncio.to_thread(weights.whole)),
            "template": template.text,
            "context": context,
            "answer": ANSWER,
            "threads": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1,
        }
        async with llama_server(weights.title, model) as server:
            notes = (
                await probe(weights.title, (), settings, server.key, base_url=server.base_url) if settings.probe else ()
            )
            about = f"{weights.title}: template {template.name}, {context:,} tokens of context; its log: {server.log}"
            yield OpenedModel(
                model=MODEL, base_url=server.base_url, api_key=server.key, notes=(about, *notes), at_once=1
            )


def _release() -> str | None:
    """The release of llama.cpp; None where it is not installed."""
    try:
        return version(RUNTIME)
    except PackageNotFoundError:
        return None
