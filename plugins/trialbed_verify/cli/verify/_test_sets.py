"""The test set that ``bench verify`` sends: a file, or suites that are written to one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import click

from trialbed.texts import number_of


@contextmanager
def chosen_test_set(file: Path | None, suites: Sequence[str]) -> Iterator[Path]:
    """The test set's file, which is temporary for suites.

    Raises:
        UsageError: it is missing, or given in several ways.
    """
    if file and suites:
        raise click.UsageError("FILE and --suite both name the test set; leave one out")
    if not (file or suites):
        raise click.UsageError("name the test set: bench verify FILE, or --suite NAME (--list-suites)")
    if file:
        yield file
        return
    from trialbed.files import temporary_folder
    from trialbed_verify.suites import suite, write_test_set

    names = [suite(name).name for name in dict.fromkeys(suites)]
    with temporary_folder() as folder:
        path = folder / f"{'+'.join(names)}.jsonl"
        write_test_set(names, path)
        yield path


def write_chosen(suites: Sequence[str], path: Path) -> int:
    """Write the requests of suites to a file.

    Raises:
        UsageError: no suite is named, or the file cannot be written or is there already.
    """
    if not suites:
        raise click.UsageError("--write-test-set writes the requests of --suite NAME; name one (--list-suites)")
    if path.exists() and path.stat().st_size:
        raise click.UsageError(f"{path} is there already; remove it, or name another file")
    from trialbed_verify.suites import write_test_set

    total = write_test_set(suites, path)
    click.echo(f"{path}: {number_of(total, 'request')}", err=True)
    return 0
