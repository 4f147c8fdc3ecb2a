"""A process that is to be like a worker."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

from trialbed.worker import WORKER_MARK, worker_environment


@contextmanager
def like_a_worker() -> Iterator[None]:
    """Give this process a worker's environment for a while: no keys, no telemetry, no proxy for the loopback.

    Enter it before a framework is imported; many read the environment only then.
    """
    wanted = worker_environment("conformance")
    del wanted[WORKER_MARK]
    found = dict(os.environ)
    _become(found, wanted)
    try:
        yield
    finally:
        _become(wanted, found)


def _become(before: dict[str, str], after: dict[str, str]) -> None:
    """Change what differs between the two, and nothing else."""
    for name in before.keys() - after.keys():
        os.environ.pop(name, None)
    for name, value in after.items():
        if before.get(name) != value:
            os.environ[name] = value
