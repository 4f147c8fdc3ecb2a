"""The commands ``bench publish`` and ``bench reproduce``."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import click

from trialbed.cli.env import env_dir_option
from trialbed.cli.options import FILE, FOLDER, json_option, plain_option, print_json
from trialbed.cli.setting_options import data_dir_option
from trialbed.cli.stored import store_option
from trialbed.texts import number_of

PUBLISHING = """\b
Examples:
  bench publish latest -o results
  bench publish 20261122T090211 20261123T101500 -o results --dataset desk.py --about about.txt
  bench publish latest -o results --dataset desk.py --include orders.json
  bench publish results other-results -o both
  bench publish official_results.jsonl acme_results.jsonl -o vendors
  bench reproduce results
"""


@click.command("publish", epilog=PUBLISHING)
@click.argument("subjects", metavar="RUN|FILE|DIR...", nargs=-1, required=True)
@plain_option("-o", "--output", type=FOLDER, required=True, metavar="DIR", help="Folder to write.")
@plain_option(
    "--about", type=FILE, metavar="FILE", help="Text for the top of the page, with an empty line between paragraphs."
)
@plain_option(
    "-d",
    "--dataset",
    type=FILE,
    metavar="FILE",
    help="File of the runs' tasks, needed if its tools are Python functions.",
)
@plain_option(
    "--include",
    type=FILE,
    multiple=True,
    metavar="FILE",
    help="File that the tasks' code reads, in their folder or below; repeatable.",
)
@store_option
@data_dir_option
def publish(
    subjects: tuple[str, ...],
    output: Path,
    about: Path | None,
    dataset: Path | None,
    include: tuple[Path, ...],
    store: str | None,
    data_dir: Path | None,
) -> None:
    """Write finished runs as a folder that others can read and check.

    The folder has a page that needs no server, index.html, also as Markdown, and figures, numbers, the page of each
    run, the recording of each model's answers, the dataset if it is a file, and digests of all of these. Runs stand on
    one leaderboard if their settings allow it; if not, the page says why.

    bench reproduce computes every number again from such a folder. RUN is an id, the beginning of one, or latest; DIR
    is a folder of published results, whose runs are published again with the others. A verification, or the FILEs or
    the folder of its results, is published as the page that bench view shows. Run the command in the folder where the
    runs were made, so it finds the datasets; they must not have changed. An existing folder of published results is
    replaced, unless one of its files was changed.
    """
    from trialbed_pages.publishing._publish import publish_results

    manifest = publish_results(
        subjects, output, about=about, dataset=dataset, include=include, store=store, data_dir=data_dir
    )
    answers = sum(run.answers for run in manifest.runs)
    click.echo(f"written: {output} ({len(manifest.files) + 1} files, {number_of(answers, 'recorded answer')})")
    for run in manifest.runs:
        if run.cannot:
            click.echo(f"{run.name} cannot be made again from the folder: {run.cannot}", err=True)
    if manifest.runs and not any(run.cannot for run in manifest.runs):
        click.echo(f"Next: bench reproduce {output}", err=True)


REPRODUCING = """\b
Examples:
  bench reproduce docs/results/small-local-model
  bench reproduce results --output again
  bench reproduce results --framework reference
  bench reproduce results --yes
"""


@click.command("reproduce", epilog=REPRODUCING)
@click.argument("folder", metavar="DIR", type=FOLDER)
@plain_option(
    "-f",
    "--framework",
    "frameworks",
    multiple=True,
    metavar="NAME",
    help="Compare only the numbers of this setup or framework, and no files; repeatable.",
)
@plain_option("-o", "--output", type=FOLDER, metavar="DIR", help="Folder for the regenerated files.")
@plain_option(
    "-y",
    "--yes",
    is_flag=True,
    help="Run the folder's Python code and build missing environments without asking.",
)
@env_dir_option
@data_dir_option
@json_option
def reproduce(
    folder: Path,
    frameworks: tuple[str, ...],
    output: Path | None,
    yes: bool,
    env_dir: Path | None,
    data_dir: Path | None,
    as_json: bool,
) -> None:
    """Regenerate every number, table and figure of published results.

    The recorded answers of the model are replayed through the frameworks, without the model and without a key, and the
    results are compared with the published files, byte for byte. A folder with a changed file is refused. The exit code
    is 1 if anything differs, or nothing was replayed.

    Tasks in Python or YAML files are code of the folder, which runs with your rights: read them first if you do not
    trust its authors. The command asks first, and starts the replay without the keys and settings of your environment.
    """
    from trialbed.cli.env import chosen_environments
    from trialbed.files import temporary_folder
    from trialbed.settings import data_dir as default_folder
    from trialbed_pages.publishing._folder import write_files
    from trialbed_pages.publishing._manifest import check_unchanged, read_manifest
    from trialbed_pages.publishing._replay import chosen_runs, code_of, replay, setups_of

    manifest = read_manifest(folder)
    check_unchanged(folder, manifest)
    runs = chosen_runs(folder, manifest, frameworks)
    _ask_consent(folder, code_of(manifest), yes=yes)
    wanted = dict.fromkeys(name for source, _ in runs for name in setups_of(source))
    chosen_environments([*wanted], yes=yes, env_dir=env_dir)
    with temporary_folder() as work:
        found = replay(folder, manifest, runs, work, data_dir or default_folder(), env_dir)
    if output is not None:
        write_files(output, found.files)
    if as_json:
        print_json({"trials": found.trials, "same": found.same, "other": found.other, "differences": found.differences})
    else:
        files = "" if frameworks else f"; {len(found.same)} of {len(manifest.made)} files are the same"
        numbers = f"{len(found.differences)} differences" if found.differences else "every number is the published one"
        numbers = numbers if found.trials or found.differences else "nothing was compared"
        pages = f"; {number_of(len(manifest.pages), 'page')} not made again" if manifest.pages else ""
        result = f"{number_of(found.trials, 'trial')} replayed; {numbers}{files}{pages}"
        click.echo("\n".join([result, *(f"differs: {name}" for name in found.other), *found.differences]))
    if found.other or found.differences or not found.trials:
        raise SystemExit(1)


def _ask_consent(folder: Path, code: Sequence[str], *, yes: bool) -> None:
    from trialbed.errors import UsageError

    if yes or not code:
        return
    names = ", ".join(code)
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise UsageError(
            f"{folder}: {names}: code of this folder would run with your rights, and there is no terminal to ask on: "
            "read it, and give --yes"
        )
    if not click.confirm(f"Run code of {folder} with your rights: {names}?", err=True):
        raise UsageError(f"{folder}: not replayed")
