"""``--fail-under SCORE=X``."""

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


def parse_thresholds(
    given: Sequence[str], example: str = "solved=0.8", option: str = "--fail-under", form: str = "SCORE=X"
) -> dict[str, float]:
    """``SCORE -> X``.

    Args:
        example, option, form: shown where a text has another form.

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
    """Check that the scores exist and can reach their thresholds, as far as that is known before a run.

    Args:
        repeat: trials of each query; None where that is not known.

    Raises:
        UsageError: there is no such score, and one is suggested; or it is a share, and the threshold is not from 0 to
            1; or lower is better; or the run has too few repeats for it.
    """
    if not thresholds:
        return
    from trialbed.plugins import described_scores
    from trialbed.records import shown_name
    from trialbed.report import LESS_IS_BETTER, REPEATS
    from trialbed.suggestions import closest, did_you_mean

    names, complete = described_scores()
    asked = {name: name.partition("[")[0] for name in thresholds}  # without tags
    shares = {name for name, score in names.items() if score.bounded}
    are_shares = [name for name, score in asked.items() if score in shares or REPEATS.fullmatch(score)]
    check_shares({name: thresholds[name] for name in are_shares})
    for name in (name for name in asked.values() if name in names and names[name].lower_is_better):
        raise UsageError(
            f"--fail-under: {name}: {LESS_IS_BETTER}; hold runs against an earlier one by --fail-on-regression of "
            "bench run or bench compare"
        )
    for found in map(REPEATS.fullmatch, asked.values()):
        if found and repeat is not None and int(found[2]) > repeat:
            needed = f"{found[2]} trials of each query, and the run has {repeat}; give --repeat {found[2]}"
            raise UsageError(f"--fail-under: {found[0]} needs {needed}")
    for name in asked.values():
        close = closest(name, [*names, *map(shown_name, names)])
        if REPEATS.fullmatch(name) or name in names or not (complete or close):
            continue
        known = ", ".join(sorted(map(shown_name, names)))
        raise UsageError(f"--fail-under: there is no score {name!r}{did_you_mean(close)} The scores are {known}")


def check_tags(thresholds: Mapping[str, float], options: RunOptions) -> None:
    """Check that tasks of a run will have the tags of thresholds.

    Raises:
        UsageError: none has one of them.
    """
    from trialbed.preparation import prepare

    config = prepare(replace(options, frameworks=(), commands=())).config
    for name in thresholds:
        _, bracket, tag = name.partition("[")
        if bracket:
            config.queries_with(tag.removesuffix("]"))


def check_shares(thresholds: Mapping[str, float]) -> None:
    """Check that thresholds of shares are from 0 to 1.

    Raises:
        UsageError: one is not.
    """
    for name, least in thresholds.items():
        if not 0 <= least <= 1:
            raise UsageError(f"--fail-under: {name}={least:g}: {name} is a share; give a number from 0 to 1")


def below(thresholds: Mapping[str, float], report: Report) -> bool:
    """Return whether any framework's mean is below a threshold or missing; says so on stderr.

    Raises:
        UsageError: there is no such score; lists those that exist.
    """
    from trialbed.report import check_thresholds

    problems = [check for check in check_thresholds(report.frameworks, thresholds) if check.problem]
    for check in problems:
        click.echo(f"{check.framework}: {check.problem}", err=True)
    return bool(problems)


def print_thresholds(thresholds: Mapping[str, float], report: Report) -> None:
    """Write JUnit's XML with a test for each framework and threshold, which fails where the mean is below it.

    Raises:
        UsageError: there is no such score; lists those that exist.
    """
    from trialbed.records import shown_name
    from trialbed.report import check_thresholds, conclusions
    from trialbed.views import TestCase, TestOutcome, TestSuite, junit

    conclusion = {"conclusion": "\n".join(map(str, conclusions(report)))}
    cases = []
    for check in check_thresholds(report.frameworks, thresholds):
        title, problem = f"{shown_name(check.score)} >= {check.least:g}", check.problem
        outcome: TestOutcome = "failure" if problem else "passed"
        cases.append(TestCase(check.framework, title, outcome=outcome, kind="below", message=problem))
    click.echo(junit([TestSuite("thresholds", cases, conclusion)], "bench run"), nl=False)
