"""The metrics ``tool_call_accuracy`` and ``tool_call_f1``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from trialbed.errors import UsageError
from trialbed.tool_calls import (
    ACCURACY,
    F1,
    ToolCall,
    ValueComparer,
    accuracy_of,
    align,
    f1_of,
)
from trialbed.tool_calls import RULES as RULES
from trialbed.tool_calls import ArgumentFinding as ArgumentFinding
from trialbed.tool_calls import CallFinding as CallFinding
from trialbed.tool_calls import Diagnosis as Diagnosis
from trialbed.tool_calls import parse_rule as parse_rule
from trialbed_evaluation.conversations import Sample, read_reference, read_tools
from trialbed_evaluation.metrics import _ragas
from trialbed_evaluation.metrics._inputs import Compat, Order, check_compat, check_order, made_calls, reference_in

Groups = tuple[tuple[ToolCall, ...], ...]
OF_RAGAS = "the value of Ragas 0.4.3"


@dataclass(frozen=True)
class MetricResult:
    """The value of a metric for one sample, with the metric's name; ``float(result)`` is the value too.

    Attributes:
        diagnosis: the reasons for the value.
    """

    name: str
    value: float
    diagnosis: Diagnosis = field(repr=False)

    @property
    def reason(self) -> str:
        """The diagnosis as text."""
        return str(self.diagnosis)

    def __float__(self) -> float:
        return self.value


def tool_call_accuracy(
    predicted: Any,
    reference: Any = None,
    *,
    order: Order = "strict",
    tools: Any = None,
    rules: Mapping[str, str] | None = None,
    compat: Compat | None = None,
) -> MetricResult:
    """Measure how well the actual calls match the expected ones, as points divided by the number of calls.

    Args:
        predicted: a list of calls, a conversation as a list of messages, or a sample.
        reference: the expected calls in order; inner lists are parallel groups. None uses the sample's.
        order: whether the order of the reference counts.
        tools: JSON Schemas of arguments: OpenAI's definitions of tools, or name -> schema. They choose the rules.
        rules: ``tool.argument`` or ``argument`` -> rule that overrides the schema's.
        compat: ``ragas`` computes what Ragas 0.4.3 does, without schemas and rules.

    Returns:
        The value, from 0 to 1, with its diagnosis.

    Raises:
        UsageError: an argument is wrong, or the reference is missing.
        DataError: a call or message is malformed; names the place.
    """
    check_compat(compat)
    check_order(order)
    made, groups = made_calls(predicted), _groups(predicted, reference)
    if compat == "ragas":
        value = _ragas.accuracy(made, [call for group in groups for call in group], order)
        return _result(Diagnosis(ACCURACY, value, OF_RAGAS, (), order, compat))
    rows = align(made, groups, _schemas(predicted, tools), ValueComparer(rules or {}), ordered=order == "strict")
    return _result(accuracy_of(rows, order))


def tool_call_f1(
    predicted: Any,
    reference: Any = None,
    *,
    tools: Any = None,
    rules: Mapping[str, str] | None = None,
    compat: Compat | None = None,
) -> MetricResult:
    """Return F1 of the actual and the expected calls in any order, with points for partly correct calls.

    Args:
        predicted: a list of calls, a conversation as a list of messages, or a sample.
        reference: the expected calls; None uses the sample's.
        tools: as for ``tool_call_accuracy``, like ``rules``.
        compat: ``ragas`` computes what Ragas 0.4.3 does, without schemas and rules.

    Returns:
        The value, from 0 to 1; its diagnosis has precision and recall, except with ``ragas``.

    Raises:
        UsageError: an argument is wrong, or the reference is missing.
        DataError: a call or message is malformed; names the place.
    """
    check_compat(compat)
    made, groups = made_calls(predicted), _groups(predicted, reference)
    if compat == "ragas":
        value = _ragas.f1(made, [call for group in groups for call in group])
        return _result(Diagnosis(F1, value, OF_RAGAS, (), "", compat))
    rows = align(made, groups, _schemas(predicted, tools), ValueComparer(rules or {}), ordered=False)
    return _result(f1_of(rows, len(made), sum(map(len, groups))))


def _result(found: Diagnosis) -> MetricResult:
    return MetricResult(found.metric, found.value, found)


def _groups(predicted: Any, reference: Any) -> Groups:
    """Return the expected calls as groups; a single call is a group of one."""
    wanted = reference_in(predicted, "reference") if reference is None else reference
    if wanted is None:
        raise UsageError("the reference is missing: give the right calls, or a sample with reference_tool_calls")
    return tuple(part if isinstance(part, tuple) else (part,) for part in read_reference(wanted, "reference"))


def _schemas(predicted: Any, tools: Any) -> Mapping[str, Mapping[str, Any]]:
    if tools is None and isinstance(predicted, Sample):
        return predicted.tools
    return read_tools(tools, "tools") if tools else {}
