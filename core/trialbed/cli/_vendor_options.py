"""Options that the comparison and the ranking of vendors share."""

from __future__ import annotations

import math
from typing import Any

import click

from trialbed.cli._options import FILE, option


class Finite(click.types.FloatParamType):
    """A number; ``nan`` and infinities are none, as no request can hold them."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """The number."""
        return _finite(self, super().convert(value, param, ctx), param, ctx)


class FiniteRange(click.FloatRange):
    """A number within bounds; ``nan`` is within none."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """The number."""
        return _finite(self, super().convert(value, param, ctx), param, ctx)


def _finite(
    kind: click.ParamType[float], value: Any, param: click.Parameter | None, ctx: click.Context | None
) -> float:
    number = float(value)
    if not math.isfinite(number):
        kind.fail(f"{value} is no finite number.", param, ctx)
    return number


resamples_option = option(
    "--resamples", type=click.IntRange(min=100), default=2000, help="Resamples of the bootstrap behind intervals."
)

seed_option = option("--seed", type=click.IntRange(min=0), default=0, help="Seed of every draw.")

markdown_option = click.option("--markdown", type=FILE, metavar="FILE", help="Write the tables as Markdown.")

csv_option = click.option("--csv", type=FILE, metavar="FILE", help="Write the figures as CSV.")
