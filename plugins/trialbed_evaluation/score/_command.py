"""``bench score``: scores recorded conversations and runs, without running an agent."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from trialbed.cli.options import FOLDER, json_option
from trialbed.cli.sections import SectionedCommand
from trialbed.cli.stored import store_option
from trialbed_evaluation.judge_settings import JUDGE_SETTINGS, option_list
from trialbed_evaluation.score import _files, _stored

RUN = re.compile(r"latest|[0-9]{4}[0-9T]*(?:-[0-9a-f]*)?")
"""The name of a stored run: its id, the beginning of one, or ``latest``."""

HELP = """Score recorded conversations, or a stored run again, without running an agent.

FILE holds calls and what they are compared with, one JSON object per line or in a list, or is a folder of such files.
The formats are recognised: lines of {id, predicted, reference}, lists of messages, traces, samples of Ragas, raw and
converted answers of StableToolBench.
For each metric the mean is shown, and for the samples with the lowest values which call went wrong, and why.

RUN is the id of a stored run, the beginning of one, or latest. With --judge, that judge grades its answers again, and
its verdicts are stored beside the old ones as sopr_score@JUDGE. With --scorer, the functions of a Python file score
its trials. Without either, the trials get the scores that they lack.
"""

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
"""Those of the judge and its model, but for the option that asks for one: without it, no judge is."""

FOR_FILES = ("metrics", "order", "compat", "rules", "reference", "tools")
FOR_RUNS = ("scorers", "judge_votes", "judge_prompts", "data_dir", "store", "output")


def _run(target: str, **given: Any) -> int:
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
    """Refuse options that are given and about something else."""
    context = click.get_current_context()
    for option in context.command.params:
        if option.name in names and context.get_parameter_source(option.name) is click.core.ParameterSource.COMMANDLINE:
            raise click.UsageError(f"{option.opts[-1]} {why}.", context)


command = SectionedCommand(
    "score",
    params=[
        click.Argument(["target"], metavar="FILE|RUN"),
        *_files.options(),
        *option_list(["data_dir"], store_option),
        click.Option(
            ["--scorer", "scorers"],
            multiple=True,
            metavar="FILE.py[:NAME]",
            help="Score a run by the functions of a file that @scorer marks, or by one of its functions or classes; "
            "may be repeated.",
        ),
        click.Option(["-o", "--output"], type=FOLDER, metavar="FOLDER", help="Write result documents with the scores."),
        *option_list(MODEL_SETTINGS),
    ],
    callback=_run,
    help=HELP,
    epilog=EPILOG,
    short_help="Score recorded conversations, or a stored run again.",
    sections={"The judge and its model": MODEL_SETTINGS},
)
json_option(command)
