from __future__ import annotations

from trialbed.views import Disclosure, Disclosures, Excerpt, Folded, Table, html_page, markdown

EVIL = "<script>alert(1)</script>\n```\n# not a heading\x1b[2J"
SHOWN = Disclosures("Examples", [Disclosure("one <b>", [Excerpt("answer", EVIL)])], ["A note."])


def test_a_text_as_it_came_is_behind_a_click_and_nothing_but_text() -> None:
    page = html_page("t", [SHOWN])
    assert "<script" not in page
    assert "<summary>one &lt;b&gt;</summary>" in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt;\n```\n# not a heading?[2J</pre>" in page
    assert "default-src 'none'" in page


def test_in_markdown_no_text_ends_its_own_block() -> None:
    lines = markdown([SHOWN]).splitlines()
    assert lines[:6] == ["## Examples", "", "### one &lt;b>", "", "answer:", ""]
    assert lines[6] == "````text"
    assert lines[7:10] == ["<script>alert(1)</script>", "```", "# not a heading?[2J"]
    assert lines[10] == "````"
    assert lines[-1] == "* A note."


def test_parts_that_few_ask_for_are_behind_a_click_on_a_page_and_under_a_heading_in_markdown() -> None:
    folded = Folded("All <figures>", [Table.of("Rates", ("", "a"), [("success", "1.00")])])
    page = html_page("t", [folded])
    before, _, inside = page.partition('<details class="folded">')
    assert "Rates" not in before
    assert "<summary>All &lt;figures&gt;</summary>" in inside
    assert "<h3>Rates</h3>" in inside
    assert markdown([folded]).splitlines()[:3] == ["## All &lt;figures>", "", "### Rates"]


def test_a_folded_table_without_a_title_is_named_as_what_folds_it() -> None:
    page = html_page("t", [Folded("Evidence", [Table.of("", ("", "a"), [("success", "1.00")])])])
    assert 'aria-label="Evidence"' in page
    assert "<h3>" not in page
