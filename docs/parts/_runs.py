"""What runs and checks are made of: drivers, errors, policies, checks, keys of the document."""

from __future__ import annotations

import configparser
import inspect
import json
import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any, get_args

from parts._markdown import escaped, first_paragraph, table
from trialbed import errors
from trialbed.drivers import GROUPS
from trialbed.records import FailureKind
from trialbed.report import document_schema
from trialbed_adapter_lab.probe import probes_of
from trialbed_adapter_lab.probes import THEMES
from trialbed_scripted import POLICIES

ROOT = Path(__file__).parents[2]


def drivers() -> str:
    """Every driver of the main distribution by kind."""
    setup = configparser.ConfigParser()
    setup.read(ROOT / "setup.cfg", encoding="utf-8")
    groups = setup["options.entry_points"]
    rows = [
        (f"`{group}`", f"`{line.split('=')[0].strip()}`", first_paragraph(_load(line.split("=")[1].strip())))
        for kind, group in GROUPS.items()
        if kind != "components"
        for line in groups.get(group, "").strip().splitlines()
    ]
    return table(("group", "driver", "what it is"), rows)


def error_tree() -> str:
    """The error tree, then each error with its exit code."""
    tree = inspect.cleandoc(errors.__doc__ or "").split("::\n")[1].split("\nThe text")[0]
    drawing = "\n".join(line.removeprefix("    ") for line in tree.strip("\n").splitlines())
    rows = [
        (f"`{name}`", str(getattr(errors, name).exit_code), first_paragraph(getattr(errors, name)))
        for name in errors.__all__
    ]
    return f"```text\n{drawing.rstrip()}\n```\n\n" + table(("error", "exit code", "meaning"), rows)


def failure_kinds() -> str:
    """Why a trial has no result: every kind, with the comment beside it."""
    source = (ROOT / "core/trialbed/records/_scores.py").read_text()
    comments = dict(re.findall(r'^    "([a-z]+)",  # (.+)$', source, re.MULTILINE))
    return table(("kind", "meaning"), [(f"`{kind}`", comments[kind]) for kind in get_args(FailureKind)])


def policies() -> str:
    """Every policy and what it plays."""
    return table(
        ("model", "what it plays"), [(f"`scripted:{name}`", first_paragraph(play)) for name, play in POLICIES.items()]
    )


def document_keys() -> str:
    """Every key of the result document that its schema requires or describes."""
    return "\n".join(_keys(document_schema(), document_schema(), ()))


def checks() -> str:
    """Every probe of the conformance kit, by theme: name, level, binding, behaviour, reason and hint."""
    return "\n\n".join(_theme(theme) for theme in THEMES)


def mutation_score() -> str:
    """Every deliberate defect, by the check that heads its report, and the shares that fail a check and are named."""
    defects = json.loads((ROOT / "tests/support/mutants/record.json").read_bytes())
    failed = [one for one in defects if one["failed"]]
    found = sum(not one["failed"] and bool(one["found"]) for one in defects)
    named = sum(one["named"] for one in failed)
    shares = (
        f"For {len(failed)} of {len(defects)} a check fails ({len(failed) / len(defects):.1%}), and the first failure "
        f"names the cause of {named} ({named / len(defects):.1%}). {found} more are reported by findings alone, which "
        f"are no failures, and {len(defects) - len(failed) - found} are not reported."
    )
    rows = []
    for defect in defects:
        reporting = [f"`{check}`" for check in defect["failed"]] + [f"`{check}` (finding)" for check in defect["found"]]
        first, *others = reporting or ["**nothing**"]
        rows.append((escaped(defect["cause"]), first, "yes" if defect["named"] else "**no**", str(len(others))))
    return f"{shares}\n\n" + table(("defect", "reported first", "names the cause", "further checks"), rows)


def _theme(theme: ModuleType) -> str:
    title = (inspect.getdoc(theme) or "").rstrip(".")
    rows = [
        (
            f'<a id="{check.name}"></a>`{check.name}`',
            check.level,
            check.binds,
            *map(escaped, (check.summary, check.reason, check.hint)),
        )
        for check in probes_of(theme)
    ]
    return f"### {title}\n\n" + table(("check", "level", "binds", "what is checked", "why", "hint"), rows)


def _load(target: str) -> Any:
    module, _, name = target.partition(":")
    return getattr(import_module(module), name)


def _keys(node: dict[str, Any], root: dict[str, Any], path: tuple[str, ...]) -> Iterator[str]:
    node = _resolved(node, root)
    for key, child in node.get("properties", {}).items():
        child = _resolved(child, root) | {k: v for k, v in child.items() if k != "$ref"}
        meaning = f": {child['description']}" if "description" in child else ""
        yield f"{'  ' * len(path)}- `{key}` ({_kind(child)}){meaning}"
        yield from _keys(child.get("items", child), root, (*path, key))


def _resolved(node: dict[str, Any], root: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = root
    if "$ref" not in node:
        return node
    for part in node["$ref"].removeprefix("#/").split("/"):
        found = found[part]
    return found


def _kind(node: dict[str, Any]) -> str:
    kind = (
        node.get("type")
        or (f"`{node['const']}`" if "const" in node else "")
        or ("one of " + ", ".join(map(str, node["enum"])) if "enum" in node else "any")
    )
    return " or ".join(kind) if isinstance(kind, list) else str(kind)
