"""The command ``bench score`` scores recorded conversations and runs without running an agent."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from trialbed.cli.options import FILE, FOLDER, SectionedCommand, json_option, plain_option
from trialbed.cli.setting_options import DriverOrFile, data_dir_option, setting_options
from trialbed.cli.stored import store_option
from trialbed_evaluation.judge_settings import JUDGE_SETTINGS
from trialbed_evaluation.score import _files, _stored

RUN = re.compile(r"latest|[0-9]{4}[0-9T]*(?:-[0-9a-f]*)?")
"""The name of a stored run: its id, the beginning of one, or ``latest``."""

EPILOG = """\b
Examples:
  bench score calls.jsonl
  bench score calls.jsonl --metric tool_call_f1 --compat ragas --json
  bench score calls.jsonl --order flexible --rule search.query=text --rule request_id=ignore
  bench score conversations.jsonl --reference right.jsonl --tools tools.json
  bench score conversations.jsonl --metric topic_adherence --judge gpt-4o-mini
  bench score calls.jsonl --fail-under tool_call_f1=0.9
  bench score latest --scorer ./mine.py
  bench score latest --judge gpt-4o-mini --judge-votes 3 --output results/rejudged
"""

MODEL_SETTINGS = [name for name in JUDGE_SETTINGS if name != "judge"]
"""Settings of the judge and its model, without ``judge`` itself, which turns judging on."""

FOR_FILES = ("metrics", "order", "compat", "rules", "reference", "tools")
FOR_RUNS = ("scorers", "judge_votes", "judge_prompts", "data_dir", "store", "output")


@click.command(
    "score",
    cls=SectionedCommand,
    sections={
        "How calls are compared": ("order", "compat", "rules", "tools"),
        "The judge and its model": MODEL_SETTINGS,
    },
    epilog=EPILOG,
    short_help="Score recorded conversations, or a stored run again.",
)
@click.argument("target", metavar="FILE|RUN")
@plain_option(
    "--metric",
    "metrics",
    multiple=True,
    metavar="NAME",
    help="Metric to compute; repeatable. [default: all for which the file has what they need]",
)
@plain_option(
    "--order",
    type=click.Choice(["strict", "flexible"]),
    default="strict",
    show_default=True,
    help="Whether the order of the reference counts in tool_call_accuracy.",
)
@plain_option(
    "--compat", type=click.Choice(["ragas"]), help="Compute exactly what this program computes, quirks included."
)
@plain_option(
    "--rule",
    "rules",
    multiple=True,
    metavar="[TOOL.]ARGUMENT=RULE",
    help="Rule that compares an argument: exact, number, text, date, list, set, object, regex, ignore; "
    "repeatable. [default: by its schema]",
)
@plain_option("--reference", type=FILE, metavar="FILE", help="The reference of each conversation, by its id.")
@plain_option("--tools", type=FILE, metavar="FILE", help="Definitions of the tools, with JSON Schemas of arguments.")
@plain_option(
    "--judge",
    type=DriverOrFile("judges"),
    metavar="NAME|MODEL|FILE.py:NAME",
    help="The judge, or the model that answers the steps of metrics.",
)
@plain_option(
    "--fail-under",
    multiple=True,
    metavar="METRIC=X",
    help="Exit with 1 if the mean is lower; repeatable.",
)
@data_dir_option
@store_option
@plain_option(
    "--scorer",
    "scorers",
    multiple=True,
    metavar="FILE.py[:NAME]",
    help="Score a run by the functions marked @scorer in a file, or by one of its functions or classes; repeatable.",
)
@plain_option("-o", "--output", type=FOLDER, metavar="FOLDER", help="Write result documents with the scores.")
@setting_options(*MODEL_SETTINGS)
@json_option
def command(target: str, **given: Any) -> int:
    """Score recorded conversations, or a stored run again, without running an agent.

    FILE holds calls and their references, one JSON object per line or in a list, or is a folder of such files. The
    command recognises lines of {id, predicted, reference}, lists of messages, traces, samples of Ragas, and raw and
    converted answers of StableToolBench. It shows the mean of each metric, and for the lowest samples which call went
    wrong, and why.

    RUN is the id of a stored run, the beginning of one, or latest. With --judge, that judge grades its answers again,
    and its verdicts are stored next to the old ones as sopr_score@JUDGE. With --scorer, the functions of a Python file
    score its trials. Without either, the trials get the scores that they lack.
    """
    path = Path(target)
    if path.exists():
        _refuse(FOR_RUNS, f"is about stored runs, and {target} is a file")
        return _files.score(path, given)
    if not RUN.fullmatch(target):
        raise click.UsageError(
            f"{target!r} is neither a file that exists nor the id of a run.", click.get_current_context()
        )
    _refuse(FOR_FILES, f"is about files, and {target} is a run")
    return _stored.score(target, given)


def _refuse(names: Sequence[str], why: str) -> None:
    """Reject given options that do not apply to the target."""
    context = click.get_current_context()
    for option in context.command.params:
        if option.name in names and context.get_parameter_source(option.name) is click.core.ParameterSource.COMMANDLINE:
            raise click.UsageError(f"{option.opts[-1]} {why}.", context)
