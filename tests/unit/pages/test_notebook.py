"""A run in a notebook."""

from __future__ import annotations

import html
import re
from pathlib import Path

from support.stored_runs import NEW

from trialbed import open_store


def test_a_run_shows_its_page_in_a_frame_in_which_nothing_runs(stored: Path) -> None:
    with open_store(str(stored)) as store:
        run = store.run(NEW[:8])
        shown = run._repr_html_()
    assert run.run_id == NEW
    frame = re.fullmatch(r'<iframe title="run [^"]*" sandbox srcdoc="([^"]*)" style="[^"]*"></iframe>', shown)
    assert frame is not None
    assert "Run 20260202T120000-bbbbbb, began" in html.unescape(frame[1])
