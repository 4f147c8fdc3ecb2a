"""The commands that the page of a trial offers to copy."""

from __future__ import annotations

import shlex

from trialbed_pages.runs.trial import as_command


def test_what_comes_from_elsewhere_stays_one_word_of_the_command() -> None:
    words = ["bench", "run", "--query-id", "1; touch $(pwned) 'x'", "--model", "a model"]
    assert shlex.split(as_command(words)) == words
    assert "\n" not in as_command(["bench", "show", "a\nrm -rf ~"])
