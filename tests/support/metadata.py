"""The metadata of installed distributions, read once by a process of tests: each run that is made lists them all."""

from __future__ import annotations

from functools import cache

from trialbed import installed


def read_metadata_once() -> None:
    """Remember the names and versions of distributions: to read them for each of hundreds of runs takes 30 ms each."""
    installed._identify = cache(installed._identify)  # type: ignore[assignment]
