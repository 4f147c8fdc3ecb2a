"""Tables and plots as one page of HTML that needs nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

from trialbed.views._figures import printable
from trialbed.views._plot import IntervalPlot
from trialbed.views._table import Table

if TYPE_CHECKING:
    from jinja2 import Template


def html_page(title: str, parts: Sequence[Table | IntervalPlot]) -> str:
    """A page in light or dark, as the reader's system is set: without scripts, and without anything from the network.

    Every text is escaped, so nothing that a framework or a vendor says can be more than text.

    Args:
        title: of the page.
        parts: shown in this order.
    """
    shown = [("plot" if isinstance(part, IntervalPlot) else "table", part) for part in parts]
    return _template().render(title=title, parts=shown)


@cache
def _template() -> Template:
    from jinja2 import Environment, StrictUndefined

    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    environment.filters["printable"] = printable
    return environment.from_string(files("trialbed.views").joinpath("page.html").read_text(encoding="utf-8"))
