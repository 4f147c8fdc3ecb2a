"""A run as one file."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from support.stored_runs import NEW

from trialbed.records import Annotation
from trialbed.store import Store, StoredRun, open_store
from trialbed_pages import run_report


def test_the_file_needs_nothing_else_and_shows_the_trial_that_went_wrong(stored: Path) -> None:
    with open_store(str(stored)) as reader:
        page = run_report(reader.run(NEW), data_dir=stored.parent)
    assert not re.search(r"<(script|link|img|iframe)|\b(src|href)=|url\(|@import", page)
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


def test_a_tag_that_is_written_like_a_label_stands_as_it_is(stored: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(StoredRun, "tags", ("set@max_tools=20",))
    with open_store(str(stored)) as reader:
        page = run_report(reader.run(NEW), data_dir=stored.parent)
    assert "Tags: set@max_tools=20<" in page
