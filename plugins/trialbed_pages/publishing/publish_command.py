"""The command ``bench publish``."""

from __future__ import annotations

from pathlib import Path

import click

from trialbed.cli.options import FILE, FOLDER, plain_option
from trialbed.cli.setting_options import data_dir_option
from trialbed.cli.stored import store_option
from trialbed.texts import number_of

EPILOG = """\b
Examples:
  bench publish latest -o results
  bench publish 20261122T090211 20261123T101500 -o results --dataset desk.py --about about.txt
  bench publish latest -o results --dataset desk.py --include orders.json
  bench publish results other-results -o both
  bench publish official_results.jsonl acme_results.jsonl -o vendors
  bench reproduce results
"""


@click.command("publish", epilog=EPILOG)
@click.argument("subjects", metavar="RUN|FILE|DIR...", nargs=-1, required=True)
@plain_option("-o", "--output", type=FOLDER, required=True, metavar="DIR", help="Folder to write.")
@plain_option(
    "--about", type=FILE, metavar="FILE", help="Text that stands first, with an empty line between its paragraphs."
)
@plain_option(
    "-d", "--dataset", type=FILE, metavar="FILE", help="File of the runs' tasks, where its tools are Python functions."
)
@plain_option(
    "--include",
    type=FILE,
    multiple=True,
    metavar="FILE",
    help="File that the code of the tasks reads, beside or below their own; repeatable.",
)
@store_option
@data_dir_option
def command(
    subjects: tuple[str, ...],
    output: Path,
    about: Path | None,
    dataset: Path | None,
    include: tuple[Path, ...],
    store: str | None,
    data_dir: Path | None,
) -> None:
    """Write finished runs as a folder that others can read and check.

    It has a page, index.html, which needs no server, the same as Markdown, figures, numbers, the page of each run, the
    recording of each model's answers, the dataset where it is a file, and the digests of all of these. Runs stand on
    one leaderboard if their settings allow it; if not, the page says why.

    bench reproduce makes every number again from such a folder. RUN is an id, the beginning of one, or latest; DIR is a
    folder of published results, whose runs are published again beside the others, unless one of its files was changed.
    A verification, or the FILEs or the folder of its results, is published as the page that bench view shows.
    Give the command in the folder where the runs were made, so that datasets are found; one that has changed since is
    refused. A folder with published results is replaced, unless one of its files was changed.
    """
    from trialbed_pages.publishing._publish import publish

    manifest = publish(subjects, output, about=about, dataset=dataset, include=include, store=store, data_dir=data_dir)
    answers = sum(run.answers for run in manifest.runs)
    click.echo(f"written: {output} ({len(manifest.files) + 1} files, {number_of(answers, 'recorded answer')})")
    for run in manifest.runs:
        if run.cannot:
            click.echo(f"{run.name} cannot be made again from the folder: {run.cannot}", err=True)
    if manifest.runs and not any(run.cannot for run in manifest.runs):
        click.echo(f"Next: bench reproduce {output}", err=True)
