"""Show the progress of environment builds in lines that stay, and on a terminal with spinners below them."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TaskID, TextColumn, TimeElapsedColumn

from trialbed.environments import ShowStep


@contextmanager
def build_progress() -> Iterator[ShowStep]:
    """Yield what shows the steps of builds on standard error; its spinners stop at the end."""
    columns = (SpinnerColumn(), TextColumn("{task.description}", markup=False), TimeElapsedColumn())
    console = Console(stderr=True, highlight=False, markup=False, emoji=False)
    tasks: dict[str, TaskID] = {}
    with Progress(*columns, console=console, transient=True, disable=not sys.stderr.isatty()) as spinners:

        def show(framework: str, step: str, line: str) -> None:
            if not step and framework in tasks:
                spinners.remove_task(tasks.pop(framework))
            if line:
                console.print(f"{framework}: {line}", soft_wrap=True)
            if step and framework not in tasks:
                tasks[framework] = spinners.add_task("", total=None)
            if step:
                spinners.update(tasks[framework], description=f"{framework}: {step}")

        yield show
