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
        self._counts: dict[str, Counter[str]] = {}

    def add(self, row: Row, about: Mapping[str, Any]) -> None:
        """Count a row, if its case probes a parameter."""
        by, probe = about.get("by") or {}, about.get("probe")
        parameter = by.get("parameter") if isinstance(by, Mapping) else None
        if parameter in DIRECT:
            found = misses(row)
            if found is not None:
                word = "refused" if "refused" in found else "ignored" if found else "obeyed"
                self._counts.setdefault(parameter, Counter())[word] += 1
        elif isinstance(probe, Mapping):
            counts, problem = self._counts.setdefault(str(probe.get("parameter")), Counter()), row.get("problem")
            if not _was_sent(probe, row):
                counts["changed"] += 1
            elif isinstance(problem, Mapping) and problem.get("kind") in REFUSED:
                counts["refused"] += 1
            elif row.get("status") == "success" and isinstance(row.get("response"), dict):
                counts["answered"] += 1
                text = dialect().read_answer(row["response"]).text
                digest = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()
                arm = (str(probe.get("parameter")), str(probe.get("arm")))
                self._texts.setdefault(arm, {}).setdefault(probe.get("prompt"), []).append(digest)

    def findings(self) -> dict[str, ShownParameter | ComparedParameter]:
        """Return parameter -> the finding, and the answers that it is based on."""
        compared = {name: self._comparison(name, counts) for name in STILL if (counts := self._counts.get(name))}
        shown = {
            name: ShownParameter("mixed" if len(counts) > 1 else next(iter(counts)), dict(counts))
            for name, counts in self._counts.items()
            if name in DIRECT
        }
        return {**compared, **shown}

    def _comparison(self, parameter: str, counts: Mapping[str, int]) -> ComparedParameter:
        arms = (STILL[parameter], MOVING[parameter])
        still, moving = (_equal([*self._texts.get((parameter, arm), {}).values()]) for arm in arms)
        refused, changed = counts["refused"], counts["changed"]
        if still is None or moving is None:
            word = "refused" if refused else "unknown"
        else:
            word = "obeyed" if still >= EQUAL > moving else "ignored"
        return ComparedParameter(word, {arms[0]: still, arms[1]: moving}, refused, changed)


def _was_sent(probe: Mapping[str, Any], row: Row) -> bool:
    """Return whether the settings that a case probes were sent: options, entries and drivers can replace them."""
    sent, wanted = sent_request(row), probe.get("sent")
    return not isinstance(wanted, Mapping) or all(sent.get(name) == value for name, value in wanted.items())


def _equal(prompts: Sequence[Sequence[bytes]]) -> float | None:
    """Return the share of equal pairs among answers to the same prompt; None if there is no pair."""
    pairs = [one == other for answers in prompts for one, other in combinations(answers, 2)]
    return sum(pairs) / len(pairs) if pairs else None
