"""Checks that a parameter is obeyed, by comparing the answers to one prompt under several settings."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

from trialbed.wire.dialects import dialect
from trialbed_verify.rows import sent_request
from trialbed_verify.suites._expectations import REFUSED, misses
from trialbed_verify.suites._records import ComparedParameter, ShownParameter

Row = Mapping[str, Any]

STILL = {"temperature": "temperature 0", "seed": "one seed"}
"""Parameter -> the setting under which answers to one prompt should be equal."""

MOVING = {"temperature": "temperature 1.5", "seed": "other seeds"}
"""Parameter -> the setting under which they should differ."""

EQUAL = 0.8
"""Share of equal pairs from which a setting counts as still: vendors that batch requests are not deterministic."""

DIRECT = ("n", "logprobs")
"""Parameters whose effect one answer shows."""


class ProbeTally:
    """The answers to the prompts of the suite *parameters*."""

    def __init__(self) -> None:
        self._texts: dict[tuple[str, str], dict[Any, list[bytes]]] = {}
        self._refused: Counter[str] = Counter()
        self._changed: Counter[str] = Counter()
        self._direct: dict[str, Counter[str]] = {}

    def add(self, row: Row, about: Mapping[str, Any]) -> None:
        """Count a row, if its case probes a parameter."""
        by, probe = about.get("by") or {}, about.get("probe")
        parameter = by.get("parameter") if isinstance(by, Mapping) else None
        if parameter in DIRECT:
            found = misses(row)
            if found is not None:
                word = "refused" if "refused" in found else "ignored" if found else "obeyed"
                self._direct.setdefault(parameter, Counter())[word] += 1
        elif isinstance(probe, Mapping):
            if _was_sent(probe, row):
                self._add_text(row, probe)
            else:
                self._changed[str(probe.get("parameter"))] += 1

    def findings(self) -> dict[str, ShownParameter | ComparedParameter]:
        """Return parameter -> the finding, and the answers that it is based on."""
        found: dict[str, ShownParameter | ComparedParameter] = {
            parameter: self._comparison(parameter) for parameter in STILL if self._has(parameter)
        }
        for parameter, counted in self._direct.items():
            word, count = counted.most_common(1)[0]
            mixed = count < sum(counted.values())
            found[parameter] = ShownParameter("mixed" if mixed else word, dict(counted))
        return found

    def _add_text(self, row: Row, probe: Mapping[str, Any]) -> None:
        parameter, arm = str(probe.get("parameter")), str(probe.get("arm"))
        problem = row.get("problem")
        if isinstance(problem, Mapping) and problem.get("kind") in REFUSED:
            self._refused[parameter] += 1
        elif row.get("status") == "success" and isinstance(row.get("response"), dict):
            text = dialect().read_answer(row["response"]).text
            digest = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()
            self._texts.setdefault((parameter, arm), {}).setdefault(probe.get("prompt"), []).append(digest)

    def _has(self, parameter: str) -> bool:
        counted = self._refused[parameter] or self._changed[parameter]
        return bool(counted) or any(known == parameter for known, _ in self._texts)

    def _comparison(self, parameter: str) -> ComparedParameter:
        still = _equal(list(self._texts.get((parameter, STILL[parameter]), {}).values()))
        moving = _equal(list(self._texts.get((parameter, MOVING[parameter]), {}).values()))
        shares = {STILL[parameter]: still, MOVING[parameter]: moving}
        refused = self._refused[parameter]
        return ComparedParameter(_finding(still, moving, refused), shares, refused, self._changed[parameter])


def _was_sent(probe: Mapping[str, Any], row: Row) -> bool:
    """Return whether the settings that a case probes were sent: options, entries and drivers can replace them."""
    sent, wanted = sent_request(row), probe.get("sent")
    return not isinstance(wanted, Mapping) or all(sent.get(name) == value for name, value in wanted.items())


def _equal(prompts: Sequence[Sequence[bytes]]) -> float | None:
    """Return the share of equal pairs among answers to the same prompt; None if there is no pair."""
    pairs = [one == other for answers in prompts for one, other in combinations(answers, 2)]
    return sum(pairs) / len(pairs) if pairs else None


def _finding(still: float | None, moving: float | None, refused: int) -> str:
    if still is None or moving is None:
        return "refused" if refused else "unknown"
    if still >= EQUAL > moving:
        return "obeyed"
    return "ignored"
