"""An example of how a vendor differs at a gate: an answer of each side."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Any

import numpy as np

from trialbed_verify.findings import findings, kind_in_words
from trialbed_verify.panel._distances import Distances
from trialbed_verify.panel._gates import PanelGate
from trialbed_verify.panel._measures import Measures
from trialbed_verify.panel._trials import Trials
from trialbed_verify.rows import answer_in, object_in, one_line

OF_TOKENS = ("tokens", "usage", "bill", "prompt-tokens")
"""Gates whose examples show the tokens."""

SHOWN = 160
"""Characters of an answer's text or arguments."""


@dataclass(frozen=True)
class GateExample:
    """An answer of each side to one request, in a line and with its row.

    Attributes:
        line: of the test set; None if the rows do not have it.
    """

    line: int | None
    baseline: str
    vendor: str
    baseline_row: Measures
    vendor_row: Measures

    def as_json(self) -> dict[str, Any]:
        """Return one JSON object, with the places of both rows."""
        found = {"line": self.line, "baseline": self.baseline, "vendor": self.vendor}
        rows = {"baseline_row": self.baseline_row, "vendor_row": self.vendor_row}
        return found | {name: one.source.describe(one.place) for name, one in rows.items()}


def example(gate: PanelGate, found: Distances, sides: Sequence[Trials]) -> GateExample | None:
    """Return an answer of each side in the case in which they differ most."""
    excess = found.excess if gate.is_directed else np.abs(found.excess) + np.nan_to_num(found.distance)
    ours, theirs = (
        [(trial, value) for trial in side if (value := gate.value(trial)) is not None]
        for side in sides[int(np.argmax(np.nan_to_num(excess, nan=-1.0)))]
    )
    if not ours or not theirs:
        return None
    if gate.scale == "fault":
        baseline, vendor = min(ours, key=itemgetter(1))[0], max(theirs, key=itemgetter(1))[0]
    else:
        usual = [value for _, value in ours]
        vendor, value = next((one for one in theirs if one[1] not in usual), theirs[0])
        baseline = next((trial for trial, own in ours if own != value), ours[0][0])
    own, other = baseline.read(), vendor.read()
    line = other.get("data_index") or own.get("data_index")
    return GateExample(line, _describe(own, gate.name), _describe(other, gate.name), baseline, vendor)


def _describe(row: Mapping[str, Any], gate: str) -> str:
    """Describe an answer in a line."""
    response = object_in(row, "response")
    _, message = answer_in(response)
    parts = []
    if row.get("status") != "success":
        kind = object_in(row, "problem").get("kind") or row.get("outcome") or "failed"
        parts.append(f"no answer: {kind_in_words(str(kind))}")
    calls = message.get("tool_calls")
    for call in calls if isinstance(calls, list) else []:
        function = object_in(call, "function") if isinstance(call, dict) else {}
        parts.append(f"{function.get('name')}({_short(function.get('arguments'))})")
    if (text := message.get("content")) or not parts:
        parts.append(f"text {_short(text or '')!r}")
    if gate == "finish":
        return "; ".join([*parts, f"finish reason {row.get('finish_reason')}"])
    if gate in OF_TOKENS:
        counted = {key: value for key, value in object_in(response, "usage").items() if isinstance(value, int)}
        parts.append(f"usage {json.dumps(counted)}")
    parts += [f"model {response.get('model')}"] if gate == "model" else []
    said = [one.message for one in findings(row) if one.gate == gate.removesuffix("-leaks")]
    return "; ".join([*parts, *said[:2]])


def _short(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return one_line(text, SHOWN)
