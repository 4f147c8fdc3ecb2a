"""``--fail-on-regression``: a run beside an earlier one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from trialbed.preparation import RunOptions
    from trialbed.report import Report
    from trialbed.report.comparison import Side


def check_baseline(baseline: Sequence[Side], options: RunOptions) -> None:
    """See before the run that the baseline is over the same dataset.

    Raises:
        UsageError: it is over another.
    """
    from dataclasses import replace

    from trialbed.errors import UsageError
    from trialbed.preparation import prepare

    digest = prepare(replace(options, frameworks=(), commands=())).config.dataset_digest
    for side in baseline:
        own = side.about["dataset_digest"]
        if own != digest:
            raise UsageError(
                f"--fail-on-regression: {side.source} is over {side.about['test_set']} ({str(own)[:12]}), and this run "
                f"is over another dataset ({digest[:12]}); name a run over the same dataset"
            )


def regressed(baseline: Sequence[Side], report: Report, margin: float) -> bool:
    """Return whether a score of a framework is shown to be worse than in the baseline; prints which to stderr.

    Raises:
        UsageError: they cannot be compared, such as over different datasets.
    """
    from trialbed.report.comparison import regressions

    lines = regressions(baseline, list(report.sides.values()), margin)
    for line in lines:
        click.echo(line, err=True)
    return bool(lines)
