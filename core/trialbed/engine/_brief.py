"""Trials without the parts that no figure over trials is made of."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from trialbed.records import ModelCall, Score, TrialResult

COUNTED = {"claimed_vs_observed": ("invented", "unreported", "unasked")}
"""The score whose details are counted over all trials, and which of them."""


class Brief:
    """Makes trials small: bodies, what agents say and details of scores are left out, and equal parts are shared."""

    def __init__(self) -> None:
        self._scores: dict[tuple[object, ...], Score] = {}
        self._tools: dict[tuple[str, ...], tuple[str, ...]] = {}

    def of(self, result: TrialResult) -> TrialResult:
        """The trial, made small. Requests are equal where they were: a number stands for each."""
        numbers: dict[str, str] = {}
        model_calls = tuple(_without_bodies(call, numbers) for call in result.wire.model_calls)
        api_calls = tuple(call.model_copy(update={"response": None}) for call in result.wire.api_calls)
        changes: dict[str, Any] = {
            "wire": result.wire.model_copy(update={"model_calls": model_calls, "api_calls": api_calls}),
            "scores": tuple(map(self._score, result.scores)),
            "selected_tools": self._tools.setdefault(result.selected_tools, result.selected_tools),
        }
        answer = result.outcome.answer
        if answer is not None:
            short = answer.model_copy(update={"final_answer": "", "calls": ()})
            changes["outcome"] = result.outcome.model_copy(update={"answer": short})
        return result.model_copy(update=changes)

    def _score(self, score: Score) -> Score:
        counted = {name: score.detail[name] for name in COUNTED.get(score.name, ()) if score.detail.get(name)}
        if counted or score.failure is not None:
            return score.model_copy(update={"detail": counted})
        # The type too: 1, 1.0 and True are equal.
        told = (score.name, type(score.value), score.value, score.label, score.bounded, score.quality)
        found = self._scores.get(told)
        if found is None:
            found = score.model_copy(update={"detail": {}}) if score.detail else score
            self._scores[told] = found
        return found


def _without_bodies(call: ModelCall, numbers: dict[str, str]) -> ModelCall:
    number = numbers.setdefault(call.request, str(len(numbers)))
    return call.model_copy(update={"request": number, "response": ""})


@contextmanager
def without_collection() -> Iterator[None]:
    """Keep the garbage collector from going again and again through many records, none of which is garbage."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
