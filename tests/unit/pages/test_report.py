"""A run as one file."""

from __future__ import annotations

import re
from pathlib import Path

from support.stored_runs import NEW

from trialbed.store import open_store
from trialbed_pages import run_report


def test_the_file_needs_nothing_else_and_shows_the_trial_that_went_wrong(stored: Path) -> None:
    with open_store(str(stored)) as reader:
        page = run_report(reader.run(NEW), data_dir=stored.parent)
    assert not re.search(r"<(script|link|img|iframe)|\b(src|href)=|url\(|@import", page)
    assert "default-src 'none'" in page
    assert "&#39;city&#39; is a required property" in page
    assert "hidden-password" not in page
