"""The rules for arguments that are given to ``bench score``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from trialbed.errors import UsageError

if TYPE_CHECKING:
    from trialbed_evaluation.conversations import Sample, ToolCall


def parse_rules(given: Iterable[str]) -> dict[str, str]:
    """Name of an argument -> rule.

    Raises:
        UsageError: one is malformed, an argument has two, or a rule does not exist.
    """
    from trialbed_evaluation.metrics import parse_rule

    rules: dict[str, str] = {}
    for text in given:
        name, equals, rule = text.partition("=")
        if not equals or not name:
            raise UsageError(f"--rule: {text!r} does not have the form ARGUMENT=RULE, such as query=text")
        parse_rule(rule)
        if rules.setdefault(name, rule) != rule:
            raise UsageError(f"--rule: {name!r} has two rules, {rules[name]!r} and {rule!r}")
    return rules


def check_used(rules: Mapping[str, str], samples: Sequence[Sample], tools: Mapping[str, Mapping[str, Any]]) -> None:
    """Check that each rule is for an argument that a call or the definition of a tool has.

    Raises:
        UsageError: one is not; suggests another.
    """
    from trialbed.suggestions import closest, did_you_mean

    known = set(_names(samples, tools)) if rules else set()
    for rule in rules:
        if not any(rule == name or rule.startswith((f"{name}.", f"{name}[]")) for name in known):
            hint = did_you_mean(closest(rule, known))
            raise UsageError(f"--rule {rule}={rules[rule]}: no tool or call has this argument{hint}")


def _names(samples: Sequence[Sample], tools: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    """Yield the subjects of rules: ``tool.argument`` and ``argument``."""
    for sample in samples:
        for call in _calls(sample):
            yield from _of_tool(call.name, call.args or {})
        yield from _of_schemas(sample.tools or {})
    yield from _of_schemas(tools)


def _calls(sample: Sample) -> Iterator[ToolCall]:
    yield from sample.calls
    for part in sample.reference or ():
        yield from part if isinstance(part, tuple) else (part,)


def _of_schemas(tools: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    for tool, schema in tools.items():
        yield from _of_tool(tool, schema.get("properties") or {})


def _of_tool(tool: str, arguments: Iterable[str]) -> Iterator[str]:
    for name in arguments:
        yield name
        yield f"{tool}.{name}"
