"""``bench adapter check --fuzz``: conversations are drawn here, and played where the adapter is installed."""

from __future__ import annotations

import json
import subprocess
import time
from typing import TYPE_CHECKING

import click

from trialbed.cli.options import print_json
from trialbed.errors import NothingMeasured
from trialbed.records import CONTROLLED, framework_profile
from trialbed.texts import number_of
from trialbed_adapter_lab.fuzz import Breach, Breaches, Conversation, search
from trialbed_adapter_lab.kit_process import end_kit, kit_command

if TYPE_CHECKING:
    from trialbed.records import Environment

SHOWN = 600
"""Characters of a breach that are shown; the test that is printed shows the rest."""


def fuzz(framework: str, environment: Environment | None, seconds: float, *, as_json: bool) -> int:
    """Play drawn conversations for this time, and print the shortest that breaks each invariant as a test.

    A breach is a failure of the profile ``controlled`` alone, also of an adapter that has no other.
    """
    command, settings = kit_command(framework, environment, ["--play"])
    settings |= {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "encoding": "utf-8"}
    with subprocess.Popen(command, **settings) as process:

        def play(conversation: Conversation) -> Breaches:
            assert process.stdin is not None  # noqa: S101 - it is a pipe
            print(conversation.model_dump_json(), file=process.stdin, flush=True)
            return [(invariant, words) for invariant, words in json.loads(_read_line(process))]

        try:
            label, agent = json.loads(_read_line(process))
            found, played, left = list[Breach](), 0, seconds
            while left > 0:
                began = time.monotonic()
                breach, count = search(play, left, known=[one.invariant for one in found])
                found, played, left = [*found, *filter(None, [breach])], played + count, left - time.monotonic() + began
        finally:
            end_kit(process)
    if not played:
        raise NothingMeasured(f"no conversation was played within {seconds:g} s; give --fuzz more time")
    tests = [one.conversation.as_test(agent) for one in found]
    binds = framework_profile(label) == CONTROLLED
    if as_json:
        shown = [
            {"invariant": one.invariant, "words": one.words, "test": test}
            for one, test in zip(found, tests, strict=True)
        ]
        print_json({"played": played, "breaches": shown})
        return 1 if found and binds else 0
    click.echo(f"{label}: {number_of(played, 'conversation')} played, {len(found) or 'none'} of the invariants broken")
    if found and not binds:
        click.echo("The profile leaves this to its framework: a finding, and no failure.")
    for one, test in zip(found, tests, strict=True):
        click.echo(f"\n{one.invariant or 'reference'}: {one.words[:SHOWN]}\n\nAs a test:\n\n{test}")
    return 1 if found and binds else 0


def _read_line(process: subprocess.Popen[str]) -> str:
    """Return the next line that the process answers; the output of a framework goes elsewhere."""
    assert process.stdout is not None  # noqa: S101 - it is a pipe
    line = process.stdout.readline()
    if not line:
        raise NothingMeasured(f"the adapter's process ended with {process.wait()} while it played")
    return line
