"""Metrics of calls: tool_call_accuracy and tool_call_f1."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
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
from trialbed_evaluation.conversations import Sample
from trialbed_evaluation.metrics import _ragas
from trialbed_evaluation.metrics._inputs import (
    Compat,
    Order,
    check_compat,
    check_order,
    made_calls,
    reference_in,
    right_calls,
    right_groups,
)


@dataclass(frozen=True)
class MetricResult:
    """The value of a metric for one sample, with the metric's name; ``float(result)`` is the value too.

    Attributes:
        found: the reasons; or a function that finds them when they are asked for.
    """

    name: str
    value: float
    found: Diagnosis | Callable[[], Diagnosis] = field(repr=False)

    @cached_property
    def diagnosis(self) -> Diagnosis:
        """The reasons for the value."""
        return self.found if isinstance(self.found, Diagnosis) else self.found()

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
    """Measure how well the calls made match the calls wanted: points of all calls over the number of calls.

    Args:
        predicted: a list of calls, a conversation as a list of messages, or a sample.
        reference: the calls that are right, in order; inner lists are parallel groups. None: those of the sample.
        order: whether the order of the reference counts.
        tools: JSON Schemas of arguments: OpenAI's definitions of tools, or name -> schema. They choose the rules.
        rules: ``tool.argument`` or ``argument`` -> rule, where another one than the schema's is wanted.
        compat: ``ragas`` computes what Ragas 0.4.3 does, without schemas and rules.

    Returns:
        The value, from 0 to 1, with its diagnosis.

    Raises:
        UsageError: an argument is wrong, or the reference is missing.
        DataError: a call or message is malformed; names the place.
    """
    if compat is None:
        check_order(order)
        made, groups, known = _read(predicted, reference, tools)
        comparer = ValueComparer(rules or {})
        rows = align(made, groups, known, comparer, ordered=order == "strict")
        return _result(accuracy_of(rows, order, _unused_rules(rules, made, groups, known)))
    if compat != "ragas":
        check_compat(compat)
    made_, right = _plain(predicted, reference)
    check_order(order)
    value = (_ragas.strict_accuracy if order == "strict" else _ragas.flexible_accuracy)(made_, right)
    return MetricResult(ACCURACY, value, partial(_ragas.accuracy_diagnosis, value, made_, right, order))


def tool_call_f1(
    predicted: Any,
    reference: Any = None,
    *,
    tools: Any = None,
    rules: Mapping[str, str] | None = None,
    compat: Compat | None = None,
) -> MetricResult:
    """F1 of the calls made against the calls wanted, in any order, with points for calls that are partly right.

    Args:
        predicted: a list of calls, a conversation as a list of messages, or a sample.
        reference: the calls that are right. None: those of the sample.
        tools: as for ``tool_call_accuracy``, like ``rules``.
        compat: ``ragas`` computes what Ragas 0.4.3 does, without schemas and rules.

    Returns:
        The value, from 0 to 1; its diagnosis has precision and recall.

    Raises:
        UsageError: an argument is wrong, or the reference is missing.
        DataError: a call or message is malformed; names the place.
    """
    if compat is None:
        made, groups, known = _read(predicted, reference, tools)
        rows = align(made, groups, known, ValueComparer(rules or {}), ordered=False)
        return _result(f1_of(rows, len(made), sum(map(len, groups)), _unused_rules(rules, made, groups, known)))
    if compat != "ragas":
        check_compat(compat)
    made_, right = _plain(predicted, reference)
    value = _ragas.f1(made_, right)
    return MetricResult(F1, value, partial(_ragas.f1_diagnosis, value, made_, right))


def _result(found: Diagnosis) -> MetricResult:
    return MetricResult(found.metric, found.value, found)


def _unused_rules(
    rules: Mapping[str, str] | None,
    made: Sequence[ToolCall],
    groups: Sequence[Sequence[ToolCall]],
    tools: Mapping[str, Mapping[str, Any]],
) -> tuple[str, ...]:
    """Return notes on rules for arguments that no call, reference or schema has."""
    if not rules:
        return ()
    known = argument_names([*made, *(call for group in groups for call in group)], tools)
    return tuple(
        f"the rule for {rule} was not used, because no call, reference or schema has this argument"
        for rule in rules
        if not names_argument(rule, known)
    )


def argument_names(calls: Iterable[ToolCall], tools: Mapping[str, Mapping[str, Any]]) -> set[str]:
    """Return the names of all arguments of calls and of the schemas of tools: ``argument`` and ``tool.argument``."""
    found = [(call.name, name) for call in calls for name in call.args or {}]
    found += [(tool, name) for tool, schema in tools.items() for name in schema.get("properties") or {}]
    return {text for tool, name in found for text in (name, f"{tool}.{name}")}


def names_argument(rule: str, known: Iterable[str]) -> bool:
    """Return whether a rule is for one of these arguments, or for a part of one."""
    return any(rule == name or rule.startswith((f"{name}.", f"{name}[]")) for name in known)


def read_tool_schemas(tools: Any) -> Mapping[str, Mapping[str, Any]]:
    """Return the schemas of tools, however they are given."""
    if not tools:
        return {}
    from trialbed_evaluation.conversations import read_tools

    return read_tools(tools, "tools")


def _read(
    predicted: Any, reference: Any, tools: Any
) -> tuple[Sequence[ToolCall], tuple[tuple[ToolCall, ...], ...], Mapping[str, Mapping[str, Any]]]:
    wanted = _reference_calls(predicted, reference)
    known = predicted.tools if tools is None and isinstance(predicted, Sample) else read_tool_schemas(tools)
    return made_calls(predicted), right_groups(wanted), known


def _plain(predicted: Any, reference: Any) -> tuple[Sequence[Any], Sequence[Any]]:
    wanted = reference
    if reference is None:
        found = _reference_calls(predicted, None)
        wanted = list(found) if isinstance(found, tuple) else found
    return made_calls(predicted), right_calls(wanted)


def _reference_calls(predicted: Any, reference: Any) -> Any:
    if reference is not None:
        return reference
    found = reference_in(predicted, "reference_tool_calls")
    if found is None:
        raise UsageError("the reference is missing: give the right calls, or a sample with reference_tool_calls")
    return found
