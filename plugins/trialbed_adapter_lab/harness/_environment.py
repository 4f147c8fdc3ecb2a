"""The adapter under test, and a process environment like a worker's."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

from trialbed.contracts import BaseAgent
from trialbed.worker import WORKER_MARK, load_agent, worker_environment


def named_agent(agent: str | type[BaseAgent]) -> tuple[type[BaseAgent], dict[str, str]]:
    """Return the class of an adapter, and its names for a report.

    Args:
        agent: the name of its entry point, or the class itself.

    Raises:
        DriverError: the entry point does not exist, or cannot be loaded.
    """
    if isinstance(agent, str):
        loaded, info = load_agent(agent)
        return loaded, {"framework": info.name, "adapter": info.adapter, "adapter_version": info.adapter_version}
    return agent, {"framework": agent.__name__}


@contextmanager
def like_a_worker() -> Iterator[None]:
    """Give this process a worker's environment for a while: no keys, no telemetry, no proxy for loopback addresses.

    Enter it before a framework is imported: many read the environment only then.
    """
    wanted = worker_environment("conformance")
    del wanted[WORKER_MARK]
    found = dict(os.environ)
    _replace(found, wanted)
    try:
        yield
    finally:
        _replace(wanted, found)


def _replace(before: dict[str, str], after: dict[str, str]) -> None:
    """Change the variables that differ between the two, and no others."""
    for name in before.keys() - after.keys():
        os.environ.pop(name, None)
    for name, value in after.items():
        if before.get(name) != value:
            os.environ[name] = value
