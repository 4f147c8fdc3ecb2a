from __future__ import annotations

from trialbed.views import Table, csv_text, markdown

TABLE = Table.of("F1 | by vendor", ("", "a_b"), [("x|y", "0.5 [0.4, 0.6]")], ["one", "two"])


def test_a_table_is_a_section_with_its_notes_as_a_list() -> None:
    assert markdown([TABLE]) == (
        "## F1 \\| by vendor\n\n|  | a\\_b |\n| --- | ---: |\n| x\\|y | 0.5 [0.4, 0.6] |\n\n* one\n* two\n"
    )


def test_words_begin_at_the_left_and_numbers_end_at_the_right() -> None:
    table = Table.of(
        "", ("", "model", "solved", "p"), [("a", "small", "0.5 [0.4, 0.6]", ""), ("b", "large", "none", "-")]
    )
    assert markdown([table]).splitlines()[1] == "| --- | --- | ---: | ---: |"


def test_a_single_note_is_a_paragraph_and_no_title_no_heading() -> None:
    assert markdown([Table("", notes=["Measured today."]), Table("Notes", notes=["One."])], level=3) == (
        "Measured today.\n\n### Notes\n\nOne.\n"
    )


def test_nothing_that_is_said_breaks_the_page() -> None:
    text = markdown([Table("t", notes=["`a` <b> *c* [d](e) | \\ \x1b[31m"])])
    assert text.splitlines()[2] == "\\`a\\` &lt;b> \\*c\\* [d\\](e) \\| \\\\ ?[31m"


def test_records_are_lines_of_csv_and_none_is_empty() -> None:
    assert csv_text([{"a": 1, "b": None}, {"a": 'x,"y"', "b": 0}]) == 'a,b\n1,\n"x,""y""",0\n'
    assert csv_text([]) == "\n"


def test_a_text_in_csv_is_no_formula_and_controls_nothing() -> None:
    texts = ["=1+1", "@SUM(1)", "+cmd|x", "-a", "\t=1", "-1.5", "+0.2", "-", "a=1", "\x1b[2Jx\u202ey", "two\nlines"]
    lines = csv_text([{"a": text} for text in texts] + [{"a": -1.5}]).split("\n", 1)[1]
    assert lines == ("'=1+1\n'@SUM(1)\n'+cmd|x\n'-a\n'\t=1\n-1.5\n+0.2\n-\na=1\n?[2Jx?y\n\"two\nlines\"\n-1.5\n")
