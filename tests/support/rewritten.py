"""The code of tests, compiled once for all processes that run them."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

import pytest
from _pytest.assertion import rewrite


def rewrite_in_turn(config: pytest.Config) -> None:
    """Let each of several processes rewrite the assertions of another part of the tests, where none has done so yet.

    All of them import all tests at the same time. On a fresh checkout each would rewrite each file; so they begin at
    different ones, and find the others' code when they come to it.
    """
    worker = getattr(config, "workerinput", None)
    if worker is None:
        return
    files = [*_files(config)]
    first = len(files) * int(worker["workerid"].removeprefix("gw")) // worker["workercount"]
    for file in files[first:] + files[:first]:
        compiled = rewrite.get_cache_dir(file) / f"{file.stem}{rewrite.PYC_TAIL}"
        if not compiled.exists() and rewrite.try_makedirs(compiled.parent):
            with contextlib.suppress(SyntaxError):  # it is told where the file is imported
                source, code = rewrite._rewrite_test(file, config)
                rewrite._write_pyc(config.stash[rewrite.assertstate_key], code, source, compiled)


def _files(config: pytest.Config) -> Iterator[Path]:
    for name in config.args:
        path = config.invocation_params.dir / name.partition("::")[0]
        yield from sorted(path.rglob("test_*.py"))
