"""The templates, and the addresses of pages and of what they hold."""

from __future__ import annotations

import json
import re
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from trialbed.views import UNKNOWN, compact, number, printable, svg
from trialbed.wire.redaction import redact
from trialbed_pages.runs.plots import mean_text

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup

SIGNS = {"right": "✓", "part": "◐", "wrong": "✗", "none": UNKNOWN}
"""What a cell of the grid shows beside its colour."""


def render(template: str, base: str, **values: Any) -> str:
    """A page.

    Args:
        base: what the addresses of all pages begin with, without a slash at the end.
    """
    return _environment().get_template(template).render(base=base, **values)


def trial_parameters(framework: str, query_id: int | str, repeat: int = 0, **more: Any) -> str:
    """The part of an address that names a trial; the query as JSON, so that 5 and "5" stay apart."""
    return urlencode({"framework": framework, "query": json.dumps(query_id), "repeat": repeat, **more})


def style() -> str:
    """The style sheet."""
    return files("trialbed_pages").joinpath("static", "pages.css").read_text(encoding="utf-8")


def multiline(text: object) -> str:
    """A text without what controls a terminal or hides in a page, except for the ends of its lines; no keys in it."""
    return "\n".join(printable(line) for line in redact(str(text)).expandtabs(4).split("\n"))


def breakable(text: object) -> Markup:
    """A name that a narrow column may break between its parts: the framework's, the profile's and the release's."""
    from markupsafe import Markup, escape

    parts = re.split(r"(?<=:)|(?===)|(?<=/)", printable(str(text)))
    return Markup("<wbr>").join(escape(part) for part in parts)


def json_shown(text: str) -> str:
    """JSON with indents; a text that is none as it is."""
    try:
        return json.dumps(json.loads(text), indent=2, ensure_ascii=False)
    except (ValueError, RecursionError):
        return text


@cache
def _environment() -> Environment:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("trialbed_pages"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "compact": compact,
        "number": number,
        "printable": printable,
        "multiline": multiline,
        "breakable": breakable,
        "json_shown": json_shown,
        "mean": mean_text,
        "urlencode_all": urlencode,
    }
    environment.globals |= {"svg": svg, "trial_parameters": trial_parameters, "SIGNS": SIGNS, "style": style}
    return environment
