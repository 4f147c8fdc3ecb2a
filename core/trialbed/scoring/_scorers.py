"""Scores that are plain functions."""

from __future__ import annotations

import inspect
import math
from collections.abc import Awaitable, Callable, Iterable, Sequence
from functools import update_wrapper
from typing import Any, cast, overload

from trialbed.hook_markers import hookimpl
from trialbed.records import Score, ScoreDescription
from trialbed.scoring._context import ScoreContext

Value = float | bool | Score | Iterable[Score] | None
ScoreFunction = Callable[[ScoreContext], Value | Awaitable[Value]]


class Scorer:
    """A function that scores a trial, with the description of its score; a plugin of the runs that it is given to.

    Attributes:
        name: of the score.
        scores: the descriptions of all scores that the function may give.
    """

    def __init__(self, function: ScoreFunction, own: ScoreDescription, scores: Sequence[ScoreDescription] = ()) -> None:
        update_wrapper(self, function)
        self.code = function
        self.name = own.name
        self.scores = tuple(scores) or (own,)
        self._own = own

    def __call__(self, trial: ScoreContext) -> Value | Awaitable[Value]:
        """Return the function's own result for a trial."""
        return self.code(trial)

    @hookimpl
    def score_trial(self, context: ScoreContext) -> Awaitable[Sequence[Score]]:
        """Return the scores of a trial; empty if the function returns None."""
        return self.scores_of(self.code(context))

    @hookimpl
    def describe_scores(self) -> list[ScoreDescription]:
        """Return the descriptions of the scores."""
        return list(self.scores)

    async def scores_of(self, value: Value | Awaitable[Value]) -> list[Score]:
        """Return the scores that a result of the function stands for.

        Raises:
            TypeError, ValueError: it is not a result of a scorer, or not from 0 to 1.
        """
        found = await value if not isinstance(value, Score) and inspect.isawaitable(value) else value
        several = not isinstance(found, (str, Score)) and isinstance(found, Iterable)
        own, scores = self._own, list[Score]()
        for one in cast("Iterable[Any]", found) if several else () if found is None else (found,):
            if isinstance(one, Score):
                scores.append(one)
                continue
            shown = f"{self.name} returned {one!r:.60}"
            if not isinstance(one, (bool, int, float)) or not math.isfinite(one):
                raise TypeError(f"{shown}; a scorer returns a number, a bool, a Score or None")
            if own.bounded and not 0 <= one <= 1:
                raise ValueError(f"{shown}, which is not from 0 to 1; say so with @scorer(bounded=False)")
            label = str(one).lower() if isinstance(one, bool) else None
            scores.append(Score(name=own.name, value=float(one), label=label, bounded=own.bounded, quality=own.quality))
        return scores


@overload
def scorer(function: ScoreFunction, /) -> Scorer: ...
@overload
def scorer(
    *,
    name: str | None = None,
    unit: str = "",
    meaning: str | None = None,
    bounded: bool | None = None,
    quality: bool = True,
    lower_is_better: bool = False,
    ideal: float | None = None,
    missing: str = "",
    scores: Sequence[ScoreDescription] = (),
) -> Callable[[ScoreFunction], Scorer]: ...
def scorer(
    function: ScoreFunction | None = None,
    /,
    *,
    name: str | None = None,
    unit: str = "",
    meaning: str | None = None,
    bounded: bool | None = None,
    quality: bool = True,
    lower_is_better: bool = False,
    ideal: float | None = None,
    missing: str = "",
    scores: Sequence[ScoreDescription] = (),
) -> Scorer | Callable[[ScoreFunction], Scorer]:
    """Make a function a scorer: ``@scorer``, or ``@scorer(unit="s", meaning="…")``.

    The function gets the trial as a ``ScoreContext``, with ``text``, ``calls``, ``query``, ``answer``, ``wire`` and
    ``timing``, and returns a number, a bool, a ``Score``, several of them, or None if there is nothing to score; it
    may be ``async``. Only trials without failure are scored.

    Args:
        function: the function, if the decorator has no arguments.
        name: of the score; the function's if None.
        unit: of its values, such as ``s`` or ``tokens``.
        meaning: its meaning, in a line; the first line of the docstring if None.
        bounded: whether values lie from 0 to 1; if None, they do unless there is a unit.
        quality: whether a bounded score says how good an answer is; a failed trial then counts as 0.
        lower_is_better: whether less is better.
        ideal: a table omits the score's row if every framework has this value.
        missing: when a trial without failure has no value, in words; empty if it always has one.
        scores: the descriptions of all scores, if the function gives several.
    """

    def make(function: ScoreFunction) -> Scorer:
        own = ScoreDescription(
            name or str(getattr(function, "__name__", type(function).__name__)),
            unit=unit,
            meaning=((inspect.getdoc(function) or "").partition("\n")[0] if meaning is None else meaning).rstrip("."),
            bounded=not unit if bounded is None else bounded,
            quality=quality,
            lower_is_better=lower_is_better,
            ideal=ideal,
            missing=missing,
        )
        return Scorer(function, own, scores)

    return make if function is None else make(function)
