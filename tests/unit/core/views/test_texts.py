"""Tables and figures as text: for a terminal, as Markdown, CSV and XML."""

from __future__ import annotations

import io
from xml.etree import ElementTree as Xml

import pytest
from support.cases import for_each

from trialbed.views import (
    UNKNOWN,
    Table,
    TestCase,
    TestSuite,
    compact,
    csv_text,
    estimate,
    junit,
    markdown,
    number,
    print_tables,
)

FIGURES = [f"0.{number}2 [0.{number}1, 0.{number}9] n=12345" for number in range(8)]
WIDE = Table.of("Figures", ("", *(f"vendor-{number}" for number in range(8))), [("F1, as delivered", *FIGURES)])


@pytest.fixture
def show(monkeypatch: pytest.MonkeyPatch):
    def show(*tables: Table, width: int | None = 80) -> str:
        if width is None:
            monkeypatch.delenv("COLUMNS", raising=False)
        else:
            monkeypatch.setenv("COLUMNS", str(width))
        stream = io.StringIO()
        print_tables(tables, stream)
        return stream.getvalue()

    return show


@pytest.mark.parametrize("width", [60, 80, 120, 300])
def test_columns_fold_into_blocks_that_fit_and_no_number_is_cut(show, width) -> None:
    text = show(WIDE, width=width)
    assert max(map(len, text.splitlines())) <= width
    for figure in FIGURES:
        assert figure in text


def test_a_long_title_stands_above_and_notes_below(show) -> None:
    table = Table.of("m: 2000 requests of samples.jsonl", ("", "acme"), [("F1", "0.7")], ["Read it so.", "And so."])
    assert show(table).splitlines() == [
        "m: 2000 requests of samples.jsonl",
        "",
        "    acme",
        "────────",
        "F1   0.7",
        "",
        "Read it so.",
        "And so.",
    ]


def test_nothing_controls_the_terminal(show) -> None:
    text = show(Table.of("a\x1b[2J", ("\x07", "b\x1b"), [("[bold]c\x1b", "d\x08")], ["e\x1b"]))
    assert not set("\x1b\x07\x08") & set(text)
    assert "[bold]c?" in text


TABLE = Table.of("F1 | by vendor", ("", "a_b"), [("x|y", "0.5 [0.4, 0.6]")], ["one", "two"])


def test_a_table_is_a_section_with_its_notes_as_a_list() -> None:
    assert markdown([TABLE]) == (
        "## F1 \\| by vendor\n\n|  | a\\_b |\n| --- | ---: |\n| x\\|y | 0.5 [0.4, 0.6] |\n\n* one\n* two\n"
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


@for_each(
    ("value", "said"),
    [(None, UNKNOWN), (0.0, "0.00"), (0.123, "0.12"), (999.994, "999.99"), (1234.5, "1,234"), (-2000.0, "-2,000")],
)
def test_a_number_has_its_digits_and_separators_from_a_thousand_on(value, said) -> None:
    assert number(value, 2) == said


@for_each(
    ("value", "said"),
    [
        *((None, UNKNOWN), (-5.88e-05, "-0.000059"), (0.0, "0"), (0.00058812, "0.00059"), (0.012345, "0.0123")),
        *((3.25, "3.25"), (99.96, "100"), (123.6, "124"), (123456.7, "123,457"), (1e-300, "1e-300")),
    ],
)
def test_a_compact_number_has_three_digits_that_count_and_an_exponent_only_where_it_is_tiny(value, said) -> None:
    assert compact(value) == said


def test_an_estimate_has_its_interval_and_its_number_where_known() -> None:
    assert estimate(None) == estimate({"value": None, "low": None, "high": None, "n": 0}, with_n=True) == UNKNOWN
    assert estimate({"value": 0.5, "low": None, "high": None}) == "0.5000"
    assert estimate({"value": 0.5, "low": 0.25, "high": 1, "n": 7}, 2, with_n=True) == "0.50 [0.25, 1.00] n=7"


def test_cases_are_counted_and_told_apart() -> None:
    cases = [
        TestCase("mini.reference", "reference/1", 0.5),
        TestCase("mini.reference", "reference/2", 1.0, "failure", "Unsolved", "it lacks <21>", "it lacks <21>"),
        TestCase("mini.reference", "reference/3", outcome="error", kind="endpoint", message="429"),
        TestCase("mini.reference", "reference/4", outcome="skipped", message="one trial"),
    ]
    text = junit([TestSuite("reference", cases, {"model": "m & n"})])
    root = Xml.fromstring(text)
    assert {key: root.get(key) for key in ("tests", "failures", "errors", "skipped", "time")} == {
        "tests": "4", "failures": "1", "errors": "1", "skipped": "1", "time": "1.500",
    }  # fmt: skip
    (suite,) = root
    assert suite.find("properties/property").attrib == {"name": "model", "value": "m & n"}  # type: ignore[union-attr]
    first, second, third, fourth = suite.findall("testcase")
    assert len(first) == 0
    assert second[0].attrib == {"type": "Unsolved", "message": "it lacks <21>"}
    assert (second[0].text, third[0].tag, fourth[0].tag) == ("it lacks <21>", "error", "skipped")


def test_any_text_is_well_formed_xml() -> None:
    hostile = "\x00\x1b[2J\ud83d\ufffe ]]> <!-- \u202e & '\"\r\nnext"
    case = TestCase(hostile, hostile, outcome="failure", kind="x", message=hostile, text=hostile)
    root = Xml.fromstring(junit([TestSuite(hostile, [case], {"x": hostile})]).encode())
    assert "next" in (root.findtext("testsuite/testcase/failure") or "")
    assert "\x1b" not in junit([TestSuite(hostile, [case])])
