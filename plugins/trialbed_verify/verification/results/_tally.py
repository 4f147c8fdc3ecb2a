"""Counts and figures over the rows of one target."""

from __future__ import annotations

from array import array
from bisect import insort
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from trialbed.statistics import Estimate, clustered_interval, quantile
from trialbed_verify.call_schemas import CallFields
from trialbed_verify.rows import one_line
from trialbed_verify.suites import SuiteTally
from trialbed_verify.verification.results._records import AnswerCounts, ObservedSpread, RowExample, RowFigures
from trialbed_verify.verification.results._row import Row

TOKENS = ("prompt_tokens", "completion_tokens", "total_tokens")
RATES = ("success_rate", "first_attempt_success_rate", "schema_accuracy_per_response", "schema_accuracy_per_call")
SERVED = {"model": "models", "system_fingerprint": "fingerprints", "provider": "providers"}
"""Field in which an answer says what served it -> its name in the summary."""

FIGURES = ("ttft_ms", "tps", "duration_ms", "total_tokens", "loop_lag_ms")

MOST_NAMES = 100
"""Distinct names that are counted separately: some vendors make up a finish reason or fingerprint per answer."""

LONGEST_NAME = 200

MORE = "(others)"
"""The name under which all further ones are counted."""

UNNAMED = "(not told)"
"""The name under which answers are counted that do not say what served them."""


WIDEST_GAP = 1 << 20
"""Line numbers beyond which cases are not counted by their place: no test set has so many lines."""

EXAMPLES = 3
"""Examples kept of each kind."""

LONGEST_MESSAGE = 200
"""Characters of an example's message."""


class Tally:
    """Counts and figures over rows; needs memory for a few numbers per row."""

    def __init__(self) -> None:
        self._outcomes: Counter[str] = Counter()
        self._finish: Counter[str] = Counter()
        self._problems: Counter[str] = Counter()
        self._notes: Counter[str] = Counter()
        self._verdicts: Counter[str] = Counter()
        self._reasons: Counter[str] = Counter()
        self._usage: Counter[str] = Counter()
        self._reporting: Counter[str] = Counter()
        self._served = {key: Counter[str]() for key in SERVED}
        self._attempts = self._unchecked = 0
        self._rates = {name: CaseRate() for name in RATES}
        self._figures = {name: array("d") for name in FIGURES}
        self._examples = {"problems": Examples(), "calls": Examples(), "findings": Examples()}
        self._suites = SuiteTally()
        self._first_at: str | None = None
        self._last_at: str | None = None

    @property
    def total(self) -> int:
        """The rows counted."""
        return self._outcomes.total()

    def add(self, row: Row) -> None:
        """Count one row."""
        self._outcomes[row["outcome"]] += 1
        attempts = row.get("attempts") or ()
        self._attempts += len(attempts)
        success = row["status"] == "success"
        self._rate("success_rate", row, success=success)
        self._rate("first_attempt_success_rate", row, success=success and len(attempts) == 1)
        if problem := row.get("problem"):
            self._problems[problem["kind"]] += 1
            self._examples["problems"].add(problem["kind"], row, problem["message"])
        self._notes.update(row.get("notes") or ())
        for found in row.get("findings") or ():
            self._examples["findings"].add(found["kind"], row, found["message"], evidence=found["evidence"])
        self._suites.add(row)
        self._count_times(row)
        if row["status"] == "success":
            self._count_answer(row)

    def counts(self) -> AnswerCounts:
        """Return the counters of K2-style summaries."""
        answered = sum(self._finish.values())
        responses = self._rates["schema_accuracy_per_response"]
        others = {reason: n for reason, n in sorted(self._finish.items()) if reason not in ("stop", "tool_calls")}
        return AnswerCounts(
            success_count=answered,
            failure_count=self.total - answered,
            finish_stop=self._finish["stop"],
            finish_tool_calls=self._finish["tool_calls"],
            finish_others=sum(others.values()),
            finish_others_detail=others,
            schema_validation_error_count=responses.total - responses.successes,
            successful_tool_call_count=responses.successes,
            usage={key: self._usage[key] for key in TOKENS},
        )

    def figures(self) -> RowFigures:
        """Return Trialbed's own figures: unknown ones are None, and every rate has its interval."""
        return RowFigures(
            case_count=self.total,
            outcomes=dict(sorted(self._outcomes.items())),
            problems=dict(self._problems.most_common()),
            notes=dict(self._notes.most_common()),
            rates={name: found.estimate() for name, found in self._rates.items()},
            call_count=sum(self._verdicts.values()),
            call_problems=dict(self._reasons.most_common()),
            uncheckable_responses=self._unchecked,
            uncheckable_calls=self._verdicts["unknown"],
            examples={what: examples.first() for what, examples in self._examples.items()},
            attempt_count=self._attempts,
            usage_reported={key: self._reporting[key] for key in TOKENS},
            spreads={name: spread(values) for name, values in self._figures.items()},
            served={SERVED[key]: dict(counter.most_common()) for key, counter in self._served.items()},
            suites=self._suites.summaries(),
            first_row_at=self._first_at,
            last_row_at=self._last_at,
        )

    def _count_answer(self, row: Row) -> None:
        figures: Mapping[str, Any] = row
        count(self._finish, str(row["finish_reason"]))
        if row["finish_reason"] == "tool_calls":
            self._count_response(row)
        for call in row.get("calls") or ():
            self._count_call(row, call)
        for key in TOKENS:
            if figures.get(key) is not None:
                self._usage[key] += figures[key]
                self._reporting[key] += 1
        for name in FIGURES[:-1]:
            if figures.get(name) is not None:
                self._figures[name].append(figures[name])
        served = row.get("served") or {}
        for key, counter in self._served.items():
            count(counter, served.get(key) or UNNAMED)

    def _count_response(self, row: Row) -> None:
        uncheckable = row["tool_calls_valid"] is None and bool(row.get("calls"))
        self._unchecked += uncheckable
        # A response with this finish reason and without a call is an error, as in K2-style tools.
        if not uncheckable:
            self._rate("schema_accuracy_per_response", row, success=row["tool_calls_valid"] is True)

    def _rate(self, name: str, row: Row, *, success: bool) -> None:
        self._rates[name].add(row["data_index"], success=success)

    def _count_call(self, row: Row, call: CallFields) -> None:
        self._verdicts["unknown" if call["valid"] is None else "valid" if call["valid"] else "invalid"] += 1
        if call["valid"] is not None:
            self._rate("schema_accuracy_per_call", row, success=bool(call["valid"]))
        for reason in call["reasons"]:
            self._reasons[reason] += 1
            self._examples["calls"].add(reason, row, call.get("detail") or "", tool=call["name"])

    def _count_times(self, row: Row) -> None:
        if (lag := row.get("loop_lag_ms")) is not None:
            self._figures["loop_lag_ms"].append(lag)
        if at := row.get("last_run_at"):
            self._first_at = min(self._first_at or at, at)
            self._last_at = max(self._last_at or at, at)


