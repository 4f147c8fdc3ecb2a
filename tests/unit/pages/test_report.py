"""A run as one file."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from support.stored_runs import NEW

from trialbed.store import RecordedAnswers, StoredRun, open_store
from trialbed_pages import run_report


def test_the_part_of_recorded_answers_is_said(stored: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    said = "got a recorded answer, with"
    with open_store(str(stored)) as reader:
        run = reader.run(NEW)
        assert said not in run_report(run, data_dir=stored.parent)
    monkeypatch.setattr(StoredRun, "count_recorded_answers", lambda _run: {"reference": RecordedAnswers(8, 3, 1200)})
    with open_store(str(stored)) as reader:
        page = run_report(reader.run(NEW), data_dir=stored.parent)
    assert "reference: 3 of 8 requests got a recorded answer, with 1,200 tokens in all" in page


def test_the_file_needs_nothing_else_and_shows_the_trial_that_went_wrong(stored: Path) -> None:
    with open_store(str(stored)) as reader:
        page = run_report(reader.run(NEW), data_dir=stored.parent)
    assert not re.search(r"<(script|link|img|iframe)|\b(src|href)=|url\(|@import", page)
    assert "default-src 'none'" in page
    assert "&#39;city&#39; is a required property" in page
    assert "hidden-password" not in page
