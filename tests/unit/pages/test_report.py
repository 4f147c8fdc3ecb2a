"""A run as one file, which a notebook shows in a frame."""

from __future__ import annotations

import html
import re
from pathlib import Path

import pytest
from click.testing import CliRunner
from support.page_words import words
from support.stored_runs import NEW

from trialbed.cli import cli
from trialbed.records import Annotation
from trialbed.store import Store, StoredRun, open_store
from trialbed_pages import run_report


def test_the_file_needs_nothing_else_and_shows_the_trial_that_went_wrong(stored: Path) -> None:
    with open_store(str(stored)) as reader:
        page = run_report(reader.run(NEW), data_dir=stored.parent)
    assert not re.search(r"<(script|link|img|iframe)|\bsrc=|href=\"(?!#)|url\(|@import", page)
    assert "default-src 'none'" in page
    assert "&#39;city&#39; is a required property" in page
    assert "hidden-password" not in page


def test_a_worst_trial_is_named_with_its_reason_and_what_was_noted_of_it(stored: Path) -> None:
    with Store.open(str(stored)) as store:
        store.annotate(NEW, Annotation(framework="langgraph:native", query_id=1, rating="unclear", note="<ask Ann>"))
    with open_store(str(stored)) as reader:
        page = run_report(reader.run(NEW), data_dir=stored.parent)
    assert "<summary>langgraph:native/1: The task is not solved: it lacks 21" in page
    assert '<div id="langgraph:native/1">' in page
    assert "<li>rating: unclear</li><li>note: &lt;ask Ann&gt;</li>" in page


def test_it_begins_with_the_conclusion_and_what_to_take(stored: Path) -> None:
    result = CliRunner().invoke(cli, ["report", NEW, "-o", str(stored.parent / "r.html"), "--store", str(stored)])
    assert result.output == f"written: {stored.parent / 'r.html'}\n"
    text = words((stored.parent / "r.html").read_text(encoding="utf-8"))
    places = [
        text.index(part)
        for part in (
            "reference solves most (100 %), but with 2 tasks no difference from it is significant",
            "For the decision",
            "take no difference between reference and langgraph:native is shown",
            "not decided which of reference and langgraph:native is best (0 % to 100 % of 2 tasks)",
            "to decide it about 8 tasks: 6 more trials of each setup, ",
            "2 examples langgraph:native/1",
            "Appendix",
            "compared with reference",
        )
    ]
    assert places == sorted(places)


def test_a_tag_that_is_written_like_a_label_stands_as_it_is(stored: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(StoredRun, "tags", ("set@max_tools=20",))
    with open_store(str(stored)) as reader:
        page = run_report(reader.run(NEW), data_dir=stored.parent)
    assert "Tags: set@max_tools=20<" in page


def test_a_notebook_shows_it_in_a_frame_in_which_nothing_runs(stored: Path) -> None:
    with open_store(str(stored)) as store:
        shown = store.run(NEW[:8])._repr_html_()
    frame = re.fullmatch(r'<iframe title="run [^"]*" sandbox srcdoc="([^"]*)" style="[^"]*"></iframe>', shown)
    assert frame is not None
    assert f"Run {NEW}, began" in html.unescape(frame[1])
