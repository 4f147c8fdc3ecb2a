"""What the figures rest on, in words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from trialbed.views import printable

Document = Mapping[str, Any]


def heading(document: Document) -> str:
    """What was measured, with what: the same for every framework of a run."""
    about = document["metadata"]
    queries = "1 query" if about["num_queries"] == 1 else f"{about['num_queries']} queries"
    return printable(
        f"{about['test_set']}: {queries}, model {about['model']}, "
        f"judge {about['evaluator_model']}, selector {about['selector']}, seed {about['seed']}, run {about['run_id']}"
    )


def notes(documents: Sequence[Document]) -> Iterator[str]:
    """How to read the table, and what about a framework must be known to read it right."""
    level = documents[0]["summary"]["interval_level"]
    yield (
        "Means over the n trials that ended with an answer, or as many as stand beside them; errors enter none. "
        f"[low, high] is the {level:.0%} Wilson interval, clustered by query."
    )
    for document in documents:
        name = printable(document["metadata"]["agent_name"])
        for note in _own(document):
            yield f"{name}: {note}"


def _own(document: Document) -> Iterator[str]:
    about, summary = document["metadata"], document["summary"]
    if about["capabilities"]:
        yield f"deviates by itself: {printable('; '.join(about['capabilities']))}"
    claims = summary["claims"]
    if claims["invented"] or claims["unreported"]:
        yield (
            f"claims differ from the wire: {claims['invented']} calls claimed and never made, "
            f"{claims['unreported']} made and never claimed"
        )
    for score, count in summary["untold_scores"].items():
        yield f"{printable(score)} could not be told for {count} answered trials"
