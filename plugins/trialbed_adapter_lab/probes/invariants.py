"""Check the invariants of every request in every trial, including long ones."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from trialbed_adapter_lab.harness import INVARIANTS, Harness
from trialbed_adapter_lab.probe import Probe, expect
from trialbed_adapter_lab.probes._conversations import asks_echo, converse_on_everything
from trialbed_scripted import forever

TURNS = 20
"""More than frameworks keep in mind that shorten conversations."""


async def _holds(invariant: str, harness: Harness) -> None:
    if not harness.oracle.saw_long_trials:
        harness.oracle.saw_long_trials = True
        turns = [asks_echo(str(number)) for number in range(TURNS)]
        await converse_on_everything(harness)
        await harness.run(*turns, "done", max_steps=TURNS + 2)
        await harness.run(forever(asks_echo("more")), max_steps=3)
        await harness.run(replace(asks_echo("last"), text="Let me look."), "")
    breaches = harness.oracle.breaches(invariant)
    more = f" (and {len(breaches) - 1} more)" if len(breaches) > 1 else ""
    expect(not breaches, "no breach in any trial", "".join(breaches[:1]) + more)


EVERYWHERE = tuple(
    Probe(
        name,
        "should",
        f"{one.breaches.__doc__} This holds in every trial of the checks before.",
        one.reason,
        one.hint,
        partial(_holds, name),
        quick=True,
    )
    for name, one in INVARIANTS.items()
)
"""The checks that look at the trials of those before them."""
