"""Tool-call metrics where a model says whether arguments mean the same."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from trialbed.errors import JudgeError
from trialbed.tool_calls import NO_SCHEMA, Judgements, MetricResult, ValueComparer, as_json, property_schema, same_text
from trialbed_evaluation.conversations import Sample, ToolCall
from trialbed_evaluation.metrics._inputs import Order, made_calls, reference_in, right_groups
from trialbed_evaluation.metrics._steps import Step, StepModel, ask
from trialbed_evaluation.metrics._tool_calls import read_tool_schemas, tool_call_accuracy, tool_call_f1
from trialbed_evaluation.schemas import object_schema

COMPARE = "compare_argument"
ASK_SAME = (
    "Decide whether both values mean the same as this argument of this tool: whether the tool would do the same with "
    "either. Wording, language and order of words do not matter; other facts, names and numbers do."
)
SCHEMA = object_schema(same={"type": "boolean"})


async def atool_call_accuracy(
    predicted: Any,
    reference: Any = None,
    *,
    model: StepModel,
    order: Order = "strict",
    tools: Any = None,
    rules: Mapping[str, str] | None = None,
) -> MetricResult:
    """``tool_call_accuracy``, with a model for arguments with the rule ``semantic``.

    Args:
        model: is asked once for each two different values.
    """
    judged = await judge_arguments(predicted, reference, model=model, tools=tools, rules=rules)
    return tool_call_accuracy(predicted, reference, order=order, tools=tools, rules=rules, judgements=judged)


async def atool_call_f1(
    predicted: Any,
    reference: Any = None,
    *,
    model: StepModel,
    tools: Any = None,
    rules: Mapping[str, str] | None = None,
) -> MetricResult:
    """``tool_call_f1``, with a model for arguments with the rule ``semantic``.

    Args:
        model: is asked once for each two different values.
    """
    judged = await judge_arguments(predicted, reference, model=model, tools=tools, rules=rules)
    return tool_call_f1(predicted, reference, tools=tools, rules=rules, judgements=judged)


async def judge_arguments(
    predicted: Any, reference: Any, *, model: StepModel, tools: Any, rules: Mapping[str, str] | None
) -> Judgements:
    """Ask the model about every two values that may have to be compared by ``semantic``."""
    wanted = reference_in(predicted, "reference_tool_calls") if reference is None else reference
    right = [call for group in right_groups(wanted or ()) for call in group]
    schemas = predicted.tools if tools is None and isinstance(predicted, Sample) else read_tool_schemas(tools)
    found: dict[tuple[str, str, str], Step] = {}
    for tool, name, given, due in _values(made_calls(predicted), right):
        part = property_schema(schemas.get(tool, NO_SCHEMA), name)
        if (
            ValueComparer(rules or {}).rule(tool, name, part, due).name == "semantic"
            and not same_text(given, due, None)[0]
        ):
            inputs = {"tool": tool, "argument": name, "first": given, "second": due}
            found[f"{tool}.{name}", as_json(given), as_json(due)] = Step(COMPARE, ASK_SAME, inputs, SCHEMA)
    answers = await asyncio.gather(*(ask(model, step) for step in found.values()))
    return dict(zip(found, map(_same, answers), strict=True))


def _values(made: Sequence[ToolCall], right: Sequence[ToolCall]) -> Iterator[tuple[str, str, Any, Any]]:
    for call in made:
        for wanted in right:
            if call.name == wanted.name:
                for name, due in (wanted.args or {}).items():
                    if name in (call.args or {}):
                        yield call.name, name, (call.args or {})[name], due


def _same(answer: Mapping[str, Any]) -> bool:
    value = answer.get("same")
    if isinstance(value, bool):
        return value
    raise JudgeError(f"{COMPARE}: same must be true or false, not {value!r:.100}")
