"""Two trials of one query side by side."""

from __future__ import annotations

from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from functools import cached_property

from trialbed.records import TrialResult
from trialbed.report.inspection import Exchange, ToolExchange, api_name, as_text, end_text
from trialbed.scoring import JUDGED
from trialbed.views import Timeline
from trialbed_pages.runs.trial import ShownExchange, TrialPage

Row = tuple[ShownExchange | None, ShownExchange | None]

ScorePair = tuple[str, float | None, float | None]
"""A score by its name, in both trials."""

UNSOLVED = "did not solve the task"


@dataclass(frozen=True)
class PairPage:
    """The page of two trials: their exchanges aligned, with the differences marked."""

    sides: tuple[TrialPage, TrialPage]

    @property
    def rows(self) -> list[Row]:
        """The exchanges of both, aligned by their kinds; either may be missing in a row."""
        ours, theirs = (side.exchanges for side in self.sides)
        kinds = [_kind(one.exchange) for one in ours], [_kind(one.exchange) for one in theirs]
        rows: list[Row] = []
        for _, a, b, c, d in SequenceMatcher(None, *kinds, autojunk=False).get_opcodes():
            for place in range(max(b - a, d - c)):
                left = ours[a + place] if a + place < b else None
                right = theirs[c + place] if c + place < d else None
                rows.append((left, right))
        return rows

    @property
    def conclusion(self) -> str:
        """The exchange at which they part, and the end of each, in a sentence."""
        apart = next((place for place, row in enumerate(self.rows, 1) if not are_same(row)), None)
        if apart is None:
            course = "Both take the same course"
        else:
            course = f"They first differ at exchange {apart} of {len(self.rows)}"
        left, right = (_end(side) for side in self.sides)
        if left == right:
            return f"{course}; {'neither solved the task' if left == UNSOLVED else f'both {left}'}."
        return f"{course}; {self.sides[0].label} {left}, {self.sides[1].label} {right}."

    @property
    def timelines(self) -> list[Timeline]:
        """The parties at work in each, on one scale."""
        found = [side.timeline for side in self.sides]
        longest = max(one.length for one in found)
        return [replace(one, total=longest) for one in found]

    @property
    def differing(self) -> list[ScorePair]:
        """The scores that differ."""
        return [one for one in self._scores if one[1] != one[2]]

    @property
    def equal(self) -> list[ScorePair]:
        """The scores that are the same."""
        return [one for one in self._scores if one[1] == one[2]]

    @cached_property
    def _scores(self) -> list[ScorePair]:
        left, right = (side.trial for side in self.sides)
        names = dict.fromkeys(score.name for score in (*left.scores, *right.scores))
        return [(name, _value(left, name), _value(right, name)) for name in names]


def are_same(row: Row) -> bool:
    """Return whether both exchanges of a row say the same."""
    left, right = row
    if left is None or right is None:
        return False
    return _kind(left.exchange) == _kind(right.exchange) and _text(left.exchange) == _text(right.exchange)


def _end(side: TrialPage) -> str:
    """Return how a trial ended, as the end of a sentence."""
    if side.trial.status != "answered":
        return {"failed": "failed", "not measured": "was not measured"}.get(side.trial.status, side.trial.status)
    if side.is_solved:
        return "solved the task"
    score = side.trial.score(JUDGED)
    if score is None or score.value is None:
        return end_text(side.trial)
    return "left it unsure whether the task is solved" if score.label == "Unsure" else UNSOLVED


def _kind(one: Exchange) -> str:
    return f"call of {api_name(one.call)}" if isinstance(one, ToolExchange) else "request"


def _text(one: Exchange) -> str:
    if isinstance(one, ToolExchange):
        return f"{as_text(one.call.arguments)} {one.call.error}"
    calls = "; ".join(f"{sent.tool_name} {sent.arguments}" for sent in one.call.tool_calls)
    return f"{one.call.status} {one.text} {calls}"


def _value(trial: TrialResult, name: str) -> float | None:
    score = trial.score(name)
    return score.value if score else None
