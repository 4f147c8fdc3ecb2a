"""``bench score``: scores what was recorded, without running an agent."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from trialbed.cli.options import json_option
from trialbed.cli.score import _files

HELP = """Score recorded conversations, without running an agent.

FILE holds calls and what they are compared with, one JSON object per line or in a list, or is a folder of such files.
The formats are recognised: lines of {id, predicted, reference}, lists of messages as OpenAI's API takes them, samples
of Ragas, raw and converted answers of StableToolBench, result documents of bench run, and OpenTelemetry spans.

For each metric the mean is shown, and for the samples with the lowest values which call went wrong, and why.
"""

EPILOG = """\b
Examples:
  bench score calls.jsonl
  bench score calls.jsonl --metric tool_call_f1 --compat ragas --json
  bench score calls.jsonl --order flexible --rule search.query=text --rule request_id=ignore
  bench score conversations.jsonl --reference right.jsonl --tools tools.json
  bench score conversations.jsonl --metric topic_adherence --judge gpt-4o-mini
  bench score calls.jsonl --fail-under tool_call_f1=0.9
"""


def _run(target: str, **given: Any) -> int:
    path = Path(target)
    if not path.exists():
        raise click.UsageError(f"there is no file {target!r}.", click.get_current_context())
    return _files.score(path, given)


command = click.Command(
    "score",
    params=[click.Argument(["target"], metavar="FILE"), *_files.options()],
    callback=_run,
    help=HELP,
    epilog=EPILOG,
    short_help="Score recorded conversations and calls, and say which call went wrong.",
)
json_option(command)
