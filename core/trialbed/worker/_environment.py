"""The command of a worker, and its environment, without secrets and without telemetry."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping

from trialbed.settings import is_secret
from trialbed.worker._messages import CommandSpec
from trialbed.worker._proxies import LOOPBACK, without_proxy

WORKER_MARK = "TRIALBED_WORKER"
"""The variable that marks a worker and all that it starts, so that stray processes are found."""

VENDOR_PREFIXES = ("OPENAI_", "AZURE_", "ANTHROPIC_", "LANGSMITH_", "LANGCHAIN_", "LANGFUSE_", "OTEL_", "AGENTOPS_")
"""Variables that would make a framework use another endpoint or send its traces elsewhere."""

OPT_OUTS = {
    "AGNO_TELEMETRY": "false",
    "ANONYMIZED_TELEMETRY": "false",
    "CREWAI_DISABLE_TELEMETRY": "true",
    "CREWAI_DISABLE_VERSION_CHECK": "true",
    "CREWAI_TRACING_ENABLED": "false",
    "DO_NOT_TRACK": "1",
    "LANGCHAIN_TRACING_V2": "false",
    "LANGSMITH_TRACING": "false",
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",
    "OPENAI_AGENTS_DISABLE_TRACING": "1",
    "OTEL_SDK_DISABLED": "true",
}
"""Variables that keep frameworks from reporting telemetry and from looking things up online."""

OWN_PREFIX = "TRIALBED_"
"""Settings of Trialbed itself, some of which name the folders with the datasets and the store."""

PLACES = ("PWD", "OLDPWD")
"""Variables that name the folder where ``bench`` was started, and where its store usually is."""


def worker_command(framework: str, python: str | None = None, command: CommandSpec | None = None) -> list[str]:
    """The command of a worker.

    Args:
        python: the interpreter that has the adapter; default: this one.
        command: a program to run instead of an adapter.
    """
    program = [] if command is None else ["--command", command.model_dump_json()]
    return [python or sys.executable, "-m", "trialbed.worker", "--framework", framework, *program]


def worker_environment(
    mark: str, base: Mapping[str, str] | None = None, *, own_packages: bool = False
) -> dict[str, str]:
    """The environment of a worker.

    It has no secrets: the worker's key is a dummy, the real one stays with the server. It has no settings of Trialbed
    and does not say where ``bench`` was started, where an agent could look for expected answers. Relative entries of
    ``PYTHONPATH`` are made absolute, since a worker has a working directory of its own.

    Args:
        mark: distinguishes this worker from others.
        base: what to start from; default: this process's environment.
        own_packages: the worker's interpreter has packages of its own, which this one's must not shadow.
    """
    variables = dict(os.environ if base is None else base)
    kept = {name: value for name, value in variables.items() if not _is_unwanted(name, value)}
    kept |= OPT_OUTS
    kept |= {"PYTHONHASHSEED": "0", "PYTHONUNBUFFERED": "1", "PYTHONFAULTHANDLER": "1", WORKER_MARK: mark}
    kept |= without_proxy(kept, LOOPBACK)
    if own_packages:
        for name in ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV"):
            kept.pop(name, None)
    if "PYTHONPATH" in kept:
        kept["PYTHONPATH"] = os.pathsep.join(map(os.path.abspath, kept["PYTHONPATH"].split(os.pathsep)))
    return kept


def _is_unwanted(name: str, value: str) -> bool:
    return name.upper().startswith((*VENDOR_PREFIXES, OWN_PREFIX)) or name in PLACES or is_secret(name, value)
