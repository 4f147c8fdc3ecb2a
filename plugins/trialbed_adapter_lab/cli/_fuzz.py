"""``bench adapter check --fuzz``: conversations are drawn here, and played where the adapter is installed."""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from trialbed.cli.options import print_json
from trialbed.errors import NothingMeasured
from trialbed.records import CONTROLLED, framework_profile
from trialbed.texts import number_of
from trialbed_adapter_lab.fuzz import Breach, Conversation, search
from trialbed_adapter_lab.kit_process import end_kit, kit_command

if TYPE_CHECKING:
    from trialbed.records import Environment

SHOWN = 600
"""Characters of a breach that are shown; the test that is printed shows the rest."""


def fuzz(framework: str, environment: Environment | None, seconds: float, *, as_json: bool) -> int:
    """Play drawn conversations for this time, and print the shortest that breaks each invariant as a test.

    A breach is a failure of the profile ``controlled`` alone, also of an adapter that has no other.

    Raises:
        NothingMeasured: the adapter's process cannot play them.
        UsageError: hypothesis is not installed.
    """
    with _player(framework, environment) as player:
        label, agent = json.loads(player.read())
        found, played, left = list[Breach](), 0, seconds
        while left > 0:
            began = time.monotonic()
            breach, count = search(player.play, left, known=[one.invariant for one in found])
            found, played, left = [*found, *filter(None, [breach])], played + count, left - (time.monotonic() - began)
    binds = framework_profile(label) == CONTROLLED
    if not played:
        raise NothingMeasured(f"no conversation was played within {seconds:g} s; give --fuzz more time")
    if as_json:
        print_json({"played": played, "breaches": [_describe(agent, one) for one in found]})
        return 1 if found and binds else 0
    click.echo(f"{label}: {number_of(played, 'conversation')} played, {len(found) or 'none'} of the invariants broken")
    if found and not binds:
        click.echo("The profile leaves this to its framework: a finding, and no failure.")
    for one in found:
        click.echo(f"\n{one.invariant or 'reference'}: {one.words[:SHOWN]}\n\nAs a test:\n")
        click.echo(one.conversation.as_test(agent, one.invariant))
    return 1 if found and binds else 0


def _describe(agent: str, breach: Breach) -> dict[str, object]:
    test = breach.conversation.as_test(agent, breach.invariant)
    return {"invariant": breach.invariant, "words": breach.words, "test": test}


class _Player:
    """A process that plays a conversation for each line that it gets."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def play(self, conversation: Conversation) -> list[tuple[str, str]]:
        """Play a conversation; return each broken invariant and the breach."""
        assert self._process.stdin is not None  # noqa: S101 - it is a pipe
        self._process.stdin.write(conversation.model_dump_json() + "\n")
        self._process.stdin.flush()
        return [(invariant, words) for invariant, words in json.loads(self.read())]

    def read(self) -> str:
        """Return the next line that the process answers; the output of a framework goes elsewhere."""
        assert self._process.stdout is not None  # noqa: S101 - it is a pipe
        line = self._process.stdout.readline()
        if not line:
            raise NothingMeasured(f"the adapter's process ended with {self._process.wait()} while it played")
        return line.strip()


@contextmanager
def _player(framework: str, environment: Environment | None) -> Iterator[_Player]:
    command, settings = kit_command(framework, environment, ["--play"])
    settings |= {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "encoding": "utf-8"}
    with subprocess.Popen(command, **settings) as process:
        try:
            yield _Player(process)
        finally:
            end_kit(process)
