from __future__ import annotations

import io
import re
from dataclasses import replace
from pathlib import Path

import pytest
from support.vendor_rows import own_row
from support.verification import summarised

from trialbed.views import print_tables
from trialbed_verify.verification.results import EndpointSummary
from trialbed_verify.views import verification_tables


def printed(summaries: list[EndpointSummary]) -> str:
    stream = io.StringIO()
    print_tables(verification_tables(summaries), stream)
    return stream.getvalue()


@pytest.fixture
def summary(tmp_path: Path) -> EndpointSummary:
    return summarised(tmp_path, own_row(1), own_row(2, "timeout", problem={"kind": "timeout", "message": "no \x1b[2J"}))


def test_it_is_a_table_with_notes(summary: EndpointSummary) -> None:
    text = printed([summary])
    assert re.search(r"^requests ended +2$", text, re.MULTILINE)
    assert re.search(r"^failed +1 timeout$", text, re.MULTILINE)
    assert re.search(r"^endpoint +http://127\.0\.0\.1:1/v1$", text, re.MULTILINE)
    assert "1 timeout, trial 2/0: no" in text


def test_many_vendors_stand_in_blocks_that_fit(summary: EndpointSummary, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    text = printed([replace(summary, vendor=f"vendor-{number}") for number in range(5)])
    assert max(map(len, text.splitlines())) <= 80
    for number in range(5):
        assert f"vendor-{number}" in text
    assert len(re.findall(r"^requests ended", text, re.MULTILINE)) == 3


def test_what_a_vendor_says_does_not_steer_the_terminal(summary: EndpointSummary) -> None:
    served = {**summary.figures.served, "models": {"\x07m": 1}}
    text = printed([replace(summary, vendor="a\x1b[31mcme", figures=replace(summary.figures, served=served))])
    assert "\x1b" not in text
    assert "\x07" not in text
    assert "a?[31mcme" in text


def test_nothing_is_printed_of_nothing() -> None:
    assert printed([]) == ""
