"""Tables and plots as one page of HTML that needs nothing else, and plots as drawings for any page."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any, TypeAlias

from trialbed.views._figures import UNKNOWN, compact, printable
from trialbed.views._plots import BarPlot, IntervalPlot, Timeline, fit_label
from trialbed.views._table import INTERVAL, Table
from trialbed.views._text import Disclosures, Folded

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup

SHOWN, PRINTED = 7, 8
"""Colours of parts on a screen and in print."""

NOTHING = ("none", "+0")
"""The texts of cells without a finding; pages show them faintly."""

Plot: TypeAlias = IntervalPlot | BarPlot | Timeline
Part: TypeAlias = Table | Plot | Disclosures | Folded


def html_page(title: str, parts: Sequence[Part]) -> str:
    """Return a page in the reader's light or dark mode, without scripts, and without anything from the network.

    Every text is escaped, so nothing that a framework or a vendor says can be more than text.

    Args:
        title: of the page.
        parts: shown in this order.
    """
    return str(_render("page.html", title=title, parts=_kinds(parts)))


def html_parts(title: str, parts: Sequence[Part], name: str = "part") -> Markup:
    """Return the sections of a page, to be put into another one with its own style sheet.

    Args:
        title: of the page, which no section repeats.
        parts: shown in this order.
        name: begins the ids of the sections, which are their own on the page.
    """
    return _render("parts.html", title=title, parts=_kinds(parts), prefix=name)


def svg(plot: Plot, name: str) -> Markup:
    """A plot as a drawing to put into a page; the page's style sheet gives its colours.

    Args:
        name: begins the ids in the drawing, which are its own on the page.
    """
    return _render(f"svg/{plot.template}.html", plot=plot, id=name, colours=SHOWN)


def style_sheet() -> str:
    """Return the style sheet of every page, also of pages made of other parts."""
    return files("trialbed.views").joinpath("style.css").read_text(encoding="utf-8")


def svg_file(plot: Plot) -> str:
    """Return a plot as a separate drawing for print, with its title above it.

    Its colours can be distinguished by people with any form of colour blindness, and with the dashes and hatches also
    in black and white.
    """
    drawn = _render(f"svg/{plot.template}.html", plot=plot, id="figure", colours=PRINTED)
    return str(_render("svg/print.html", plot=plot, drawn=drawn))


def _render(template: str, **values: Any) -> Markup:
    from markupsafe import Markup

    drawn = _environment().get_template(template).render(**values)
    return Markup(drawn)  # noqa: S704 - the template escaped every text


def figure_text(text: object) -> str:
    """Return the text of a cell, or next to a bar, of a page; a dash if nothing is known."""
    return "\N{EN DASH}" if text == UNKNOWN else printable(str(text))


def cell_text(text: object) -> Markup:
    """Return the text of a page's cell, without line breaks within an interval; missing values are faint."""
    from markupsafe import Markup, escape

    if text in NOTHING:
        return Markup('<span class="nothing">{}</span>').format(text)
    parts = INTERVAL.split(figure_text(text))
    shown = [
        Markup('<span class="whole">{}</span>').format(one) if place % 2 else escape(one)
        for place, one in enumerate(parts)
    ]
    # One element, because a narrow screen puts the elements of a cell next to each other.
    return Markup("<span>{}</span>").format(Markup("").join(shown)) if len(shown) > 1 else shown[0]


def _kinds(parts: Sequence[Part]) -> list[tuple[str, Part]]:
    return [(_kind(part), part) for part in parts]


def _kind(part: Part) -> str:
    if isinstance(part, Table):
        return "table" if part.rows or part.title or part.legend else "lead"
    if isinstance(part, Folded):
        return "folded"
    return "disclosures" if isinstance(part, Disclosures) else "plot"


@cache
def _environment() -> Environment:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("trialbed", "views"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "printable": printable,
        "compact": compact,
        "figure": figure_text,
        "cell": cell_text,
        "fit": fit_label,
    }
    environment.globals |= {"drawing": svg, "style": style_sheet, "kinds": _kinds}
    return environment
