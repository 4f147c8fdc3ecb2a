"""Options shared by several commands."""

from __future__ import annotations

import click

from trialbed.cli.options import option

resamples_option = option(
    "--resamples", type=click.IntRange(min=100), default=2000, help="Bootstrap resamples for the intervals."
)

seed_option = option("--seed", type=click.IntRange(min=0), default=0, help="Seed of all random draws.")
