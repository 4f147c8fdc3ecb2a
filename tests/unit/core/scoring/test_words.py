"""The names of scores in words."""

from __future__ import annotations

from trialbed.scoring import score_heading

HEADINGS = {
    "sopr_score": "Solved",
    "api_call_score": "Expected Apis called",
    "api_f1": "Apis, F1",
    "cost": "Cost, USD",
    "sopr_score@GPT-4o": "Solved@GPT-4o",
    "ToneMatch": "ToneMatch",
    "politeness": "politeness",
}


def test_a_heading_raises_the_first_letter_of_the_pages_own_words_alone() -> None:
    assert {name: score_heading(name) for name in HEADINGS} == HEADINGS
