"""The templates and the addresses of pages."""

from __future__ import annotations

import json
import re
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any, get_args
from urllib.parse import urlencode

from trialbed.records import Rating, Score, failure_words, labels_in_words, score_heading, score_title
from trialbed.report import run_title
from trialbed.report.inspection import (
    api_name,
    as_text,
    end_text,
    expectation_lines,
    expected_lines,
    fault_words,
    problem_words,
    reason_text,
    user_call_text,
)
from trialbed.texts import number_of
from trialbed.views import compact, number, printable, style_sheet, svg
from trialbed.wire.redaction import redact
from trialbed_pages.runs import ORDERS, OUTCOMES, grade_of
from trialbed_plugins.reporters import mean_text

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup

FINISHES = {"give_answer": "finished with an answer", "give_up_and_restart": "gave up"}
"""End of an agent -> the same in words."""

SIGNS = {"right": "✓", "part": "◐", "wrong": "✗", "none": "\N{EN DASH}"}
"""The sign in a cell of the grid, in addition to its colour."""


def render(template: str, base: str, **values: Any) -> str:
    """Return a page as HTML.

    Args:
        base: the prefix of all addresses, without a slash at the end.
    """
    return _environment().get_template(template).render(base=base, **values)


def trial_parameters(framework: str, query_id: int | str, repeat: int = 0, **more: Any) -> str:
    """Return the query string for a trial; the query id is JSON to distinguish 5 from "5"."""
    return urlencode({"framework": framework, "query": json.dumps(query_id), "repeat": repeat, **more})


def style() -> str:
    """Return the style sheet of all pages, with the additions for pages of runs."""
    return style_sheet() + files("trialbed_pages").joinpath("static", "pages.css").read_text(encoding="utf-8")


def multiline(text: object) -> str:
    """Return a text with its lines, but without keys and characters that control a terminal or hide in a page."""
    return "\n".join(printable(line) for line in redact(str(text)).expandtabs(4).split("\n"))


def shown_text(text: object) -> str:
    """Return a text of one line without characters that control a terminal, and with labels in words."""
    return labels_in_words(printable(str(text)))


def breakable(text: object) -> Markup:
    """Return a framework's name that a narrow column may break before its profile, its release and its level."""
    from markupsafe import Markup, escape

    parts = re.split(r"(?<=[:/])|(?===)|(?=@)", shown_text(text))
    return Markup("<wbr>").join(escape(part) for part in parts)


def command_words(text: object) -> Markup:
    """Return a command with options that do not break at a hyphen."""
    from markupsafe import Markup, escape

    words = printable(str(text)).split(" ")
    return Markup(" ").join(
        Markup('<span class="option">{}</span>').format(word) if word.startswith("-") else escape(word)
        for word in words
    )


def score_grade(score: Score) -> str:
    """Return the class of a score of quality, for its colour; none for other figures."""
    return grade_of(score.value) if score.bounded and score.quality else ""


def indent_json(text: str) -> str:
    """Return indented JSON, or any other text unchanged."""
    try:
        return json.dumps(json.loads(text), indent=2, ensure_ascii=False)
    except (ValueError, RecursionError):
        return text


TEXTS = (breakable, command_words, compact, indent_json, multiline, number, number_of)
TRIAL_TEXTS = (
    *(api_name, as_text, end_text, expectation_lines, expected_lines, failure_words, fault_words, problem_words),
    *(reason_text, user_call_text),
)
HEADINGS = (run_title, score_heading, score_title)
"""Functions that templates use by their names."""


@cache
def _environment() -> Environment:
    from jinja2 import ChoiceLoader, Environment, PackageLoader, PrefixLoader, StrictUndefined

    views = PrefixLoader({"views": PackageLoader("trialbed", "views")})
    environment = Environment(
        loader=ChoiceLoader([PackageLoader("trialbed_pages"), views]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {function.__name__: function for function in (*TEXTS, *TRIAL_TEXTS, *HEADINGS)}
    environment.filters |= {"printable": shown_text, "as_it_is": printable, "mean": mean_text, "grade": score_grade}
    environment.filters["urlencode_all"] = urlencode
    environment.globals |= {"drawing": svg, "trial_parameters": trial_parameters, "style": style}
    environment.globals |= {"SIGNS": SIGNS, "FINISHES": FINISHES, "OUTCOMES": OUTCOMES, "ORDERS": ORDERS}
    environment.globals["RATINGS"] = get_args(Rating)
    return environment