def count(counter: Counter[str], name: str) -> None:
    """Count a name that the vendor chose."""
    name = name[:LONGEST_NAME]
    counter[name if name in counter or len(counter) < MOST_NAMES else MORE] += 1


def spread(values: Sequence[float]) -> ObservedSpread | None:
    """Mean and quantiles of the known values; None if there are none."""
    if not values:
        return None
    ordered = sorted(values)
    p50, p95, p99 = (quantile(ordered, share) for share in (0.50, 0.95, 0.99))
    return ObservedSpread(sum(ordered) / len(ordered), p50, p95, p99, len(ordered))


class Examples:
    """The first few cases of each kind in the order of the test set, in whichever order they are completed."""

    def __init__(self) -> None:
        self._examples: dict[str, list[tuple[int, int, int, RowExample]]] = {}

    def add(self, kind: str, row: Row, message: str, *, tool: str | None = None, evidence: str | None = None) -> None:
        """Keep a case if it is among the first of its kind."""
        examples = self._examples.setdefault(kind, [])
        key = (row["data_index"], row.get("trial") or 0)
        if len(examples) == EXAMPLES and key >= examples[-1][:2]:
            return
        number = sum(other[:2] == key for other in examples)
        example = RowExample(*key, one_line(message, LONGEST_MESSAGE), tool, evidence)
        insort(examples, (*key, number, example), key=lambda entry: entry[:3])
        del examples[EXAMPLES:]

    def first(self) -> dict[str, list[RowExample]]:
        """Kind -> its examples."""
        return {kind: [entry[3] for entry in entries] for kind, entries in sorted(self._examples.items())}


class CaseRate:
    """A share of successes, counted case by case in a few bytes each."""

    def __init__(self) -> None:
        self.successes = self.total = 0
        self._parts = array("I")
        self._wholes = array("I")

    def add(self, line: int, *, success: bool) -> None:
        """Count an observation of the case on a line of the test set."""
        self.successes += success
        self.total += 1
        place = line if 0 <= line < WIDEST_GAP else line % WIDEST_GAP
        if place >= len(self._wholes):
            more = bytes(self._wholes.itemsize * (place + 1 - len(self._wholes)))
            self._parts.frombytes(more)
            self._wholes.frombytes(more)
        self._parts[place] += success
        self._wholes[place] += 1

    def estimate(self) -> Estimate | None:
        """The share with its 95 % interval; None if nothing was counted."""
        if not self.total:
            return None
        return Estimate(self.successes / self.total, clustered_interval(self._parts, self._wholes), self.total)
