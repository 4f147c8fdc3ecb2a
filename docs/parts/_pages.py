"""All pages of the documentation, as its site orders them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

DOCS = Path(__file__).parents[1]


def all_pages() -> str:
    """Every page but the first by its title, in the sections of the site."""
    nav = yaml.safe_load((DOCS.parent / "mkdocs.yml").read_text(encoding="utf-8"))["nav"]
    return "\n".join(line for section in nav if isinstance(section, dict) for line in _section(section))


def _section(section: dict[str, list[Any]]) -> Iterator[str]:
    ((title, entries),) = section.items()
    yield f"* **{title}**: {', '.join(map(_link, filter(_is_page, entries)))}".rstrip(": ")
    for inner in entries:
        if not _is_page(inner):
            ((name, pages),) = inner.items()
            yield f"    * {name}: {', '.join(map(_link, pages))}"


def _is_page(entry: Any) -> bool:
    return isinstance(entry, str)


def _link(page: str) -> str:
    title = (DOCS / page).read_text(encoding="utf-8").split("\n", 1)[0].removeprefix("# ")
    return f"[{title}]({page})"
