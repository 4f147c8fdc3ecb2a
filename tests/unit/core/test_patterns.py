"""Every pattern of the code takes a time that grows no faster than the text."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

from support.backtracking import slowest
from support.cases import for_each

ROOT = Path(__file__).parents[3]
FOLDERS = ("core", "plugins", "server", "tool_selection")
FILES = sorted(file for folder in FOLDERS for file in (ROOT / folder).rglob("*.py"))

OWN = {
    "trialbed.wire._written_calls.LEAD": "reads at most 120 characters before a name",
    "trialbed_evaluation.judges.stabletoolbench._FUNCTION": "reads the user's own copy of prompts",
}
"""Pattern, or module with patterns in functions -> why its time does not matter."""

MADE = {
    "trialbed.plugin_files": "of a name that the command line gives: a fixed text",
    "trialbed.wire._written_calls": "the names of tools between the ends of words: fixed texts",
    "trialbed_verify.panel._answers": "a value between the ends of words: a fixed text",
    "trialbed_verify.report": "a few fixed words, and runs of one character",
    "trialbed_verify.verification.exchange": "a few fixed words, and runs of one character",
    "trialbed.wire.redaction": "one set of characters, or the spellings of secrets: fixed texts, each tried once",
    "trialbed.tool_calls._own_tools": "the name of a tool between the ends of words: a fixed text",
    "trialbed.views._text": "of a fixed text in the project's own documents",
    "trialbed_tasks.drafting": "the spellings of a bounded number of secrets: fixed texts, each tried once",
    "trialbed_adapter_lab.scaffolding": "three words of the template: fixed texts",
    "trialbed_server.users": "a word of the task, or the words of a fact's name: fixed texts, between runs of one set",
    "trialbed_pages.publishing._names": "the spellings of folders: fixed texts, each tried once",
}
"""Module -> why the patterns that its functions make are linear."""

ANCHORED = ("match", "fullmatch")


def _all(pattern: re.Pattern[str], text: str) -> object:
    return sum(1 for _ in pattern.finditer(text))


def _first(way: str) -> Callable[[re.Pattern[str], str], object]:
    return lambda pattern, text: getattr(pattern, way)(text)


class Found(NamedTuple):
    """A pattern of the code, and how the code uses it."""

    name: str
    pattern: re.Pattern[str]
    ways: tuple[str, ...]


@cache
def _found_in(file: Path) -> tuple[Found, ...]:
    return tuple(_search(file))


def _search(file: Path) -> Iterator[Found]:
    tree = ast.parse(file.read_text(encoding="utf-8"))
    module = ".".join(file.relative_to(ROOT).with_suffix("").parts[1:]).removesuffix(".__init__")
    ways: dict[str, set[str]] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            ways.setdefault(node.value.id, set()).add(node.attr)
    top = [node for node in tree.body if isinstance(node, (ast.Assign, ast.AnnAssign))]
    inside = {id(inner) for node in top for inner in ast.walk(node)}
    for node in top:
        target = node.targets[0] if isinstance(node, ast.Assign) else node.target
        if isinstance(target, ast.Name) and "re.compile" in ast.unparse(node):
            made = _patterns(getattr(import_module(module), target.id))
            yield from (Found(f"{module}.{target.id}", each, tuple(ways.get(target.id, ()))) for each in made)
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call) or id(node) in inside or not isinstance(node.func, ast.Attribute):
            continue
        if isinstance(node.func.value, ast.Name) and node.func.value.id == "re" and node.func.attr != "escape":
            first = node.args[0]
            if isinstance(first, ast.Constant):
                yield Found(f"{module}:{node.lineno}", re.compile(first.value), (node.func.attr,))
            else:
                assert module in MADE, f"{module}:{node.lineno} makes a pattern; why is it linear?"


def _patterns(value: Any) -> Iterator[re.Pattern[str]]:
    if isinstance(value, re.Pattern):
        yield value
    elif isinstance(value, (dict, list, tuple)):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _patterns(item)


def _uses_patterns(file: Path) -> bool:
    source = file.read_text(encoding="utf-8")
    return "re." in source and "import re\n" in source


@for_each("file", [*filter(_uses_patterns, FILES)])
def test_no_pattern_takes_more_than_linear_time(file: Path) -> None:
    for name, pattern, ways in _found_in(file):
        if name.partition(":")[0] in OWN or not isinstance(pattern.pattern, str):
            continue
        anchored = ways and set(ways) <= set(ANCHORED)
        for use in map(_first, ways) if anchored else (_all,):
            attack = slowest(pattern, use)
            assert attack is None, (
                f"{name} takes more than linear time on {attack.begin!r} + n * {attack.piece!r} + {attack.end!r}"
            )


def test_the_search_finds_the_patterns_that_froze_runs() -> None:
    for pattern in (
        r"[0-9]{1,3}(?:,[0-9]{3})+(?![0-9]|,[0-9])",
        r"(?m)^\W*(?:status|grade)\b",
        r"(?s)<tool_call>\s*(.*?)\s*</tool_call>",
        r"(a+)+\Z",
    ):
        assert slowest(re.compile(pattern), _all, limit=0.2) is not None, pattern


def test_every_exception_is_needed() -> None:
    names = {found.name.partition(":")[0] for file in FILES if _uses_patterns(file) for found in _found_in(file)}
    assert set(OWN) <= names
