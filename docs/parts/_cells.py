"""The truth table of scripted models, of the file of which its tests are made, too."""

from __future__ import annotations

import re
import tomllib
from importlib.resources import files
from typing import Any

from parts._markdown import table

MATRIX: dict[str, Any] = tomllib.loads(files("trialbed_scripted").joinpath("cells.toml").read_text(encoding="utf-8"))
MINUS = "\N{MINUS SIGN}"
TITLES = {"turns": "model turns", "calls": "calls observed", "status": "status", "solved": "solved"}
COUNTED = ("turns", "calls", "api_call_score", "api_precision", "status", "has_finish")
ARGUMENTS = (
    *("argument_accuracy", "tool_call_f1", "tool_call_accuracy"),
    *("call_success", "recovered", "redundant_calls"),
)


def right_values() -> str:
    """The right values of what is counted."""
    return _right(COUNTED)


def right_argument_values() -> str:
    """The right values of the scores that see arguments."""
    return _right(ARGUMENTS)


def native_cells() -> str:
    """Every cell in which native programs do otherwise."""
    rows = []
    for cell in MATRIX["cells"]:
        profiles = "every `native`" if cell["profiles"] == ["program"] else _codes(cell["profiles"])
        policies = _codes(cell["policies"]) + (f", if {_text(cell['when'])}" if "when" in cell else "")
        fails = cell.get("end") == "failed"
        own = {**({} if fails or "end" not in cell else MATRIX["ends"][cell["end"]]), **cell}
        right = {**MATRIX["fields"], **MATRIX["right"][cell["policies"][0]]}
        figures = [
            f"{_title(name)} {_text(own[name])}"
            for name in (*COUNTED, *ARGUMENTS)
            if own.get(name, "any") not in ("any", right[name])
        ]
        ended = cell["happens"] + (" ([failed](#a-failed-trial))" if fails else "")
        rows.append((profiles, policies, ended, "; ".join(figures), cell["cause"]))
    lists = "; ".join(f"*{name}* is {', '.join(map(str, queries))}" for name, queries in MATRIX["queries"].items())
    return table(("profile", "policy", "what happens instead", "what differs", "cause"), rows) + (
        f"\n\nOf the queries of `mini`, {lists}."
    )


def right_conversations() -> str:
    """The right values of conversations."""
    talks = MATRIX["conversations"]
    rows = []
    users = {name: f"`{name}`: the user {task['user']}" for name, task in talks["tasks"].items()}
    for row in talks["right"]:
        user = users.pop(row["task"], "")  # said once
        rows.append((user, _codes(row["policies"]), *(str(row.get(name, "-")) for name in talks["fields"][:-1])))
    return table(("task", "policy", *map(_title, talks["fields"][:-1])), rows)


def conversation_cells() -> str:
    """Every cell in which native programs have another conversation."""
    talks = MATRIX["conversations"]
    rows = []
    for cell in talks["cells"]:
        figures = [f"{_title(name)} {cell[name]}" for name in talks["fields"] if name in cell]
        failed = f" (`{cell['error']}`)" if "error" in cell else ""
        played = (_codes(cell["profiles"]), _codes(cell["tasks"]), _codes(cell["policies"]))
        rows.append((*played, cell["happens"] + failed, "; ".join(figures) or "no scores", cell["cause"]))
    return table(("profile", "task", "policy", "what happens instead", "what differs", "cause"), rows)


def _right(fields: tuple[str, ...]) -> str:
    groups: dict[tuple[str, ...], list[str]] = {}
    for policy, own in MATRIX["right"].items():
        values = {**MATRIX["fields"], **own}
        groups.setdefault(tuple(_text(values[name]) for name in fields), []).append(policy)
    rows = [(_codes(policies), *values) for values, policies in groups.items()]
    return table(("policy", *map(_title, fields)), rows)


def _codes(names: list[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _title(field: str) -> str:
    return TITLES.get(field, f"`{field}`")


def _text(expression: str) -> str:
    """An expression as it is read; what holds for distinct Apis only is said beside the tables."""
    text = expression.removesuffix(" if p == n else any").replace("< 1", "below 1")
    signs = {"none": "-", "any": "depends", "==": "=", ">=": "≥", " - ": f" {MINUS} ", " else ": ", else "}
    for sign, shown in signs.items():
        text = text.replace(sign, shown)
    return re.sub(r"(\d) \* (?=[\w(])", r"\1", re.sub(r"q in (\w+)", r"q is in *\1*", text))
