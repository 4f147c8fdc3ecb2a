"""Make tables for the committed pages, on scores, policies, keys of documents, and the words of verifications."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator, Mapping
from importlib.metadata import entry_points
from importlib.resources import files
from itertools import groupby
from pathlib import Path
from typing import Any, get_args

from parts.markdown import escaped, first_paragraph, table
from trialbed import contracts, conversations, metrics
from trialbed.drivers import GROUPS
from trialbed.records import FailureKind
from trialbed.report import document_schema
from trialbed.settings import declared_settings
from trialbed_plugins.scorers import CATALOG
from trialbed_scripted import FAULTS, POLICIES
from trialbed_scripted.faults import FaultKind
from trialbed_scripted.vendor import ANSWERS
from trialbed_verify.findings import CALL_REASONS, KINDS, OUTCOMES, PROBLEMS
from trialbed_verify.suites import EXPECTATIONS, SUITES

ROOT = Path(__file__).parents[2]
CELLS: dict[str, Any] = tomllib.loads(files("trialbed_scripted").joinpath("cells.toml").read_text(encoding="utf-8"))
"""The known outcomes of scripted models, which the tests compare with runs."""

FIGURES = ROOT / "benchmarks" / "growth.json"
REQUESTS = 3
"""Of a trial, in all tables."""

MODEL = 2.0
"""Assumed seconds of a request to a model."""

MINUS = "\N{MINUS SIGN}"
TITLES = {"turns": "model turns", "calls": "calls observed", "status": "status", "solved": "solved"}
COUNTED = ("turns", "calls", "api_call_score", "api_precision", "status", "has_finish")
ARGUMENTS = (
    *("argument_accuracy", "tool_call_f1", "tool_call_accuracy"),
    *("call_success", "recovered", "redundant_calls"),
)


def scores() -> str:
    """Return every built-in score in a row."""
    rows = [
        (
            f"`{score.name}`",
            escaped(score.meaning) + ("" if score.bounded else f" ({score.unit})"),
            "counts as 0" if score.bounded and score.quality else "skipped",
            escaped(score.missing or "never"),
        )
        for score in CATALOG
    ]
    return table(("score", "meaning (0 … 1 unless a unit is given)", "failed trial", "no value if"), rows)


def argument_rules() -> str:
    """Return every rule for the comparison of arguments."""
    return _words("rule", metrics.RULES)


def conversation_formats() -> str:
    """Return every format of conversations."""
    return _words("format", conversations.FORMATS)


def failure_kinds() -> str:
    """Return the kinds of failures, with the comments at their definition."""
    source = (ROOT / "core/trialbed/records/_scores.py").read_text()
    comments = dict(re.findall(r'^    "([a-z]+)",  # (.+)$', source, re.MULTILINE))
    return _words("kind", {kind: comments[kind] for kind in get_args(FailureKind)})


def policies() -> str:
    """Return every policy and what it plays."""
    return table(
        ("model", "behaviour"), [(f"`scripted:{name}`", first_paragraph(play)) for name, play in POLICIES.items()]
    )


def right_values() -> str:
    """Return the known values of scores that count calls."""
    return _right(COUNTED)


def right_argument_values() -> str:
    """Return the known values of scores that see arguments."""
    return _right(ARGUMENTS)


def right_conversations() -> str:
    """Return the known outcomes of conversations."""
    talks = CELLS["conversations"]
    rows = []
    users = {name: f"`{name}`: the user {task['user']}" for name, task in talks["tasks"].items()}
    for row in talks["right"]:
        user = users.pop(row["task"], "")  # said once
        rows.append((user, codes(row["policies"]), *(str(row.get(name, "-")) for name in talks["fields"][:-1])))
    return table(("task", "policy", *map(title_of, talks["fields"][:-1])), rows)


def codes(names: list[str]) -> str:
    """Return names in code marks."""
    return ", ".join(f"`{name}`" for name in names)


def title_of(field: str) -> str:
    """Return a column's title in the truth table."""
    return TITLES.get(field, f"`{field}`")


def expression(source: str) -> str:
    """Return an expression of the truth table in readable form."""
    text = source.removesuffix(" if p == n else any").replace("< 1", "below 1")
    signs = {"none": "-", "any": "depends", "==": "=", ">=": "≥", " - ": f" {MINUS} ", " else ": ", else "}
    for sign, shown in signs.items():
        text = text.replace(sign, shown)
    return re.sub(r"(\d) \* (?=[\w(])", r"\1", re.sub(r"q in (\w+)", r"q is in *\1*", text))


def _right(fields: tuple[str, ...]) -> str:
    groups: dict[tuple[str, ...], list[str]] = {}
    for policy, own in CELLS["right"].items():
        values = {**CELLS["fields"], **own}
        groups.setdefault(tuple(expression(values[name]) for name in fields), []).append(policy)
    rows = [(codes(names), *values) for values, names in groups.items()]
    return table(("policy", *map(title_of, fields)), rows)


def document_keys() -> str:
    """Return every key of the result document; keys without words share a line."""
    schema = document_schema()
    settings = {setting.document for setting in declared_settings() if setting.document}
    return "\n".join(_keys(schema, schema, (), settings))


def _keys(node: dict[str, Any], root: dict[str, Any], path: tuple[str, ...], plain: set[str]) -> Iterator[str]:
    indent = "    " * len(path)
    named = []
    for key, found in _resolved(node, root).get("properties", {}).items():
        child = _resolved(found, root) | {name: value for name, value in found.items() if name != "$ref"}
        inner = child.get("items", child)
        nested = bool(_resolved(inner, root).get("properties"))
        if nested or ("description" in child and not (path == ("metadata",) and key in plain)):
            meaning = f": {child['description']}" if "description" in child else ""
            yield f"{indent}- `{key}`{meaning}"
            yield from _keys(inner, root, (*path, key), plain)
        else:
            named.append(f"`{key}`")
    if named:
        yield f"{indent}- {', '.join(named)}"


