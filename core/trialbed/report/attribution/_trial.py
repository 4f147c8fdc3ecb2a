"""The attribution of one trial."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from trialbed.records import ApiCall, Query, ToolSpec, TrialResult
from trialbed.report.attribution._stages import AttributedCall, attribute
from trialbed.tool_calls import unasked_calls
from trialbed.wire.redaction import redact

QueryId = int | str


def attribute_trial(
    result: TrialResult,
    queries: Mapping[QueryId, Query],
    tools: Mapping[QueryId, Sequence[ToolSpec]],
    secrets: Collection[str] = (),
) -> tuple[AttributedCall, ...] | None:
    """Attribute the expected calls of a trial; None where it was not measured.

    Args:
        result: the trial, bodies included.
        tools: the tools that each query was offered.
        secrets: texts that are redacted in reasons.
    """
    if result.status == "not measured":
        return None
    query_id = result.key.query_id
    offered = tools.get(query_id, ())
    found = attribute(queries[query_id], offered, result, unrequested_calls(result, offered))
    return tuple(replace(call, reason=redact(call.reason, secrets)) if call.reason else call for call in found)


def unrequested_calls(result: TrialResult, tools: Sequence[ToolSpec]) -> tuple[ApiCall, ...]:
    """The calls that no answer of the model asked for; none where the scorers found none.

    They know more than the wire: whether the agent may be led by a model that the gateway does not see.
    """
    score = result.score("unasked_calls")
    if not result.wire.model_calls or (score is not None and not score.value):
        return ()
    return unasked_calls(result.wire, tools)
