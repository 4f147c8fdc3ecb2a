"""The published results, each with its title and its first sentences."""

from __future__ import annotations

from pathlib import Path

RESULTS = Path(__file__).parents[1] / "results"


def published_results() -> str:
    """Every folder of results: what was compared, and what came out."""
    return "\n\n".join(_result(page) for page in sorted(RESULTS.glob("*/results.md")))


def findings() -> str:
    """The title and the outcome of each published result, for the first page of the repository."""
    return "\n\n".join(_finding(page) for page in sorted(RESULTS.glob("*/results.md")))


def _finding(page: Path) -> str:
    title, outcome, *_ = _beginning(page)
    link = f"[{title.removeprefix('# ')}](docs/results/{page.parent.name}/results.md)"
    return f"**{link}.** {outcome}"


def _beginning(page: Path) -> list[str]:
    return page.read_text(encoding="utf-8").partition("\n## ")[0].strip().split("\n\n")


def _result(page: Path) -> str:
    title, *lead = (line for line in _beginning(page) if not line.startswith("To check it: "))
    name = page.parent.name
    links = f"[All figures, tables and sources]({name}/results.md), or [the same as one page]({name}/index.html)."
    return "\n\n".join([f"## {title.removeprefix('# ')}", *lead, f"`bench reproduce docs/results/{name}`: {links}"])
