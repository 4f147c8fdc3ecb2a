"""The summary of one endpoint, as the JSON object that users read: a function of its answers."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trialbed.files import replace_file
from trialbed.statistics import Estimate, clustered_interval, quantile
from trialbed.texts import group_by_key
from trialbed_verify.rows import TOKENS, Body, object_in, one_line
from trialbed_verify.table import AnswerRow, Answers

if TYPE_CHECKING:
    from trialbed.records import EndpointInfo

SATURATED = 50.0
"""Milliseconds of lag, at the 95th percentile, above which times say more about this process than about the vendor."""

FIGURES = ("ttft_ms", "tps", "duration_ms", "total_tokens")
SERVED = ("models", "fingerprints", "providers")
QUANTILES = {"p50": 0.50, "p95": 0.95, "p99": 0.99}

MOST_NAMES = 100
"""Distinct names that are counted separately: some vendors make up a finish reason or fingerprint per answer."""

LONGEST_NAME = 200

MORE = "(others)"
"""The name for counting all further ones."""

UNNAMED = "(not told)"
"""The name for answers that do not report what served them."""

EXAMPLES = 3
"""Examples kept of each kind."""

LONGEST_MESSAGE = 200
"""Characters of an example's message."""


def as_document(record: Any) -> Any:
    """Return a record as the JSON values of its ``as_json`` or of its fields; tuples become lists."""
    text = json.dumps(record, default=lambda one: one.as_json() if hasattr(one, "as_json") else vars(one))
    return json.loads(text)


def summary(endpoint: EndpointInfo, answers: Answers | None) -> dict[str, Any]:
    """Return the summary of an endpoint, with K2-style fields followed by Trialbed's own.

    ``eval_started_at``, ``eval_finished_at`` and ``not_sent`` describe the last session. Everything else describes all
    answers, which are read for summaries.
    """
    rows, began, ended = answers.rows if answers else (), endpoint.began, endpoint.ended
    figures = answer_figures(answers)
    found: dict[str, Any] = {"model": endpoint.model, **answer_counts(rows)}
    found |= {"eval_started_at": began and began.isoformat(), "eval_finished_at": ended and ended.isoformat()}
    found["eval_duration_ms"] = round((ended - began).total_seconds() * 1000) if began and ended else None
    found |= {"vendor": endpoint.vendor, "is_baseline": endpoint.is_baseline, **figures}
    found |= {"not_sent": endpoint.not_sent, "failure": endpoint.failure}
    found["client_saturated"] = (lag := figures["loop_lag_ms"]) and lag["p95"] > SATURATED
    return found | {"cost": cost(rows, endpoint.prices), "provenance": as_document(endpoint.provenance)}


def answer_counts(rows: Sequence[AnswerRow]) -> dict[str, Any]:
    """Return the counters of K2-style summaries."""
    answered = [row for row in rows if row.decision != "none"]
    finish = _names(str(row.finish_reason) for row in answered)
    others = {reason: n for reason, n in sorted(finish.items()) if reason not in ("stop", "tool_calls")}
    fitting = Counter(fits for _, fits in _responses(rows))
    found: dict[str, Any] = {"success_count": len(answered), "failure_count": len(rows) - len(answered)}
    found |= {"finish_stop": finish["stop"], "finish_tool_calls": finish["tool_calls"]}
    found |= {"finish_others": sum(others.values()), "finish_others_detail": others}
    found |= {"schema_validation_error_count": fitting[False], "successful_tool_call_count": fitting[True]}
    return found | {"usage": {name: sum(_values(answered, name)) for name in TOKENS}}


def answer_figures(answers: Answers | None) -> dict[str, Any]:
    """Return Trialbed's own figures; unknown ones are None, and every rate has an interval."""
    rows = answers.rows if answers else ()
    answered = [row for row in rows if row.decision != "none"]
    calls = [call for row in answered for call in row.calls or ()]
    found: dict[str, Any] = {"case_count": len(rows)}
    found["outcomes"] = dict(sorted(Counter(row.outcome for row in rows).items()))
    found["problems"] = by_frequency(row.problem for row in rows if row.problem)
    found["notes"] = by_frequency(kind for row in rows for kind in row.notes)
    found["success_rate"] = _rate((row, row.decision != "none") for row in rows)
    found["first_attempt_success_rate"] = _rate((row, row.decision != "none" and row.attempts == 1) for row in rows)
    found["schema_accuracy_per_response"] = _rate(_responses(rows))
    found["schema_accuracy_per_call"] = _rate((row, fits) for row in answered for fits, _ in row.calls or ())
    found["call_count"] = len(calls)
    found["call_problems"] = by_frequency(reason for _, reasons in calls for reason in reasons)
    unknown = [row for row in answered if row.finish_reason == "tool_calls" and row.valid is None and row.calls]
    found |= {"uncheckable_responses": len(unknown), "uncheckable_calls": sum(fits is None for fits, _ in calls)}
    found |= {"examples": _examples(answers), "attempt_count": sum(row.attempts for row in rows)}
    found["usage_reported"] = {name: len(_values(answered, name)) for name in TOKENS}
    found["billed_completion_tokens"] = sum(_values(answered, "billed_tokens"))
    found |= {name: spread(_values(answered, name)) for name in FIGURES}
    found["loop_lag_ms"] = spread(_values(rows, "loop_lag_ms"))
    for place, kind in enumerate(SERVED):
        found[f"served_{kind}"] = dict(_names(row.served[place] or UNNAMED for row in answered).most_common())
    first, last = answers.moments if answers and answers.moments else (None, None)
    return found | {"suites": answers.suites if answers else {}, "first_row_at": first, "last_row_at": last}


