"""Import cache folders into the response cache from the command line."""

from __future__ import annotations

from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

import click

from trialbed.texts import number_of

LONGEST_KEY = 200
"""Longest key in a message, in characters."""


def response_server() -> Any:
    """Return the package of the server, which reads and writes the cache."""
    from trialbed.drivers import load_driver

    return load_driver("components", "server")


def import_folder(folder: Path, location: str) -> dict[str, Any]:
    """Import a cache folder with progress and problems on standard error, and return the report."""
    from trialbed.cli.progress import new_display

    display = new_display()
    display.begin("files", 0, 0)
    try:
        report = response_server().import_cache(folder, location, partial(display.move, "files"))
    finally:
        display.end()
    for problem in report.problems:
        where = f"{problem.file}: {_shorten(problem.key)}" if problem.key else str(problem.file)
        click.echo(f"not imported: {where}: {problem.message}", err=True)
    problems = [asdict(problem) | {"file": str(problem.file)} for problem in report.problems]
    return asdict(report) | {"problems": problems}


def _shorten(key: str) -> str:
    return key if len(key) <= LONGEST_KEY else f"{key[:LONGEST_KEY]}… ({len(key):,} characters)"


def imported_line(report: dict[str, Any]) -> str:
    new, files = number_of(report["new"], "answer"), number_of(report["files"], "file")
    return f"{new} imported from {files}, {report['known']} known before"
