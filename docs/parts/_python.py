"""The Python API: names, contracts, hooks and what reads runs."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import Any

import trialbed
import trialbed_adapter_lab
import trialbed_scripted
from parts._markdown import docstring, first_paragraph, names, table
from trialbed import contracts, hookspecs, wire
from trialbed.wire.dialects import chat_completions

TYPES = {
    "AnswerStatus": "How a judge finds an answer: `Solved`, `Unsure` or `Unsolved`.",
    "Cause": "Whose fault a failed request to the gateway is; see `ModelCall`.",
    "ObservedIn": "Where a call was seen: at Trialbed's server, or in the conversation; see `ApiCall`.",
    "FailureKind": "The [kinds of failures](errors.md#failures) of a trial or a score.",
    "Finish": "How an agent ended: `give_answer` or `give_up_and_restart`.",
    "IntegrityKind": "What a finding of a trial's integrity is about; see `IntegrityFinding`.",
    "Json": "A JSON value: None, bool, int, float, str, list or dict with str keys.",
    "LimitName": "The settings that limit a trial: `max_steps`, `max_trial_tokens` and `timeout`.",
    "LossReason": "Why a scripted model could not make a call; see `LostCall`.",
    "RunKind": "The subjects of a run: `frameworks`, or the `endpoints` that a verification is about.",
    "RunStatus": "`running`, `interrupted`, `incomplete` (some trials were not measured) or `finished`.",
    "SYSTEM_PROMPT": "The system prompt of every trial.",
    "TrialStatus": "How a trial ended: `answered`, `failed` (its quality scores are 0) or `not measured`.",
    "hookimpl": "Marks an implementation of a hook.",
}
"""The names of ``trialbed`` that have no docstring."""

CONSTANTS = {
    "AFTER_THE_END": "the text of a model that is asked more often than its script has lines",
    "ANSWERED": "the outcomes that are answers",
    "DONE_EVENT": "the event that ends a stream",
    "FAULTS": "the [faults](verification.md#faults) by name",
    "Line": "the type of a line of a script",
    "NAME": "of the dialect",
    "Outcome": "the type of an outcome",
    "POLICIES": "the policies by name",
    "PATH": "of its requests, below `/v1`",
    "TRANSIENT": "the HTTP statuses after which the same request may be answered",
    "USAGE": "the tokens that a turn reports unless it says otherwise",
    "CHECKS": "every check: the probes that demand something",
    "PROBES": "every probe, in the order in which they are run",
    "LEVELS": "the levels of checks, the strictest first",
    "Level": "the type of a check's level",
}
"""Those of the other modules."""

FAMILY = re.compile(r"^# -- (.+?) -+$")


def hooks() -> str:
    """Every hook by family, in the order of the source, with its manual."""
    lines: list[str] = []
    source = inspect.getsource(hookspecs).splitlines()
    for number, line in enumerate(source):
        if family := FAMILY.match(line):
            lines.append(f"## {family[1][0].upper()}{family[1][1:]}\n")
        elif line == "@hookspec":
            name = source[number + 1].split("(")[0].removeprefix("def ")
            lines.append(_manual(name, getattr(hookspecs, name)))
    return "\n".join(lines)


def contract_classes() -> str:
    """The contracts: each class with its members."""
    classes = [getattr(contracts, name) for name in contracts.__all__]
    chosen = [
        item for item in classes if inspect.isclass(item) and (inspect.isabstract(item) or item is contracts.Vendor)
    ]
    return "\n\n".join(_contract(item) for item in chosen)


def benchmark() -> str:
    """``run_benchmark`` with its manual."""
    return _manual("run_benchmark", trialbed.run_benchmark)


def evaluating() -> str:
    """``evaluate``, and what it is given, each with its manual."""
    return "\n\n".join(
        [
            _manual("evaluate", trialbed.evaluate),
            _reading(trialbed.Task),
            *(_manual(name, getattr(trialbed, name)) for name in ("call", "scorer")),
            _reading(trialbed.ScoreContext),
        ]
    )


def reading() -> str:
    """How runs and trials are read: each class with its members."""
    return "\n\n".join(
        [_manual("open_store", trialbed.open_store)]
        + [_reading(item) for item in (trialbed.StoreReader, trialbed.StoredRun, trialbed.TrialResult)]
    )


def public_names() -> str:
    """Every name that ``trialbed`` offers."""
    return names(trialbed, TYPES)


def api_objects() -> str:
    """What mkdocstrings shows in full: every name that ``trialbed`` offers, by the module that it is from."""
    stub = Path(trialbed.__file__).with_suffix(".pyi").read_text(encoding="utf-8")
    found: dict[str, list[str]] = {}
    for module, name in re.findall(r"^from \.([\w.]+) import (\w+) as", stub, re.MULTILINE):
        found.setdefault(f"trialbed.{module}", []).append(name)
    sections = (
        "\n\n".join([f"## {module}", *(f"::: {module}.{name}" for name in names)]) for module, names in found.items()
    )
    return "\n\n".join(sections)


def wire_names() -> str:
    """Every name that ``trialbed.wire`` offers."""
    return names(wire, CONSTANTS)


def dialect_names() -> str:
    """Every name that chat completions have, as the first dialect."""
    return names(chat_completions, CONSTANTS)


def scripted_names() -> str:
    """Every name that ``trialbed_scripted`` offers."""
    return names(trialbed_scripted, CONSTANTS)


def kit_names() -> str:
    """Every name that ``trialbed_adapter_lab`` offers."""
    return names(trialbed_adapter_lab, CONSTANTS)


def _contract(item: type) -> str:
    lines = [f"### {item.__name__}", "", docstring(item), ""]
    for name, member in vars(item).items():
        if not inspect.isfunction(inspect.unwrap(getattr(member, "__func__", member))) or name.startswith("_"):
            continue
        function = getattr(member, "__func__", member)
        must = " (must be implemented)" if getattr(member, "__isabstractmethod__", False) else ""
        kind = "async " if inspect.iscoroutinefunction(function) else ""
        lines += [f"**`{kind}{name}{_signature(function)}`**{must}", "", docstring(function), ""]
    return "\n".join(lines).rstrip()


def _reading(item: type) -> str:
    """A class with its properties as a table, and its methods."""
    values = {name: member for name, member in vars(item).items() if isinstance(member, (property, cached_property))}
    rows = [(f"`{name}`", first_paragraph(member)) for name, member in values.items()]
    properties = [table(("property", "what it is"), rows), ""] if rows else []
    return "\n".join([_contract(item), "", *properties]).rstrip()


def _manual(name: str, function: Callable[..., Any]) -> str:
    return f"### {name}\n\n```python\n{_header(name, function)}\n```\n\n{docstring(function)}\n"


def _header(name: str, function: Callable[..., Any]) -> str:
    whole = f"{name}{_signature(function)}"
    if len(whole) <= 100:
        return whole
    inner, _, result = _signature(function)[1:].rpartition(")")
    return "\n".join([f"{name}(", *(f"    {part}," for part in _split(inner)), f"){result}"])


def _split(text: str) -> list[str]:
    return [part.strip() for part in re.split(r",(?![^\[]*\])", text) if part.strip()]


def _signature(function: Callable[..., Any]) -> str:
    return re.sub(r"(: |-> )'([^']*)'", r"\1\2", str(inspect.signature(function)))
