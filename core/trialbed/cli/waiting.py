"""A line for a phase that takes long."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from threading import Timer

import click

LONG = 5.0
"""Seconds after which a phase of a command names itself."""


@contextmanager
def names_itself(text: str, seconds: float = LONG) -> Iterator[None]:
    """Print a line on the error stream if the phase takes long."""
    said = Timer(seconds, click.echo, (text,), {"err": True})
    said.daemon = True
    said.start()
    try:
        yield
    finally:
        said.cancel()


def names_reading() -> AbstractContextManager[None]:
    """Print a line if the reading of a run's trials takes long."""
    return names_itself("reading the trials of the run")
