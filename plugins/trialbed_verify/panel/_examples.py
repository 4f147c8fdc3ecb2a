"""An example of how a vendor differs at a gate: an answer of each side."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from trialbed_verify.panel._distances import Distances
from trialbed_verify.panel._gates import PanelGate
from trialbed_verify.panel._measures import Measures
from trialbed_verify.panel._results import GateExample, RowPlace
from trialbed_verify.panel._samples import Trials
from trialbed_verify.rows import answer_in, object_in, one_line

SHOWN = 160
"""Characters of an answer's text or arguments."""


def example(gate: PanelGate, found: Distances, sides: Sequence[Trials]) -> GateExample | None:
    """Return the case in which the sides differ most, with an answer of each."""
    size = np.nan_to_num(np.abs(found.excess), nan=-1.0) + np.nan_to_num(found.distance, nan=0.0)
    if gate.is_directed:
        size = np.nan_to_num(found.excess, nan=-1.0)
    ours, theirs = sides[int(np.argmax(size))]
    pair = _telling_pair(gate, ours, theirs)
    if pair is None:
        return None
    places = [RowPlace(trial.source, trial.place) for trial in pair]
    shown = [place.read() for place in places]
    line = shown[1].get("data_index") or shown[0].get("data_index")
    return GateExample(
        line,
        describe(shown[0], gate.name),
        describe(shown[1], gate.name),
        *places,
    )


def describe(row: Mapping[str, Any], gate: str = "") -> str:
    """Describe an answer in a line."""
    from trialbed_verify.findings import kind_in_words

    _, message = answer_in(object_in(row, "response"))
    problem = object_in(row, "problem")
    parts = []
    if row.get("status") != "success":
        parts.append(f"no answer: {kind_in_words(str(problem.get('kind') or row.get('outcome') or 'failed'))}")
    calls = message.get("tool_calls")
    for call in calls if isinstance(calls, list) else []:
        function = object_in(call, "function") if isinstance(call, dict) else {}
        parts.append(f"{function.get('name')}({_short(function.get('arguments'))})")
    text = message.get("content")
    if text or not parts:
        parts.append(f"text {_short(text or '')!r}")
    parts += _details(row, gate)
    return "; ".join(parts)


def _details(row: Mapping[str, Any], gate: str) -> list[str]:
    from trialbed_verify.findings import findings

    if gate == "finish":
        return [f"finish reason {row.get('finish_reason')}"]
    if gate in ("tokens", "usage", "bill", "prompt-tokens"):
        usage = object_in(object_in(row, "response"), "usage")
        counted = {key: value for key, value in usage.items() if isinstance(value, int)}
        parts = [f"usage {json.dumps(counted)}"]
    else:
        parts = [f"model {object_in(row, 'response').get('model')}"] if gate == "model" else []
    subject = "text" if gate == "text-leaks" else gate
    found = [one for one in findings(row) if one.gate == subject]
    return parts + [one.message for one in found[:2]]


def _telling_pair(
    gate: PanelGate, ours: Sequence[Measures], theirs: Sequence[Measures]
) -> tuple[Measures, Measures] | None:
    """Return the trial of the vendor that differs most, and one of the baseline that differs from it."""
    own = [(trial, gate.value(trial)) for trial in ours]
    other = [(trial, gate.value(trial)) for trial in theirs]
    own, other = ([one for one in side if one[1] is not None] for side in (own, other))
    if not own or not other:
        return None
    if gate.scale == "fault":
        return min(own, key=lambda one: one[1])[0], max(other, key=lambda one: one[1])[0]
    usual = [value for _, value in own]
    vendor, value = next((one for one in other if one[1] not in usual), other[0])
    baseline = next((trial for trial, mine in own if mine != value), own[0][0])
    return baseline, vendor


def _short(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return one_line(text, SHOWN)
