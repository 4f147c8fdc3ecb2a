"""Reports of runs whose attempts are in memory."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any, cast

from trialbed.records import GoldAnswer, Query, Run, TrialResult
from trialbed.report import Report, legacy_document, read_report
from trialbed.store import StoredRun, counted_attempts


@dataclass(frozen=True)
class MemoryRun:
    """A run as a store reads it, whose attempts are in memory.

    Attributes:
        tools: the tools on offer as ``StoredRun.offers`` gives them; None where what was lost is not to be known.
    """

    record: Run
    attempts: Sequence[TrialResult]
    tools: Any = None
    gold: Mapping[int | str, GoldAnswer] = field(default_factory=dict)

    def each_result(self) -> Iterator[TrialResult]:
        return iter(self.attempts)

    def trial(self, *key: Any) -> Any:
        counted = counted_attempts(self.attempts)
        names = ("framework", "query_id", "repeat")
        return SimpleNamespace(result=next(one for one in counted if tuple(getattr(one.key, n) for n in names) == key))

    def offers(self, queries: Any) -> Any:
        return self.tools

    def gold_answers(self) -> Mapping[int | str, GoldAnswer]:
        return self.gold


def report_of(
    run: Run,
    queries: Mapping[int | str, Query],
    attempts: Sequence[TrialResult],
    *,
    tools: Any = None,
    gold: Mapping[int | str, GoldAnswer] | None = None,
    allow_incomplete: bool = False,
    **more: Any,
) -> Report:
    """The report of a run whose attempts are in memory; the other arguments are those of ``read_report``."""
    stored = cast("StoredRun", MemoryRun(run, attempts, tools, gold or {}))
    return read_report(stored, queries, allow_incomplete=allow_incomplete, **more)


def result_document(
    run: Run,
    framework: str,
    queries: Mapping[int | str, Query],
    results: Sequence[TrialResult],
    extra: Mapping[str, Any] | None = None,
    **more: Any,
) -> dict[str, Any]:
    """The result document of a framework in a run with these attempts.

    Args:
        extra: figures that plugins add.
        **more: as ``read_report`` takes it.
    """
    report = report_of(run, queries, results, aggregate=lambda *_: extra or {}, **more)
    return legacy_document(report, framework)
