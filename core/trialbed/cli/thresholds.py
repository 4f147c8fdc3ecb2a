"""Checks of a run: ``--fail-under SCORE=X``, ``--fail-on-regression`` and ``--fail-on-lost-task``."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import click

from trialbed.errors import UsageError

if TYPE_CHECKING:
    from trialbed.preparation import RunOptions
    from trialbed.report import Report
    from trialbed.report.comparison import Side


def parse_thresholds(
    given: Sequence[str], example: str = "solved=0.8", option: str = "--fail-under", form: str = "SCORE=X"
) -> dict[str, float]:
    """Parse thresholds into ``SCORE -> X``.

    Args:
        example, option, form: shown in the error if a text has another form.

    Raises:
        UsageError: a text does not have the form SCORE=X.
    """
    from trialbed.records import score_key

    thresholds: dict[str, float] = {}
    for text in given:
        name, _, value = text.rpartition("=")
        try:
            least = float(value)
        except ValueError:
            least = math.nan
        if not name.strip() or not math.isfinite(least):
            raise UsageError(f"{option}: {text!r} does not have the form {form}, such as {example}")
        thresholds[score_key(name.strip())] = least
    return thresholds


def check_scores(thresholds: Mapping[str, float], repeat: int | None = None) -> None:
    """Check before a run that the scores exist and can reach their thresholds.

    Args:
        repeat: trials of each query; None if that is not known.

    Raises:
        UsageError: there is no such score, and one is suggested; or it is a share, and the threshold is not from 0 to
            1; or lower is better; or the run has too few repeats for it.
    """
    from trialbed.plugins import described_scores
    from trialbed.records import shown_name
    from trialbed.report import REPEATS, check_values
    from trialbed.suggestions import closest, did_you_mean

    names, complete = described_scores()
    check_values(thresholds, names)
    for name in dict.fromkeys(name.partition("[")[0] for name in thresholds):  # without tags
        repeats = REPEATS.fullmatch(name)
        if repeats and repeat is not None and int(repeats[2]) > repeat:
            needed = f"{repeats[2]} trials of each task, and the run has {repeat}; give --repeat {repeats[2]}"
            raise UsageError(f"--fail-under: {name} needs {needed}")
        close = closest(name, [*names, *map(shown_name, names)])
        if not (repeats or name in names) and (complete or close):
            known = ", ".join(sorted(map(shown_name, names)))
            raise UsageError(f"--fail-under: there is no score {name!r}{did_you_mean(close)} The scores are {known}")


def check_tags(thresholds: Mapping[str, float], options: RunOptions) -> None:
    """Check that a run's tasks will have the tags of thresholds.

    Raises:
        UsageError: a tag is missing in all tasks.
    """
    from trialbed.preparation import prepare

    config = prepare(replace(options, frameworks=(), commands=())).config
    for name in thresholds:
        _, bracket, tag = name.partition("[")
        if bracket:
            config.queries_with(tag.removesuffix("]"))


def below(thresholds: Mapping[str, float], report: Report) -> bool:
    """Return whether any framework's mean is below a threshold or missing; says so on stderr.

    Raises:
        UsageError: there is no such score; lists the existing ones.
    """
    from trialbed.report import check_thresholds

    problems = [check for check in check_thresholds(report.frameworks, thresholds) if check.problem]
    for check in problems:
        click.echo(f"{check.framework}: {check.problem}", err=True)
    return bool(problems)


def print_thresholds(thresholds: Mapping[str, float], report: Report) -> None:
    """Write JUnit's XML with a test for each framework and threshold, which fails if the mean is below it.

    Raises:
        UsageError: there is no such score; lists the existing ones.
    """
    from trialbed.records import score_title
    from trialbed.report import check_thresholds, headline
    from trialbed.views import TestCase, TestOutcome, TestSuite, junit

    conclusion = {"conclusion": headline(report)}
    cases = []
    for check in check_thresholds(report.frameworks, thresholds):
        title, problem = f"{score_title(check.score)} >= {check.least:g}", check.problem
        outcome: TestOutcome = "failure" if problem else "passed"
        cases.append(TestCase(check.framework, title, outcome=outcome, kind="below", message=problem))
    click.echo(junit([TestSuite("thresholds", cases, conclusion)], "bench run"), nl=False)


def check_baseline(option: str, baseline: Sequence[Side], options: RunOptions) -> None:
    """See before the run that the baseline is over the same dataset.

    Raises:
        UsageError: it is over another.
    """
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
