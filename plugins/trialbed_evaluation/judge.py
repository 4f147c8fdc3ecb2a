"""``bench judge``."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from trialbed.cli.options import FILE, json_option, print_json
from trialbed.cli.setting_options import setting_options
from trialbed.texts import number_of
from trialbed_evaluation.judge_settings import JUDGE_SETTINGS, settings_of

if TYPE_CHECKING:
    from trialbed.contracts import Judge
    from trialbed.scoring import Calibration
    from trialbed.settings import RunSettings
    from trialbed.views import Table
    from trialbed_evaluation.calibration import CaseFinding

SHOWN = 20
"""Most listed cases with different judge and label."""

EPILOG = """\b
Examples:
  bench judge calibrate
  bench judge calibrate mine.jsonl --judge rule
  bench judge calibrate --judge gpt-4o-mini --judge-votes 3 --base-url https://api.openai.com/v1
"""


@click.group("judge")
def command() -> None:
    """Calibrate judges against labelled cases."""


@command.command("calibrate", epilog=EPILOG)
@click.argument("file", required=False, type=FILE)
@setting_options(*JUDGE_SETTINGS)
@json_option
def calibrate(file: Path | None, as_json: bool, **given: Any) -> None:
    """Measure how well a judge agrees with labelled cases.

    FILE has one labelled case per line, as JSON. Without it, the judge grades the cases that come with Trialbed. Cases
    with a criterion measure how well a model judges criteria. With at least 30 verdicts, the result is stored, and
    reports of later runs name it.
    """
    import asyncio

    settings = settings_of(given)
    measured, findings = asyncio.run(_calibrate(file, settings))
    click.echo(_fate(measured), err=True)
    if as_json:
        document = measured.model_dump() | {"findings": [finding.model_dump() for finding in findings]}
        print_json(document)
        return
    from trialbed.scoring import judge_label
    from trialbed.views import print_tables

    click.echo(f"{judge_label(settings.judge, settings.judge_model)} {measured.summary}")
    print_tables(_tables(measured, findings), sys.stdout)
    if measured.failures:
        click.echo(f"{number_of(measured.failures, 'case')} without a verdict, not counted", err=True)


@command.command("cases", epilog="\b\nExamples:\n  bench judge cases > mine.jsonl\n")
@json_option
def cases(as_json: bool) -> None:
    """Print the embedded labelled cases as JSON Lines."""
    from importlib.resources import files

    text = files("trialbed_evaluation").joinpath("labelled_cases.jsonl").read_text(encoding="utf-8")
    if as_json:
        print_json([json.loads(line) for line in text.splitlines()])
    else:
        click.echo(text, nl=False)


async def _calibrate(file: Path | None, settings: RunSettings) -> tuple[Calibration, list[CaseFinding]]:
    import asyncio

    from trialbed.engine import identity_of, standing_judge
    from trialbed_evaluation.calibration import EMBEDDED, embedded_cases, keep_calibration, read_cases
    from trialbed_evaluation.calibration import calibrate as measure

    labelled = embedded_cases() if file is None else read_cases(file)
    labels = EMBEDDED if file is None else file.name
    async with standing_judge(settings) as (judge, completed):
        measured, findings = await measure(judge, labelled, labels, concurrency=completed.concurrency)
        _check_question(judge)
        if measured.is_large:
            criteria = labelled[0].criterion is not None
            identity = identity_of(judge, completed, criteria=criteria)
            await asyncio.to_thread(keep_calibration, identity, measured)
    return measured, findings


def _check_question(judge: Judge) -> None:
    """Reject a calibration if the judge's model was never asked, because it would measure the judge alone."""
    from trialbed.errors import UsageError

    if judge.model is not None and not (judge.model.use.requests or judge.model.use.cached):
        raise UsageError(
            "no case has a criterion, so the judge's model was not asked: leave out --judge-model, or add cases that "
            "have one"
        )


def _fate(measured: Calibration) -> str:
    from trialbed.scoring import MIN_CASES

    if measured.is_large:
        return "kept: reports of later runs with this judge name this calibration"
    cases = "1 case with a verdict is" if measured.cases == 1 else f"{measured.cases} cases with a verdict are"
    return f"Warning: not kept: {cases} too few for reports to name the calibration, which takes {MIN_CASES}"


def _tables(measured: Calibration, findings: Sequence[CaseFinding]) -> list[Table]:
    from trialbed.views import Table

    statuses = list(measured.confusion)
    counts = [[label, *(str(measured.confusion[label][found]) for found in statuses)] for label in statuses]
    confusion = Table.of("labels by verdicts", ("label", *statuses), counts)
    wrong = [finding for finding in findings if finding.found != finding.label]
    if not wrong:
        return [confusion]
    listed = [(finding.id, finding.label, finding.found or "no verdict", finding.reason) for finding in wrong[:SHOWN]]
    more = [f"{len(wrong) - SHOWN} more; --json has all"] if len(wrong) > SHOWN else []
    columns = ("case", "label", "verdict", "reason")
    return [confusion, Table.of("cases in which judge and label differ", columns, listed, more)]
