"""The titles of scores."""

from __future__ import annotations

from trialbed.records import score_heading

HEADINGS = {
    "sopr_score": "Solved",
    "api_call_score": "Right tools",
    "api_f1": "Tool F1",
    "cost": "Cost, USD",
    "sopr_score@GPT-4o": "Solved@GPT-4o",
    "ToneMatch": "ToneMatch",
    "politeness": "politeness",
}


def test_a_heading_raises_the_first_letter_of_the_pages_own_words_alone() -> None:
    assert {name: score_heading(name) for name in HEADINGS} == HEADINGS
