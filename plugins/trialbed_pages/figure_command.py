"""The command ``bench figure``."""

from __future__ import annotations

from pathlib import Path

import click

from trialbed.cli.completion import completes, runs, scores
from trialbed.cli.options import plain_option
from trialbed.cli.setting_options import data_dir_option
from trialbed.cli.stored import store_option

NAMES = ("scores", "cost", "tokens", "latency", "waterfall", "ranks")

EPILOG = """\b
Examples:
  bench figure latest scores -o scores.svg
  bench figure latest cost --score api_call_score -o cost.png
"""


@click.command("figure", epilog=EPILOG)
@click.argument("run", shell_complete=completes(runs))
@click.argument("kind", type=click.Choice(NAMES))
@plain_option(
    "-o", "--output", type=click.Path(path_type=Path, dir_okay=False), required=True, help="File: .svg or .png."
)
@plain_option(
    "--score",
    default="",
    metavar="NAME",
    help="The score that is drawn. [default: the dataset's own, else solved]",
    shell_complete=completes(scores),
)
@store_option
@data_dir_option
def command(run: str, kind: str, output: Path, score: str, store: str | None, data_dir: Path | None) -> None:
    """Draw a figure of a run for print.

    scores: a score of each framework with its interval. cost: the score against the cost of a trial, or against its
    tokens where no price is known. tokens: the score against tokens. latency: how long trials took. waterfall: where
    expected calls were lost. ranks: the ranks that are left open. RUN is an id, the beginning of one, or latest. PNG
    needs the extra figures.
    """
    from trialbed.errors import UsageError
    from trialbed.records import score_key, shown_name
    from trialbed.settings import data_dir as default_folder
    from trialbed.store import open_store, require_frameworks
    from trialbed_pages.figures import write_figure
    from trialbed_pages.runs import FigureCache

    with open_store(store) as reader:
        score = score_key(score)
        figures = FigureCache(data_dir or default_folder()).of(require_frameworks(reader.run(run)), score)
        score = score or figures.headline[0]
        if figures.columns.kinds and score not in figures.columns.kinds:
            raise UsageError(
                f"--score: run {figures.run.run_id} has {', '.join(map(shown_name, figures.quality))}, but no {score!r}"
            )
        try:
            write_figure(figures, kind, output, score)
        except OSError as error:
            raise UsageError(f"{output}: cannot be written: {error.strerror}") from error
    click.echo(f"written: {output}")
