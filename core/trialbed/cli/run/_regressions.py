"""Check a run against an earlier one for ``--fail-on-regression`` and ``--fail-on-lost-task``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from trialbed.preparation import RunOptions
    from trialbed.report import Report
    from trialbed.report.comparison import Side


def check_baseline(option: str, baseline: Sequence[Side], options: RunOptions) -> None:
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
                f"{option}: {side.source} is over {side.about['test_set']} ({str(own)[:12]}), and this run "
                f"is over another dataset ({digest[:12]}); name a run over the same dataset"
            )


def regressed(baseline: Sequence[Side], report: Report, margin: float, *, lost_tasks: bool) -> bool:
    """Return whether a framework is worse than in the baseline; prints how to stderr.

    Args:
        lost_tasks: whether this is about tasks that were always solved and never are now, rather than about scores.

    Raises:
        UsageError: they cannot be compared, such as over different datasets.
    """
    from trialbed.report.comparison import baseline_comparisons, lost_task_lines, powerless_notes, regression_lines

    comparisons, void = baseline_comparisons(baseline, list(report.sides.values()), margin)
    lines = [*void, *(lost_task_lines if lost_tasks else regression_lines)(comparisons)]
    notes = [] if lost_tasks else powerless_notes(comparisons)
    for line in (*lines, *notes):
        click.echo(line, err=True)
    return bool(lines)
