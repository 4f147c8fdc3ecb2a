"""Comparisons within one run: each framework with the reference, and each native profile with the controlled one."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any

from trialbed.errors import UsageError
from trialbed.records import CONTROLLED, NATIVE, TrialResult, framework_name, framework_profile, framework_release
from trialbed.report.comparison._causes import loss_cause
from trialbed.report.comparison._findings import HEADLINE, paired_findings
from trialbed.report.comparison._ranks import open_ranks
from trialbed.report.comparison._sides import QueryId, document_side

Document = Mapping[str, Any]

REFERENCE = "reference"


def compare_frameworks(
    documents: Sequence[Document],
    results: Sequence[TrialResult],
    *,
    against: str | None,
    margin: float,
    whole: Callable[[TrialResult], TrialResult] = lambda result: result,
) -> dict[str, list[dict[str, Any]]]:
    """The comparisons within a run.

    Args:
        documents: one per framework of the run.
        results: the trials that count, which tell the causes.
        against: the framework that the others are compared with; None for ``reference``, or the first if that is not
            in the run.
        margin: the largest difference of a score that does not matter.
        whole: gives a trial with its bodies, where the results are without.

    Returns:
        framework -> its comparisons, each with what it is compared ``against``, its ``kind`` (``reference`` or
        ``profile``), the findings by score and, for profiles, ``causes``: cause of a lower score -> queries. Empty
        where trials were not measured and that is not accepted.

    Raises:
        UsageError: the framework to compare with is not in the run.
    """
    found: dict[str, list[dict[str, Any]]] = {_name(document): [] for document in documents}
    incomplete = any(document["metadata"]["status"] == "incomplete" for document in documents)
    if incomplete and not all(document["summary"]["common"] for document in documents):
        return found
    families = {"reference": _with_reference(documents, against), "profile": _with_controlled(documents)}
    for kind, pairs in families.items():
        for baseline, candidate, scores in _findings(pairs, margin):
            comparison = {"kind": kind, "against": baseline, "scores": scores}
            if kind == "profile":
                lower = {query for finding in scores.values() for query in finding["worse"]}
                comparison["causes"] = _causes(results, baseline, candidate, lower, whole)
            found[candidate].append(comparison)
    return found


def rank_documents(documents: Sequence[dict[str, Any]], margin: float) -> None:
    """Add to each summary of a complete run the ranks that the comparisons of all its frameworks leave open."""
    if any(document["metadata"]["status"] == "incomplete" for document in documents):
        return
    ranks = open_ranks([document_side(document) for document in documents], margin)
    for document in documents:
        document["summary"]["ranks"] = {score: list(found[_name(document)]) for score, found in ranks.items()}


def _causes(
    results: Sequence[TrialResult],
    controlled: str,
    native: str,
    queries: Collection[QueryId],
    whole: Callable[[TrialResult], TrialResult],
) -> dict[str, list[QueryId]]:
    """The causes of lower scores, the most frequent first: each with its queries."""
    trials = {(result.key.framework, result.key.query_id, result.key.repeat): result for result in results}
    found: dict[str, list[QueryId]] = {}
    for (framework, query, repeat), result in trials.items():
        other = trials.get((controlled, query, repeat))
        if framework == native and query in queries and other is not None and _is_lower(result, other):
            known = found.setdefault(loss_cause(whole(result), whole(other)), [])
            known.extend([query] if query not in known else [])
    return dict(sorted(found.items(), key=lambda item: -len(item[1])))


def _is_lower(native: TrialResult, controlled: TrialResult) -> bool:
    return any(_value(native, name) < _value(controlled, name) for name in HEADLINE)


def _value(result: TrialResult, name: str) -> float:
    score = result.score(name) if result.status == "answered" else None
    return 0.0 if score is None or score.value is None else score.value


def chosen_baseline(frameworks: Sequence[str], against: str | None) -> str:
    """The framework that the others are compared with: as named, or the one whose name alone is meant.

    Raises:
        UsageError: it is not among them, or the name alone means several.
    """
    if against is None:
        return REFERENCE if REFERENCE in frameworks else frameworks[0]
    if against in frameworks:
        return against
    meant = [framework for framework in frameworks if framework_name(framework) == against]
    if len(meant) == 1:
        return meant[0]
    raise UsageError(f"--against: {against!r} is not one framework of the run: {', '.join(frameworks)}")


def _with_reference(documents: Sequence[Document], against: str | None) -> list[tuple[Document, Document]]:
    name = chosen_baseline([_name(document) for document in documents], against)
    baseline = next(document for document in documents if _name(document) == name)
    return [(baseline, document) for document in documents if document is not baseline]


def _with_controlled(documents: Sequence[Document]) -> list[tuple[Document, Document]]:
    controlled = {_package(document): document for document in documents if _profile(document) == CONTROLLED}
    native = (document for document in documents if _profile(document) == NATIVE)
    return [(controlled[_package(document)], document) for document in native if _package(document) in controlled]


def _findings(
    pairs: Sequence[tuple[Document, Document]], margin: float
) -> Iterator[tuple[str, str, dict[str, dict[str, Any]]]]:
    made = {_name(document): document for pair in pairs for document in pair}
    side = {name: document_side(document) for name, document in made.items()}
    sides = [(side[_name(baseline)], side[_name(candidate)]) for baseline, candidate in pairs]
    found = paired_findings(sides, margin)
    for baseline, candidate in sides:
        own = [one for one in found if (one.baseline, one.candidate) == (baseline.name, candidate.name)]
        yield baseline.name, candidate.name, {one.score: one.as_json() for one in own}


def _name(document: Document) -> str:
    return str(document["metadata"]["agent_name"])


def _profile(document: Document) -> str | None:
    return framework_profile(_name(document)) if document["metadata"]["profile"] else None


def _package(document: Document) -> tuple[str, str | None]:
    return framework_name(_name(document)), framework_release(_name(document))