def _resolved(node: dict[str, Any], root: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = root
    if "$ref" not in node:
        return node
    for part in node["$ref"].removeprefix("#/").split("/"):
        found = found[part]
    return found


def outcomes() -> str:
    """Return how a case of a verification can end."""
    return _words("outcome", OUTCOMES)


def problem_kinds() -> str:
    """Return every kind of failure of a verified vendor."""
    return _words("kind", PROBLEMS)


def call_reasons() -> str:
    """Return why a call of a verified vendor is invalid."""
    return _words("reason", CALL_REASONS)


def finding_kinds() -> str:
    """Return every kind of finding about an answer, by gate and severity."""
    ordered = sorted(KINDS.items(), key=lambda item: (item[1].gate, item[1].severity != "violation"))
    parts = []
    for (gate, severity), group in groupby(ordered, key=lambda item: (item[1].gate, item[1].severity)):
        parts.append(f"**{gate}**, {severity}s:\n")
        parts += [f"- `{name}`: {kind.meaning}" for name, kind in group]
        parts.append("")
    return "\n".join(parts)


def suites() -> str:
    """Return the suites that come with Trialbed."""
    rows = [(f"`{name}`", str(one.size), escaped(one.about)) for name, one in SUITES.items()]
    return table(("suite", "cases", "what it measures"), rows)


def expectations() -> str:
    """Return what a case of a suite can expect."""
    meanings = ((name, (check.__doc__ or "").rstrip(".")) for name, check in EXPECTATIONS.items())
    return table(("key", "meaning"), [(f"`{name}`", escaped(text[:1].lower() + text[1:])) for name, text in meanings])


def vendor_drivers() -> str:
    """Return the vendors of ``trialbed-vendors``, with endpoint, key and renamed models."""
    found = [entry for entry in entry_points(group=GROUPS["vendors"]) if entry.value.startswith("trialbed_vendors")]
    return table(
        ("name", "endpoint", "key", "models to which it gives another name"),
        [_vendor(entry.name, entry.load()) for entry in sorted(found, key=lambda entry: entry.name)],
    )


def faults() -> str:
    """Return every fault that ``bench serve --faults`` plays."""
    return table(("fault", "what it does", "settings"), [_fault(name, about) for name, about in FAULTS.items()])


def fault_answers() -> str:
    """Return the settings of the correct answers of ``bench serve --faults``."""
    rows = [(f"`{name}`", about.text, _default_of(about.default)) for name, about in ANSWERS.items()]
    return table(("key", "meaning", "default"), rows)


def costs_of_frameworks() -> str:
    """What a trial of each framework costs in its worker, and how many a processor carries."""
    found = {label: own["run"] for label, own in json.loads(FIGURES.read_text())["frameworks"].items()}
    names = dict.fromkeys(label.partition(":")[0] for label in found)
    rows = [
        _of_framework(name, [run for label, run in found.items() if label.partition(":")[0] == name]) for name in names
    ]
    titles = (
        "framework",
        "CPU of a trial in its worker, native",
        "controlled",
        "memory of a worker, the larger of both",
        "trials/s of a processor, native",
        f"agents at a time of a processor, native, where each of {REQUESTS} requests takes {MODEL:g} s",
    )
    note = (
        "The time is the median over a run's trials but the first of each worker, as the run stored it; memory is the "
        "most that a worker had. The last two columns follow from the first, and have no engine and no server in them."
    )
    return f"{table(titles, rows)}\n\n{_about(found)} {note}"


def _of_framework(name: str, runs: list[dict[str, Any]]) -> tuple[str, ...]:
    """Return a row on a framework's runs, native, then controlled; the built-in loop has no profiles."""
    costs = [f"{run['trial']:.0f} ms" for run in runs]
    memory = max(run["worker"]["mib"] for run in runs)
    rate = 1000 / runs[0]["trial"]
    return name, *[*costs, "-"][:2], f"{memory:.0f} MiB", f"{rate:.0f}", f"{rate * REQUESTS * MODEL:.0f}"


def _about(found: dict[Any, dict[str, Any]]) -> str:
    every = [run["about"] for run in found.values()]
    loads = [about["load"] for about in every]
    return (
        f"Measured on {' and '.join(sorted({about['date'] for about in every}))} by `benchmarks/running.py` with "
        f"`scripted:gold`, Python {every[0]['python']}, {every[0]['processors']} processors, under a load of "
        f"{min(loads):g} to {max(loads):g}."
    )


def _words(title: str, words: Mapping[Any, str]) -> str:
    return table((title, "meaning"), [(f"`{word}`", escaped(meaning)) for word, meaning in words.items()])


def _vendor(name: str, driver: type[contracts.Vendor]) -> tuple[str, ...]:
    endpoint = f"`{driver.base_url}`" if driver.base_url else "give its `url`"
    key = f"`{driver.key_variable}`" if driver.key_variable else ""
    renamed = (f"`{model}`" for model, own in driver.models.items() if own != model)
    return f"`{name}`", endpoint, key, ", ".join(renamed)


def _fault(name: str, about: FaultKind) -> tuple[str, ...]:
    settings = ", ".join(f"`{key}` ({_default_of(default)})" for key, default in about.settings.items())
    return f"`{name}`", escaped(about.text), settings


def _default_of(value: Any) -> str:
    return f"`{json.dumps(value)}`"
