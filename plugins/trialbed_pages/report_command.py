"""The command ``bench report``."""

from __future__ import annotations

from pathlib import Path

import click

from trialbed.cli.options import FILE, option
from trialbed.cli.setting_options import data_dir_option
from trialbed.cli.stored import store_option


@click.command("report", epilog="Example: bench report latest -o report.html")
@click.argument("run")
@option("-o", "--output", type=FILE, default="report.html", help="The file to write.")
@store_option
@data_dir_option
def command(run: str, output: Path, store: str | None, data_dir: Path | None) -> None:
    """Write a page about a run for the person who decides: a conclusion and three examples.

    RUN is an id, the beginning of one, or latest. The page is one file, which needs no network. It names
    the setup to take, the open question and the cost to settle it; each example leads to the messages that show who
    lost the call.
    """
    from trialbed.files import write_text
    from trialbed.store import open_store
    from trialbed_pages.report import run_report

    with open_store(store) as reader:
        write_text(output, run_report(reader.run(run), data_dir), "--output")
    click.echo(f"written: {output}")
