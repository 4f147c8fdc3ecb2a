"""Options shared by several commands."""

from __future__ import annotations

import click

from trialbed.cli.options import FILE, option, plain_option

resamples_option = option(
    "--resamples", type=click.IntRange(min=100), default=2000, help="Bootstrap resamples for the intervals."
)

seed_option = option("--seed", type=click.IntRange(min=0), default=0, help="Seed of all random draws.")

markdown_option = plain_option("--markdown", type=FILE, metavar="FILE", help="Write the tables as Markdown.")

csv_option = plain_option("--csv", type=FILE, metavar="FILE", help="Write the figures as CSV.")
