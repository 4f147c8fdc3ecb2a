"""The summary of a suite, as records; ``as_document`` writes them as the JSON that users read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from trialbed.statistics import Estimate


@dataclass(frozen=True)
class SuiteExample:
    """An answer that misses an expectation; ``line`` is of the test set, None where a row does not say it."""

    case: str
    line: int | None
    trial: int


@dataclass(frozen=True)
class ShownParameter:
    """The finding about a parameter whose effect one answer shows; ``answers``: finding -> number."""

    finding: str
    answers: Mapping[str, int]


@dataclass(frozen=True)
class ComparedParameter:
    """The finding about a parameter whose effect is seen by comparing answers.

    Attributes:
        equal_pairs: setting -> share of equal pairs; None without a pair.
        refused, changed: the requests that the vendor refused, and those that were not sent as they are.
    """

    finding: str
    equal_pairs: Mapping[str, float | None]
    refused: int
    changed: int


@dataclass(frozen=True, kw_only=True)
class SuiteSummary:
    """The summary of one suite.

    Attributes:
        scored: rows that have a score.
        by: property -> value -> score of the cases that have it.
        misses: expectation -> answers that miss it, the most frequent first.
        parameters: name -> finding.
    """

    rows: int
    scored: int
    cases: int
    score: Estimate | None
    by: Mapping[str, Mapping[str, Estimate | None]]
    misses: Mapping[str, int]
    examples: Mapping[str, Sequence[SuiteExample]]
    parameters: Mapping[str, ShownParameter | ComparedParameter]
