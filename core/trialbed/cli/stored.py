"""Options and output that the commands on stored runs share."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from datetime import UTC, datetime
from threading import Timer
from typing import TYPE_CHECKING, cast

import click

from trialbed.cli.options import option, plain_option

if TYPE_CHECKING:
    from trialbed.contracts import Reporter
    from trialbed.report import WorstQuery

store_option = option(
    "--store", metavar="FILE|URL", help="Where runs are kept. [default: .trialbed/trialbed.db]", show_default=False
)

legend_option = plain_option("--legend", is_flag=True, help="Explain each figure below the tables.")


def moment(time: datetime) -> str:
    """Return a time in UTC, to the minute."""
    return time.astimezone(UTC).strftime("%Y-%m-%d %H:%M")


def seconds(duration: float) -> str:
    """Return a duration in words."""
    if duration < 60:
        return f"{duration:.1f} s"
    minutes, rest = divmod(round(duration), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {rest} s"


def show_command(run_id: str, trial: str = "", store: str | None = None) -> str:
    """Return the shell command that shows a run or a trial."""
    return typed_command("show", run_id, *([trial] if trial else []), store=store)


def next_commands(run_id: str, worst: Sequence[WorstQuery], store: str | None, *, full: bool = False) -> str:
    """Return the commands to continue with: the worst trial, if there is one, and all figures.

    Args:
        full: whether all figures are shown already.
    """
    from trialbed.report import trial_name

    keys = [query.worst.key for query in worst[:1]]
    names = [trial_name(key.framework, key.query_id, key.repeat) for key in keys]
    commands = [show_command(run_id, name, store) for name in (*names, *(() if full else ("--full",)))]
    return "Next: " + "\n      ".join(commands) if commands else ""


def typed_command(*words: str, store: str | None = None) -> str:
    """Return a shell command of ``bench`` on a store; ``store`` is None for the default one."""
    from trialbed.views import printable

    # The URL of a database may hold a password.
    named = "URL" if store and "://" in store else store
    return printable(shlex.join(["bench", *words, *(["--store", named] if named else [])]))


def run_reporter(name: str, *, explained: bool = False, brief: bool = False) -> Reporter:
    """Return the reporter of this name for results of runs.

    Args:
        explained: whether it is to explain each figure.
        brief: whether it may leave out all but the most important ones.

    Raises:
        DriverError: it does not exist.
    """
    from trialbed.drivers import load_driver

    made = cast("type[Reporter]", load_driver("reporters", name))()
    made.explained, made.brief = explained, brief
    return made


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
