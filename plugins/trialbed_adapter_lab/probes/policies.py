"""Policies: each scripted model leads to the requests and calls of the truth table, from which this check is made."""

from __future__ import annotations

from trialbed_adapter_lab.harness import Harness, right_outcomes, tool
from trialbed_adapter_lab.probe import should
from trialbed_adapter_lab.probes._expectations import expect_equal
from trialbed_scripted import call
from trialbed_scripted.policies import policy

CALLS, LIMIT = 3, 8
TOOLS = [tool(f"Echo_{word}") for word in ("one", "two", "three", "four")]


@should(
    reason="Scores of scripted models are known in advance only if every framework takes the same steps with them.",
    hint="See which policy differs: the docs of scripted models say what each of them does.",
)
async def scripted_models_take_their_turns(harness: Harness) -> None:
    """Each scripted model gets the requests, and makes the calls, that its documentation names."""
    script = [call(item.spec.name, {"text": item.spec.name}) for item in TOOLS[:CALLS]]
    for name, outcome in right_outcomes(CALLS, LIMIT).items():
        play = policy(name, *script)
        lines = [lambda request, play=play: play.turn(request.request)] * (LIMIT + 1)
        record = await harness.run(*lines, tools=TOOLS, max_steps=LIMIT)
        expect_equal(f"requests and calls of scripted:{name}", [len(record.requests), len(record.calls)], list(outcome))
