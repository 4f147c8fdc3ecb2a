"""A run as Markdown, CSV and a page."""

from __future__ import annotations

import csv
import io
from typing import Any

from support.run_reports import document, reported

from trialbed.contracts import Reporter
from trialbed_plugins.reporters import CsvReporter, HtmlReporter, MarkdownReporter


def shown(reporter: Reporter, *documents: dict[str, Any]) -> str:
    stream = io.StringIO()
    reporter.report(reported(*documents), stream)
    return stream.getvalue()


def test_markdown_is_a_section_with_the_table() -> None:
    text = shown(MarkdownReporter(), document(), document("other"))
    assert text.startswith(
        "## reference and other with scripted:gold on 20 tasks (mini)\n\nreference and other solve 80 %"
    )
    assert "|  | solved | tokens | time |\n| --- | ---: | ---: | ---: |\n" in text
    assert "| other | 80 % [58, 92] | 1 | 1.00 s |" in text
    assert "| other | 0.80 [0.58, 0.92] |" in text


def test_csv_has_a_line_per_framework_and_score() -> None:
    lines = list(csv.DictReader(io.StringIO(shown(CsvReporter(), document(), document("other")))))
    assert [(line["agent_name"], line["score"]) for line in lines[:5:4]] == [
        ("reference", "sopr_score"),
        ("other", "sopr_score"),
    ]
    assert lines[0] | {"mean": "0.8", "low": "0.584", "high": "0.919", "n": "20", "errors": "0"} == lines[0]
    assert (lines[1]["score"], lines[1]["low"], lines[1]["median"]) == ("total_tokens", "", "1.0")
    missing = document(status="incomplete", answered_count=17, failed_count=2, not_measured_count=1)
    first, *_ = csv.DictReader(io.StringIO(shown(CsvReporter(), missing)))
    assert (first["trials"], first["errors"]) == ("20", "3")


def test_a_page_has_the_table() -> None:
    text = shown(HtmlReporter(), document(), document("other"))
    assert text.startswith("<!DOCTYPE html>")
    assert text.count(">123,457 / ") == 2
