"""Hold docstrings, comments and names to plain English by counting four habits, and fail if one passes its limit.

Well-kept libraries stay under these limits. ``python .ci/english.py FOLDER…`` lists every case in some folders.
"""

from __future__ import annotations

import ast
import re
import sys
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).parents[1]
FOLDERS = ("core", "server", "tool_selection", "plugins", "adapters")

OPENING = re.compile(r"(?:What|Whether|Of|How|Where|Who|Whose|Which|When|Why|So (?:many|much))\b")
CLAUSE = re.compile(r"\bwhat (?:is|was|are|were|has|have|had|can|could|must|does|did|do|its?|the|an?|each)\b", re.I)
TELLING = re.compile(r"\b(?:tells?|told)\b", re.I)
PARTICIPLE = re.compile(
    r"_*(?:[a-z]{2,}ed|told|shown|said|named|found|given|made|kept|sent|lost|met|held|left|built|taken|known|seen|gone|"
    r"done|got|begun|broken|chosen|drawn|written|heard|bound|brought|bought|caught|paid|meant|spent|thrown|hidden|laid)"
)
NO_PARTICIPLES = {"feed", "need", "seed", "embed", "speed", "proceed", "exceed", "succeed"}


@dataclass
class Habit:
    """A habit and its cases; ``limit`` is how many cases there may be per ``per`` texts, words or functions."""

    name: str
    per: int
    limit: float
    among: int = 0
    cases: list[str] = field(default_factory=list)

    @property
    def rate(self) -> float:
        """The cases per ``per``."""
        return self.per * len(self.cases) / max(self.among, 1)

    def __str__(self) -> str:
        return f"{self.name}: {self.rate:.2f} per {self.per} ({len(self.cases)} of {self.among}), limit {self.limit:g}"


def read(file: Path) -> Iterator[tuple[str, int, str]]:
    """Yield ``(kind, line, text)`` of each docstring, comment and name of a function."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield "name", node.lineno, node.name
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield from _texts(node.body)
    with tokenize.open(file) as lines:
        for token in tokenize.generate_tokens(lines.readline):
            if token.type == tokenize.COMMENT:
                yield "comment", token.start[0], token.string


def _texts(body: list[ast.stmt]) -> Iterator[tuple[str, int, str]]:
    """Yield the docstrings of a module, class or function and of its attributes."""
    for statement in body:
        value = statement.value if isinstance(statement, ast.Expr) else None
        if isinstance(value, ast.Constant) and isinstance(value.value, str):
            yield "docstring", statement.lineno, value.value.strip()


def count(folders: list[Path]) -> list[Habit]:
    """Count the habits in all sources of some folders, tests left out."""
    opening = Habit("docstrings that open with a clause", 100, 0.5)
    clause = Habit("clauses with 'what' for a noun", 1000, 0.5)
    telling = Habit("'tell' for report, say or show", 1000, 0.1)
    participle = Habit("functions named by a participle", 100, 1.6)
    files = (file for folder in folders for file in sorted(folder.rglob("*.py")))
    for file in files:
        if "tests" in file.parts:
            continue
        for kind, line, text in read(file):
            place = f"{file.relative_to(ROOT)}:{line}"
            if kind == "name":
                participle.among += 1
                if PARTICIPLE.fullmatch(text) and text.strip("_") not in NO_PARTICIPLES:
                    participle.cases.append(f"{place}: {text}")
                continue
            if kind == "docstring":
                opening.among += 1
                opening.cases += [f"{place}: {_line(text, 0)}"] if OPENING.match(text) else []
            for habit, pattern in ((clause, CLAUSE), (telling, TELLING)):
                habit.among += len(text.split())
                habit.cases += [f"{place}: {_line(text, found.start())}" for found in pattern.finditer(text)]
    return [opening, clause, telling, participle]


def _line(text: str, place: int) -> str:
    """Return the line of a text that a place is in."""
    return text[text.rfind("\n", 0, place) + 1 :].partition("\n")[0].strip()


def main(arguments: list[str]) -> int:
    """Print the habits' rates, and all cases if folders are named; exit with 1 if a rate passes its limit."""
    habits = count([Path(name).resolve() for name in arguments] or [ROOT / name for name in FOLDERS])
    for habit in habits:
        sys.stdout.write(f"{habit}\n" + "".join(f"  {case}\n" for case in habit.cases if arguments))
    return int(not arguments and any(habit.rate > habit.limit for habit in habits))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
