"""What the checks of a stored trial found, which only its run could ask: the functions are not there any more."""

from __future__ import annotations

from collections.abc import Iterator

from trialbed.records import Query, Score
from trialbed.scoring import CheckResult, criterion_name

WITHOUT_JUDGE = ("calls", "sources")
"""The methods of verdicts for which neither the expectations nor a judge were asked."""


def kept_checks(query: Query, verdict: Score | None) -> tuple[CheckResult, ...]:
    """Return the results of a task's checks, as far as the verdict of its run has them.

    A verdict on expectations lists them all, and so does a judge that failed. A verdict of a judge says that every one
    is met: it is asked only then.
    """
    expected = query.expected
    checks = () if expected is None else (*expected.all_checks, *map(criterion_name, expected.all_criteria))
    if not checks or verdict is None:
        return ()
    method = verdict.detail.get("method")
    if verdict.value is None or method == "expectations":
        return tuple(result for result in _listed(verdict) if result.name in checks)
    return () if method in WITHOUT_JUDGE else tuple(CheckResult(name, met=True) for name in checks)


def _listed(verdict: Score) -> Iterator[CheckResult]:
    # Verdicts of earlier versions list them among the expectations alone.
    listed = verdict.detail.get("checks", verdict.detail.get("expectations"))
    for one in listed if isinstance(listed, list) else ():
        match one:
            case {"name": str(text), "met": bool() | None as met, "reason": str(reason)}:
                yield CheckResult(text, met, reason)
            case {"text": str(text), "met": bool() | None as met, "reason": str(reason)}:
                yield CheckResult(text, met, reason)
