"""The comparison of a vendor with a baseline as frozen records; their fields are the keys of its JSON document."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from trialbed.statistics import RESAMPLES, Estimate
from trialbed_verify.documents import fields_as_document
from trialbed_verify.panel import Panel

T = TypeVar("T")


@dataclass(frozen=True)
class CompareOptions:
    """Options of a comparison of vendors.

    Attributes:
        resamples: number of bootstrap resamples.
        force: compare the common cases of files that differ.
        gate_margins: gate of the panel -> its margin, where it is not the usual one.
    """

    resamples: int = RESAMPLES
    force: bool = False
    gate_margins: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class BothSides(Generic[T]):
    """The same of the baseline and of the vendor."""

    baseline: T
    vendor: T


@dataclass(frozen=True)
class BothScopes(Generic[T]):
    """The same over the cases that both sides answered, and with failures as missed calls."""

    answered: T
    delivered: T


@dataclass(frozen=True)
class ComparedFile:
    """A results file that was compared, and the vendor and model of its rows."""

    file: str
    vendor: str
    model: str | None
    rows: int


@dataclass(frozen=True)
class PairedCases:
    """The number of cases of two files that were paired, and of those that were not.

    Attributes:
        by: ``case`` for the rows' own names, ``request`` for the content of the requests.
        only_baseline, only_vendor: rows of cases that only one file has.
        asked_otherwise: cases whose requests differ.
        settings: description of a difference -> number of pairs that have it.
        forced: pair the common cases of files that differ.
    """

    by: str
    cases: int
    only_baseline: int
    only_vendor: int
    asked_otherwise: int
    settings: Mapping[str, int]
    forced: bool


@dataclass(frozen=True)
class Similarity:
    """The agreement of two sides' decisions, with the baseline's as the truth.

    Attributes:
        tp, fp, fn, tn: expected counts over cases.
        chance_f1: F1 of independent decisions at the same rates.
    """

    cases: int
    tp: float = field(metadata={"key": "TP"})
    fp: float = field(metadata={"key": "FP"})
    fn: float = field(metadata={"key": "FN"})
    tn: float = field(metadata={"key": "TN"})
    precision: Estimate
    recall: Estimate
    f1: Estimate
    kappa: Estimate
    chance_f1: Estimate


@dataclass(frozen=True)
class Spread:
    """The least, mean and greatest of some values; None without any."""

    n: int
    least: float | None = None
    mean: float | None = None
    greatest: float | None = None


@dataclass(frozen=True)
class Consistency:
    """The agreement of one side's trials with each other.

    Attributes:
        cases: those with two valid answers or more.
        trials: the most trials of a case.
        pairs_of_trials: F1 between every two of its trials.
        flip_rate: the chance that two trials of a case decide differently.
        stable_cases: those whose answers all decide alike.
    """

    cases: int
    trials: int
    self_f1: Estimate
    pairs_of_trials: Spread
    flip_rate: Estimate
    stable_cases: int


@dataclass(frozen=True)
class Outcomes:
    """The number of rows by outcome, of failures by problem, and of other finish reasons."""

    rows: int
    outcomes: Mapping[str, int]
    problems: Mapping[str, int]
    other_finish_reasons: Mapping[str, int]


@dataclass(frozen=True)
class SchemaAccuracy:
    """The shares of responses and of calls that fit their schemas.

    Attributes:
        per_call: None if no row lists its calls.
        reasons: reason why calls do not fit -> their number.
        unjudged_calls: those that cannot be checked.
        responses_without_calls: those that announce calls and have none.
    """

    per_response: Estimate
    per_call: Estimate | None
    reasons: Mapping[str, int]
    unjudged_calls: int
    responses_without_calls: int
    calls_under_another_finish_reason: int


@dataclass(frozen=True)
class Quantile:
    """A quantile with its interval; the ends are None where there are too few cases."""

    value: float | None = None
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class Distribution:
    """A figure over one side's answers; ``missing`` counts those that do not report it."""

    n: int
    missing: int
    mean: Estimate
    p50: Quantile
    p95: Quantile
    p99: Quantile


@dataclass(frozen=True)
class FigureComparison:
    """A figure of both sides, and the mean of the differences within cases."""

    baseline: Distribution
    vendor: Distribution
    difference: Estimate


@dataclass(frozen=True)
class MetricTest:
    """A significance test of one metric.

    Attributes:
        vendor_only, baseline_only: cases that succeed with one side only; None for tests of differences.
        p: the p-value, not corrected for multiple tests.
        p_holm: corrected for all vendors and metrics of the comparison.
    """

    metric: str
    method: str
    cases: int
    vendor_only: int | None
    baseline_only: int | None
    p: float
    p_holm: float = 1.0


@dataclass(frozen=True)
class ServedModel:
    """A model, its fingerprint and its provider as answers name them, and their number."""

    model: str | None
    system_fingerprint: str | None
    provider: str | None
    rows: int


@dataclass(frozen=True)
class TriggerSimilarity:
    """Rounded counts and ratios of decisions, as K2-style tools write them."""

    tp: int = field(metadata={"key": "TP"})
    fp: int = field(metadata={"key": "FP"})
    fn: int = field(metadata={"key": "FN"})
    tn: int = field(metadata={"key": "TN"})
    precision: float
    recall: float
    f1: float


@dataclass(frozen=True)
class CallAccuracy:
    """Responses that ended with tool calls, and those whose calls all fit, as K2-style tools write them."""

    count_finish_reason_tool_calls: int
    count_successful_tool_call: int
    schema_accuracy: str


@dataclass(frozen=True)
class K2Figures:
    """The figures of K2-style comparisons, under the names that those have."""

    total_baseline: int
    total_vendor: int
    common_indices: int
    matched_success: int
    skipped_failures: int
    tool_call_trigger_similarity: TriggerSimilarity
    tool_call_schema_accuracy: CallAccuracy


@dataclass(frozen=True)
class VendorComparison:
    """The comparison of one vendor with the baseline.

    Attributes:
        k2: at the top level of the document.
        stable_subset: the similarity over the cases in which the baseline's trials decide alike; None with one trial.
        decisions: baseline's decision -> vendor's decision -> number of rows.
        figures: name -> tokens and times.
    """

    k2: K2Figures
    baseline: ComparedFile
    vendor: ComparedFile
    panel: Panel
    pairing: PairedCases
    similarity: BothScopes[Similarity]
    self_consistency: BothSides[Consistency | None]
    stable_subset: BothScopes[Similarity] | None
    decisions: Mapping[str, Mapping[str, int]]
    outcomes: BothSides[Outcomes]
    success_rate: BothSides[Estimate]
    schema_accuracy: BothSides[SchemaAccuracy]
    figures: Mapping[str, FigureComparison]
    tests: tuple[MetricTest, ...]
    served: BothSides[tuple[ServedModel, ...]]
    options: CompareOptions
    notes: tuple[str, ...]

    def as_json(self) -> dict[str, Any]:
        """Return one JSON object, with the K2-style keys and Trialbed's own."""
        document = fields_as_document(self)
        return {**document.pop("k2"), **document}
