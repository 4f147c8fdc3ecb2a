"""Tables and docstrings as Markdown."""

from __future__ import annotations

import inspect
import re
from typing import Any

NAMED = re.compile(r"^(\*{0,2}\w+(?:, \w+)*): ")
SECTION = re.compile(r"^(Args|Returns|Raises|Attributes|Class attributes):$")


def table(titles: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    """Return a table."""
    lines = [titles, tuple("---" for _ in titles), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def escaped(text: str) -> str:
    """Return a text for a cell of a table."""
    return text.replace("|", "\\|")


def markdown(text: str) -> str:
    """Return a docstring in Google's form as Markdown."""
    text = re.sub(r"\.\. versionadded:: ([\d.]+)", r"*New in \1.*", inspect.cleandoc(text.replace("\b\n", "")))
    lines: list[str] = []
    inside = False
    for line in text.replace("``", "`").splitlines():
        if section := SECTION.match(line):
            lines += [f"*{section[1]}*", ""]
            inside = True
        elif inside and line.startswith("        "):
            lines.append(f"  {line.strip()}")
        elif inside and line.startswith("    "):
            lines.append("- " + NAMED.sub(r"`\1`: ", line.strip()))
        else:
            inside = inside and not line
            lines.append(line)
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip()


def first_paragraph(item: Any) -> str:
    """Return the first paragraph of a docstring, for a cell of a table."""
    return escaped((inspect.getdoc(item) or "").split("\n\n")[0].replace("\n", " ").replace("``", "`"))


def docstring(item: Any) -> str:
    """Return a docstring as Markdown."""
    return markdown(inspect.getdoc(item) or "")
