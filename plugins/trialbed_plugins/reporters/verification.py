"""Tables of verified vendors for the terminal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TextIO

from rich.console import Console
from rich.text import Text

from trialbed.contracts import Reporter
from trialbed_plugins.reporters._columns import print_columns, widened
from trialbed_plugins.reporters._figures import Row, number, printable

Summary = Mapping[str, Any]

UNKNOWN = "-"
"""Stands where nothing was observed."""

RATES = {
    "success_rate": "success rate",
    "first_attempt_success_rate": "at the first attempt",
    "schema_accuracy_per_response": "schema, per response",
    "schema_accuracy_per_call": "schema, per call",
}

TIMES = {"ttft_ms": "TTFT, ms", "duration_ms": "duration, ms", "tps": "tokens/s", "total_tokens": "tokens"}


class VerificationReporter(Reporter):
    """Figures as rows and vendors as columns; a figure that was not observed is a dash."""

    def report(self, documents: Sequence[Summary], stream: TextIO) -> None:
        """Write the tables of one verification, a model after the other."""
        console = widened(Console(file=stream, highlight=False, markup=False, emoji=False))
        for model in dict.fromkeys(summary["model"] for summary in documents):
            summaries = [summary for summary in documents if summary["model"] == model]
            console.print(Text(_heading(summaries[0])), soft_wrap=True)
            names = [printable(summary["vendor"]) + ("*" if summary["is_baseline"] else "") for summary in summaries]
            print_columns(console, names, list(_rows(summaries)))
            console.print()
            for note in _notes(summaries):
                console.print(Text(note))


def _heading(summary: Summary) -> str:
    about = summary["provenance"]
    return printable(
        f"{summary['model']}: {about['test_set_cases']} requests of {about['test_set']} "
        f"({about['test_set_digest'][:12]}), {about['trials']} trial(s), trialbed {about['trialbed_version']}"
    )


def _rows(summaries: Sequence[Summary]) -> Iterator[Row]:
    yield Row("requests ended", tuple(str(summary["case_count"]) for summary in summaries))
    for outcome in ("tool_calls", "stop", "other"):
        yield Row(outcome, tuple(str(summary["outcomes"].get(outcome, 0)) for summary in summaries))
    yield Row("failed", tuple(_failed(summary) for summary in summaries), alarming=True)
    for key, label in RATES.items():
        yield Row(label, tuple(_rate(summary[key]) for summary in summaries))
    for key, label in TIMES.items():
        yield Row(f"{label} p50/p95/p99", tuple(_spread(summary[key]) for summary in summaries))
    yield Row("not sent", tuple(str(summary["not_sent"] or "") for summary in summaries), alarming=True)


def _failed(summary: Summary) -> str:
    return ", ".join(f"{count} {printable(kind)}" for kind, count in summary["problems"].items())


def _rate(rate: Mapping[str, float] | None) -> str:
    return UNKNOWN if rate is None else f"{rate['value']:.2f} [{rate['low']:.2f}, {rate['high']:.2f}] n={rate['n']}"


def _spread(figures: Mapping[str, float] | None) -> str:
    if figures is None:
        return UNKNOWN
    return "/".join(number(figures[quantile]) for quantile in ("p50", "p95", "p99"))


def _notes(summaries: Sequence[Summary]) -> Iterator[str]:
    yield "[low, high] is the 95% Wilson interval. Times count from the writing of the request of the last attempt."
    if any(summary["is_baseline"] for summary in summaries):
        yield "* is the baseline."
    for summary in summaries:
        name = printable(summary["vendor"])
        if summary["client_saturated"]:
            lag = number(summary["loop_lag_ms"]["p95"])
            yield f"{name}: this machine itself was late (p95 {lag} ms); the times are its own as much as the vendor's."
        if summary["call_problems"]:
            yield f"{name}: calls were wrong for {_counts(summary['call_problems'])}"
        if summary["notes"]:
            yield f"{name}: oddities: {_counts(summary['notes'])}"


def _counts(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{count} {printable(kind)}" for kind, count in counts.items())
