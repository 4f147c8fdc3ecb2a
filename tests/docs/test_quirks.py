"""Every value in the table of what Ragas does, and what is right, is computed."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from trialbed.metrics import replayed, tool_call_accuracy, tool_call_f1, topic_adherence

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "scores.md"
CONSTANTS = {"true": True, "false": False, "null": None}


def rows(name: str) -> Iterator[list[str]]:
    text = PAGE.read_text(encoding="utf-8")
    table = text.split(f"<!-- quirks: {name} -->")[1].split("<!-- end of quirks -->")[0]
    lines = [line for line in table.splitlines() if line.startswith("|")]
    yield from ([cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:])


def calls(cell: str) -> list[dict[str, Any]]:
    source = cell.strip("`")
    tree = ast.parse(f"[{source}]", mode="eval").body
    assert isinstance(tree, ast.List)
    return [
        {"name": ast.unparse(call.func), "args": arguments(call)} for call in tree.elts if isinstance(call, ast.Call)
    ]


def arguments(call: ast.Call) -> dict[str, Any]:
    return {str(keyword.arg): literal(keyword.value) for keyword in call.keywords}


def literal(node: ast.expr) -> Any:
    return CONSTANTS[node.id] if isinstance(node, ast.Name) else ast.literal_eval(node)


def test_calls(subtests: pytest.Subtests) -> None:
    found = list(rows("calls"))
    assert len(found) > 20
    for row in found:
        with subtests.test(" - ".join(row[:3])):
            check_calls(row)


def check_calls(row: list[str]) -> None:
    made, right, metric, ragas, ours = calls(row[0]), calls(row[1]), *row[2:5]
    assert row[5], "each difference has its reason"
    for wanted, compat in ((ragas, "ragas"), (ours, None)):
        if metric == "f1":
            found = tool_call_f1(made, right, compat=compat)  # type: ignore[arg-type]
        else:
            order: Any = "flexible" if "flexible" in metric else "strict"
            found = tool_call_accuracy(made, right, order=order, compat=compat)  # type: ignore[arg-type]
        assert repr(found.value) == wanted


async def test_topics(subtests: pytest.Subtests) -> None:
    found = list(rows("topics"))
    assert len(found) > 5
    for row in found:
        with subtests.test(" - ".join(row[:2])):
            await check_topics(row)


async def check_topics(row: list[str]) -> None:
    topics = [topic.split() for topic in re.split(", ", row[0]) if topic]
    names = [f"topic {place}" for place in range(len(topics))]
    outputs = {
        "topic_extraction": {"topics": names},
        "topic_refused": [
            {"topic": name, "refused_to_answer": did == "refused"} for name, (_, did) in zip(names, topics, strict=True)
        ],
        "topic_classification": {"classifications": [where == "on" for where, _ in topics]},
    }
    for wanted, compat in ((row[2], "ragas"), (row[3], None)):
        conversation = [{"role": "user", "content": "?"}]
        found = await topic_adherence(conversation, ["?"], model=replayed(outputs), compat=compat)  # type: ignore[arg-type]
        assert repr(getattr(found, row[1])).replace("nan", "NaN") == wanted
