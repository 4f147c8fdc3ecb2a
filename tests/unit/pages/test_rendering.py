"""Parts of pages: the problems of a trial, and commands."""

from __future__ import annotations

from typing import Any

from trialbed.report.inspection import TrialProblem
from trialbed_pages.rendering import _environment, command_words


def test_a_problem_leads_to_its_place() -> None:
    parts: Any = _environment().get_template("parts.html").module
    shown = parts.problem_list(
        [TrialProblem(where, "…") for where in ("request 1", "requests 2 to 9", "call 3", "expected")]
    )
    assert shown.count("<a ") == 3
    for link in ('"#request-1">request 1<', '"#request-2">requests 2 to 9<', '"#call-3">call 3<', "<b>expected<"):
        assert link in shown


def test_no_line_of_a_command_ends_within_the_hyphens_of_an_option() -> None:
    shown = command_words("bench run -f 'a <b>' --model x-y")
    assert shown == (
        'bench run <span class="option">-f</span> &#39;a &lt;b&gt;&#39; <span class="option">--model</span> x-y'
    )
