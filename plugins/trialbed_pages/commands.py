"""The commands ``bench view`` and ``bench report``."""

from __future__ import annotations

from pathlib import Path

import click

from trialbed.cli.options import FILE, option, plain_option
from trialbed.cli.setting_options import data_dir_option
from trialbed.cli.stored import store_option

EPILOG = """\b
Examples:
  bench view
  bench view --open
  bench view --port 0 --store results/runs.db
  bench view official_results.jsonl acme_results.jsonl
  bench view data/
"""


@click.command("view", epilog=EPILOG)
@click.argument("files", nargs=-1, type=click.Path(path_type=Path), metavar="[FILE|FOLDER]...")
@option(
    "--host",
    default="127.0.0.1",
    help="Address to listen on. Beyond loopback, anyone who reaches it can read the runs.",
)
@option(
    "--allow-host",
    "allow_hosts",
    multiple=True,
    metavar="NAME",
    help="Host name, other than localhost, by which browsers reach the pages; repeatable.",
)
@option("--port", type=click.IntRange(0, 65535), default=8090, help="Port to listen on, 0 for any.")
@plain_option("--open", "in_browser", is_flag=True, help="Open a browser at a trial of the newest run that went wrong.")
@store_option
@data_dir_option
def view(
    files: tuple[Path, ...],
    host: str,
    allow_hosts: tuple[str, ...],
    port: int,
    in_browser: bool,
    store: str | None,
    data_dir: Path | None,
) -> None:
    """Look at runs in a browser, down to each trial.

    Files are results of bench verify, or folders of them; they get their own pages: the answers of each vendor, its
    differences from the baseline, and the ranks.

    The pages need no network. They store only your ratings and notes on answers; beyond loopback, and with
    --allow-host, they are read-only.
    """
    # What serves the pages takes a moment to load.
    click.echo("starting the pages …", err=True)
    from trialbed_pages.serving import serve

    serve(host, port, store, data_dir, files, in_browser=in_browser, allow_hosts=allow_hosts)


@click.command("report", epilog="Example: bench report latest -o report.html")
@click.argument("run")
@option("-o", "--output", type=FILE, default="report.html", help="The file to write.")
@store_option
@data_dir_option
def report(run: str, output: Path, store: str | None, data_dir: Path | None) -> None:
    """Write a page about a run for a decision: a conclusion and three examples.

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
