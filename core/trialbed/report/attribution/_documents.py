"""Attribution in result documents."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from trialbed.records import ApiCall, Query, ToolSpec, TrialResult
from trialbed.report.attribution._stages import AttributedCall, attribute
from trialbed.report.attribution._waterfall import waterfall
from trialbed.settings import secret_values
from trialbed.tool_calls import unasked_calls
from trialbed.wire.redaction import redact

QueryId = int | str


def attribute_documents(
    documents: Sequence[dict[str, Any]],
    results: Sequence[TrialResult],
    queries: Mapping[QueryId, Query],
    tools: Mapping[QueryId, Sequence[ToolSpec]],
) -> None:
    """Add to each entry of result documents what became of the gold calls, and to each summary their waterfall.

    An entry's ``gold_calls`` and the summary's ``attribution`` leave out trials that were not measured.

    Args:
        results: the trials that count, bodies included.
        tools: what each query was offered.
    """
    add_attribution(documents, {result.trial: attribute_trial(result, queries, tools) for result in results})


def attribute_trial(
    result: TrialResult, queries: Mapping[QueryId, Query], tools: Mapping[QueryId, Sequence[ToolSpec]]
) -> tuple[AttributedCall, ...] | None:
    """What became of the gold calls of a trial; None where it was not measured.

    Args:
        result: the trial, bodies included.
        tools: what each query was offered.
    """
    if result.status == "not measured":
        return None
    query_id = result.key.query_id
    offered = tools.get(query_id, ())
    return tuple(attribute(queries[query_id], offered, result, _unasked(result, offered)))


def add_attribution(
    documents: Sequence[dict[str, Any]], attributed: Mapping[str, Sequence[AttributedCall] | None]
) -> None:
    """What ``attribute_documents`` does, with what was found of each trial: by its token, None where not measured."""
    secrets = secret_values()
    for document in documents:
        every: list[AttributedCall] = []
        for entry in document["results"]:
            found = attributed.get(entry["trial"])
            if found is None:
                continue
            entry["gold_calls"] = [_as_json(call, secrets) for call in found]
            every += found
        document["summary"]["attribution"] = waterfall(every)


def _unasked(result: TrialResult, tools: Sequence[ToolSpec]) -> tuple[ApiCall, ...]:
    """The calls that no answer of the model asked for; none where the scorers found none.

    They know what the wire does not tell: whether the agent may be led by a model that the gateway does not see.
    """
    score = result.score("unasked_calls")
    if not result.wire.model_calls or (score is not None and not score.value):
        return ()
    return unasked_calls(result.wire, tools)


def _as_json(call: AttributedCall, secrets: Collection[str]) -> dict[str, Any]:
    return {
        "api": list(call.gold.api.pair),
        "arguments": call.gold.arguments,
        "lost": call.lost,
        "reason": redact(call.reason, secrets),
    }
