"""The command ``bench export``."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from trialbed.cli.options import plain_option
from trialbed.cli.setting_options import data_dir_option
from trialbed.cli.stored import store_option
from trialbed.texts import number_of

if TYPE_CHECKING:
    from trialbed.records import Query
    from trialbed.store import StoredRun

FORMATS = ("jsonl", "results", "stabletoolbench")

EPILOG = """\b
Examples:
  bench export latest --output trials.jsonl
  bench export latest/acme --format results --output acme.jsonl
  bench export latest --format stabletoolbench --output predictions
"""


@click.command("export", epilog=EPILOG)
@click.argument("run")
@plain_option(
    "--format", "form", type=click.Choice(FORMATS), default="jsonl", show_default=True, help="Format of the file."
)
@plain_option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="File to write, or folder for stabletoolbench. [default: standard output; predictions]",
)
@store_option
@data_dir_option
def command(run: str, form: str, output: Path | None, store: str | None, data_dir: Path | None) -> None:
    """Write the trials of a run for other programs.

    jsonl has a line for each trial with all that the store holds of it: the scores with their reasons, the answer, and
    every request and call with its body.

    results is for verifications: the rows of their results files, of all vendors or of the one of RUN/VENDOR.

    stabletoolbench is for its evaluators, in its converted format: a folder for each framework, as it has one for each
    model, with a file for the test set. Trials that failed are written without an ending, which evaluators count as
    unsolved; those that were not measured are left out.

    RUN is an id, the beginning of one, or latest. The frameworks need not be there any more, nor the dataset but for
    stabletoolbench.
    """
    from trialbed.catalogs import known_queries
    from trialbed.drivers import load_driver
    from trialbed.errors import UsageError
    from trialbed.settings import data_dir as default_folder
    from trialbed.store import open_store

    with open_store(store) as reader:
        run_id, _, label = run.partition("/")
        found = reader.run(run_id)
        if label and form != "results":
            raise UsageError(f"{run} names one vendor, whose rows --format results writes; leave it out")
        if found.status != "finished":
            words = f"INCOMPLETE: run {found.run_id} is {found.status}; trials that are missing are left out"
            click.echo(words, err=True)
        if form == "stabletoolbench":
            _write_folder(found, output or Path("predictions"), data_dir)
            return
        if form == "results":
            _write(load_driver("components", "verification").lines(found, label or None), output, "row")
            return
        queries = known_queries(found.config, data_dir or default_folder())
        _write((f"{json.dumps(value)}\n".encode() for value in trial_lines(found, queries)), output, "trial")


def _write_folder(run: StoredRun, folder: Path, data_dir: Path | None) -> None:
    from trialbed.catalogs import run_queries
    from trialbed.settings import data_dir as default_folder
    from trialbed_pages.exports.stabletoolbench import export_stabletoolbench

    written = set()
    for one in export_stabletoolbench(run, run_queries(run.config, data_dir or default_folder()), folder):
        trials = number_of(one.trials, "trial")
        left_out = f"; {one.left_out} that were not measured are left out" if one.left_out else ""
        click.echo(f"written: {one.path} ({trials}{left_out})", err=True)
        written.add(one.framework)
    for framework in run.config.frameworks:
        if framework not in written:
            click.echo(f"not written: no trial of {framework} was measured", err=True)


def trial_lines(run: StoredRun, queries: Mapping[int | str, Query] | None = None) -> Iterator[dict[str, Any]]:
    """Yield an object for each counted trial, with the main settings of the run and everything in the store.

    Args:
        queries: the run's queries by id; None if the dataset is not available.
    """
    config = run.config
    about = {"run_id": run.run_id, "dataset": config.dataset, "test_set": config.test_set, "judge": config.judge}
    for result in run.each_counted():
        query = (queries or {}).get(result.key.query_id)
        annotation = run.annotation_of(result.key)
        yield {
            **about,
            "model": config.cell(result.key.framework).model,
            **result.key.model_dump(),
            "status": result.status,
            "query_text": query.text if query else None,
            "annotation": annotation.words if annotation else None,
            "scores": {score.name: score.value for score in result.scores},
            "trial": result.model_dump(mode="json"),
        }


def _write(lines: Iterator[bytes], output: Path | None, noun: str) -> None:
    from trialbed.errors import DataError
    from trialbed.files import replacing

    if output is None:
        sys.stdout.buffer.writelines(lines)
        return
    try:
        is_special = output.exists() and not output.is_file()
        with output.open("wb") if is_special else replacing(output) as file:
            count = sum(1 for line in lines if file.write(line))
    except OSError as error:
        raise DataError(f"{output} cannot be written: {error.strerror}; name another file with --output") from error
    click.echo(f"written: {output} ({count} {noun}{'s' * (count != 1)})", err=True)
