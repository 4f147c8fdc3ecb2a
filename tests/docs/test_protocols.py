"""The page of the wire protocols names each field that the code reads or writes."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from support.cases import for_each

from trialbed.wire import Call, ModelAnswer, usage_counts
from trialbed.wire.dialects import PATHS, dialect

ROOT = Path(__file__).parents[2]
SOURCES = ROOT / "core" / "trialbed" / "wire" / "dialects"
NAME = re.compile(r"[a-z_]+(\.[a-z_]+)*").fullmatch
OWN = {"items", "thought"}
"""Names in Trialbed's own records of what was read, which no document has."""

ASKED = {
    "chat_completions": {"messages": [], "n": 2, "stream_options": {"include_usage": True}},
    "messages": {"messages": [], "max_tokens": 9},
    "responses": {"input": "?"},
}
"""Name of a dialect -> a request of it."""

USED = {**usage_counts(3, 2), "cached_tokens": 1, "reasoning_tokens": 1}
CALLS = (Call("find", '{"id": 1}', "call_1"),)
ANSWERS = (
    ModelAnswer(content="Wait.", calls=CALLS, reasoning="Hm.", finish_reason="tool_calls", usage=USED, id="1"),
    ModelAnswer(refusal="No.", finish_reason="content_filter", usage=USED, fingerprint="f", id="2"),
    ModelAnswer(content="Cut", finish_reason="length", usage=USED, id="3"),
)


def words(name: str) -> set[str]:
    """The names in the section of a dialect: those in code marks, and the parts of those with dots."""
    page = (ROOT / "docs" / "reference" / "protocols.md").read_text(encoding="utf-8")
    section = page.split(f"### {name.replace('_', ' ').capitalize()}\n")[1].split("\n### ")[0]
    codes = [word for code in re.findall(r"`([^`]+)`", section) for word in re.findall(r"[\w.]+", code)]
    return {part for code in codes for part in (code, *code.split("."))}


def fields_read(file: Path) -> Iterator[str]:
    """The fields that a module asks documents for, and the names in its constants."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        match node:
            case ast.Call(ast.Attribute(attr="get" | "pop"), [ast.Constant(str(name)), *_]):
                yield name
            case ast.Subscript(slice=ast.Constant(str(name)), ctx=ast.Load()):
                yield name
            case ast.Compare(ast.Constant(str(name)), [ast.In() | ast.NotIn()]):
                yield name
    for statement in tree.body:
        if isinstance(statement, ast.Assign | ast.AnnAssign) and statement.value is not None:
            if ast.unparse(statement).startswith("__all__"):
                continue
            yield from _constants(statement.value)


def _constants(value: ast.AST) -> Iterator[str]:
    """The texts in a constant; of a mapping its keys."""
    if isinstance(value, ast.Dict):
        yield from (key.value for key in value.keys if isinstance(key, ast.Constant) and isinstance(key.value, str))
        return
    if isinstance(value, ast.Constant) and isinstance(value.value, str):
        yield value.value
    for child in ast.iter_child_nodes(value):
        yield from _constants(child)


def fields_written(document: Any) -> Iterator[str]:
    """The fields of a document, and its types."""
    if isinstance(document, dict):
        yield from document
        yield from (found for name, found in document.items() if name == "type" and isinstance(found, str))
    for part in document.values() if isinstance(document, dict) else document if isinstance(document, list) else ():
        yield from fields_written(part)


@for_each("name", PATHS.values())
def test_every_field_that_is_read_is_on_the_page(name: str) -> None:
    files = [file for file in (SOURCES / name).glob("*.py") if file.name != "__init__.py"]
    found = {field for file in files for field in fields_read(file) if NAME(field)}
    assert {"model", "tools", "tool_choice", "temperature", "usage"} <= found
    # A field within another may be named there alone.
    unknown = [field for field in found - OWN - words(name) if not words(name).issuperset(field.split("."))]
    assert sorted(unknown) == []


@for_each("name", PATHS.values())
def test_every_field_that_is_written_is_on_the_page(name: str) -> None:
    spoken, found = (
        dialect(name),
        {*fields_written(dialect(name).write_error("m", "invalid_request_error", code="max_steps"))},
    )
    for answer in ANSWERS:
        for stream in (False, True):
            body = b"".join(spoken.write_answer(answer, spoken.read_request({**ASKED[name], "stream": stream})))
            data = re.findall(rb"^data: (\{.*)$", body, re.MULTILINE) if stream else [body]
            assert data
            found |= {field for each in data for field in fields_written(json.loads(each))}
    assert sorted(found - words(name)) == []
