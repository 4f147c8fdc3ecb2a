"""Check that each scripted model leads to the requests and calls in the truth table."""

from __future__ import annotations

import tomllib
from importlib.resources import files

from trialbed.records import Json
from trialbed.texts import number_of
from trialbed_adapter_lab.errors import CheckFailed
from trialbed_adapter_lab.harness import Harness
from trialbed_adapter_lab.probe import should
from trialbed_adapter_lab.probes._conversations import play, stations

CALLS, LIMIT = 3, 8


@should(
    reason="Scores of scripted models are known in advance only if every framework takes the same steps with them.",
    hint="See which policy differs: the docs of scripted models say what each of them does.",
)
async def scripted_models_take_their_turns(harness: Harness) -> Json:
    """Each scripted model gets the requests, and makes the calls, that its documentation names."""
    tools, script = stations(CALLS + 1, CALLS)
    seen, right = dict[str, Json](), dict[str, Json]()
    for name, outcome in _right_outcomes().items():
        record = await harness.run(*play(name, tools, script, LIMIT + 1), tools=tools, max_steps=LIMIT)
        seen[name] = _count(len(record.requests), len(record.calls)) + (" and an error" if record.failure else "")
        right[name] = _count(*outcome)
    others = [name for name in seen if seen[name] != right[name]]
    if others:
        shown = ("; ".join(f"{outcomes[name]} of scripted:{name}" for name in others) for outcomes in (right, seen))
        raise CheckFailed("expected {}; seen: {}".format(*shown), seen=seen)
    return seen


def _right_outcomes() -> dict[str, tuple[int, int]]:
    """Return ``policy -> its requests and calls`` through a framework that changes nothing, from the truth table."""
    matrix = tomllib.loads(files("trialbed_scripted").joinpath("cells.toml").read_text(encoding="utf-8"))
    rows = {policy: {**matrix["fields"], **row} for policy, row in matrix["right"].items()}
    names = {"__builtins__": {}, "n": CALLS, "l": LIMIT}
    # Expressions of the package's own file.
    return {policy: (eval(row["turns"], names), eval(row["calls"], names)) for policy, row in rows.items()}  # noqa: S307


def _count(requests: int, calls: int) -> str:
    return f"{number_of(requests, 'request')}, {number_of(calls, 'call')}"