def by_frequency(values: Iterable[str]) -> dict[str, int]:
    """Count values, the most frequent first."""
    return dict(Counter(values).most_common())


def _values(rows: Iterable[AnswerRow], name: str) -> list[float]:
    return [value for row in rows if (value := getattr(row, name)) is not None]


def _responses(rows: Sequence[AnswerRow]) -> Iterator[tuple[AnswerRow, bool | None]]:
    return ((row, row.fits) for row in rows if row.finish_reason == "tool_calls")


def _names(names: Iterable[str]) -> Counter[str]:
    """Count names that the vendor chose."""
    found: Counter[str] = Counter()
    for name in (name[:LONGEST_NAME] for name in names):
        found[name if name in found or len(found) < MOST_NAMES else MORE] += 1
    return found


def spread(values: Sequence[float]) -> dict[str, float] | None:
    """Return the mean and the quantiles of the known values; None if empty."""
    if not values:
        return None
    ordered = sorted(map(float, values))
    quantiles = {name: quantile(ordered, share) for name, share in QUANTILES.items()}
    return {"mean": sum(ordered) / len(ordered), **quantiles, "n": len(ordered)}


def _rate(observed: Iterable[tuple[AnswerRow, bool | None]]) -> dict[str, Any] | None:
    """Return the share of successes, with the trials of a case taken together; None if nothing was observed."""
    known = [(row, success) for row, success in observed if success is not None]
    cases = group_by_key((row.data_index or row.key[:-1], success) for row, success in known).values()
    if not cases:
        return None
    parts, wholes = [sum(own) for own in cases], [len(own) for own in cases]
    return Estimate(sum(parts) / len(known), clustered_interval(parts, wholes), len(known)).as_json()


def _examples(answers: Answers | None) -> dict[str, dict[str, list[dict[str, Any]]]]:
    """Return the first few examples of each kind; their rows are read again, as tables do not keep messages."""
    found: dict[str, dict[str, list[dict[str, Any]]]] = {"problems": {}, "calls": {}, "findings": {}}
    for row in answers.rows if answers else ():
        reasons = [reason for _, reasons in row.calls or () for reason in reasons] if row.decision != "none" else ()
        kinds = {"problems": [row.problem] if row.problem else [], "calls": reasons, "findings": row.findings}
        wanted = any(len(found[what].get(kind, ())) < EXAMPLES for what, own in kinds.items() for kind in own)
        for what, kind, about in _examples_of(answers.source.row_at(row.place)) if answers and wanted else ():
            if kind in kinds[what] and len(own := found[what].setdefault(kind, [])) < EXAMPLES:
                message = one_line(about.pop("message"), LONGEST_MESSAGE)
                own.append({"line": row.data_index, "trial": row.trial, **about, "message": message})
    return {what: dict(sorted(kinds.items())) for what, kinds in found.items()}


def _examples_of(row: Body) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Yield the problem, the wrong calls and the findings of a row, each with its kind and its message."""
    from trialbed_verify.findings import findings

    problem = object_in(row, "problem")
    if isinstance(problem.get("kind"), str):
        yield "problems", problem["kind"], {"message": str(problem.get("message") or "")}
    for call in row.get("calls") or ():
        for reason in call["reasons"] or ():
            yield "calls", reason, {"tool": call.get("name"), "message": call.get("detail") or ""}
    for found in findings(row):
        yield "findings", found.kind, {"evidence": found.evidence, "message": found.message}


def cost(rows: Sequence[AnswerRow], prices: Mapping[str, float]) -> dict[str, float] | None:
    """Return the cost of the reported tokens at the configured prices; None without prices."""
    if not prices:
        return None
    valid = [row for row in rows if row.decision != "none"]
    counts = {"input": sum(_values(valid, "prompt_tokens")), "output": sum(_values(valid, "billed_tokens"))}
    costs = {name: count * prices.get(name, 0.0) / 1_000_000 for name, count in counts.items()}
    return {**costs, "total": sum(costs.values())}


def write_summary(path: Path, found: Mapping[str, Any]) -> None:
    """Replace a summary atomically."""
    # Vendors send lone surrogates, which JSON can hold as escapes only.
    text = json.dumps(found, ensure_ascii=False, indent=2).encode("utf-8", "backslashreplace")
    replace_file(path, text + b"\n")
