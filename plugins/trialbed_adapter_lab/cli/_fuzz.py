"""``bench adapter check --fuzz``: conversations are drawn here, and played where the adapter is installed."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from trialbed.cli.options import print_json
from trialbed.errors import NothingMeasured
from trialbed.records import CONTROLLED, framework_profile
from trialbed_adapter_lab.cli._runner import start_kit
from trialbed_adapter_lab.fuzz import Conversation, search

if TYPE_CHECKING:
    from trialbed.records import Environment
    from trialbed_adapter_lab.fuzz import Breach

SHOWN = 600
"""Characters of a breach that are shown; the test that is printed shows the rest."""


def fuzz(framework: str, environment: Environment | None, seconds: float, *, as_json: bool) -> int:
    """Play drawn conversations for this time, and print the shortest that breaks something as a test.

    A breach is a failure of the profile ``controlled`` alone, also of an adapter that has no other.

    Raises:
        NothingMeasured: the adapter's process cannot play them.
        UsageError: hypothesis is not installed.
    """
    with _player(framework, environment) as player:
        label, agent = json.loads(player.read())
        breach, played = search(player.play, seconds)
    binds = framework_profile(label) == CONTROLLED
    if not played:
        raise NothingMeasured(f"no conversation was played within {seconds:g} s; give --fuzz more time")
    if as_json:
        print_json(_describe(agent, breach, played))
    elif breach is None:
        click.echo(f"{label}: {played} conversations played, none breaks an invariant")
    else:
        click.echo(f"{breach.invariant or 'reference'}: {breach.words[:SHOWN]}\n")
        click.echo(f"Found after {breach.played} of {played} conversations. As a test:\n")
        click.echo(breach.conversation.as_test(agent, breach.invariant))
    if breach is not None and not as_json and not binds:
        click.echo("The profile leaves this to its framework: a finding, and no failure.")
    return 1 if breach is not None and binds else 0


def _describe(agent: str, breach: Breach | None, played: int) -> dict[str, object]:
    if breach is None:
        return {"played": played, "breach": None}
    test = breach.conversation.as_test(agent, breach.invariant)
    return {"played": played, "breach": {"invariant": breach.invariant, "words": breach.words, "test": test}}


class _Player:
    """A process that plays a conversation for each line that it gets."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def play(self, conversation: Conversation) -> tuple[str, str]:
        """Play a conversation; return the broken invariant and the breach, both empty if there is none."""
        assert self._process.stdin is not None  # noqa: S101 - it is a pipe
        self._process.stdin.write(conversation.model_dump_json() + "\n")
        self._process.stdin.flush()
        invariant, words = json.loads(self.read())
        return str(invariant), str(words)

    def read(self) -> str:
        """Return the next line that the process answers; the output of a framework goes elsewhere."""
        assert self._process.stdout is not None  # noqa: S101 - it is a pipe
        line = self._process.stdout.readline()
        if not line:
            raise NothingMeasured(f"the adapter's process ended with {self._process.wait()} while it played")
        return line.strip()


@contextmanager
def _player(framework: str, environment: Environment | None) -> Iterator[_Player]:
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    process = start_kit(framework, environment, ["--play"], text=True, encoding="utf-8", **pipes)
    try:
        yield _Player(process)
    finally:
        process.kill()
        process.communicate()
