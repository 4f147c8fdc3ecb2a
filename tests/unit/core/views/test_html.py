from __future__ import annotations

import re
from dataclasses import replace
from html.parser import HTMLParser
from xml.etree import ElementTree

import pytest

from trialbed.views import IntervalPlot, PlotPoint, Table, TableRow, html_page

EVIL = '<script>alert("x")</script>&\x1b[2J'
TABLE = Table(
    "Figures",
    ("", "acme", "other"),
    [TableRow("F1", ("0.5 [0.4, 0.6]", "-")), TableRow("failed", ("3 crash", ""), alarming=True)],
    ["[low, high] is the interval."],
)
PLOT = IntervalPlot(
    "F1",
    [PlotPoint("acme", 0.5, 0.25, 0.75, "0.50 [0.25, 0.75]"), PlotPoint("other", None, text="-")],
    limits=(0.0, 1.0),
)
VOID = {"meta"}


class Balanced(HTMLParser):
    """Reads a page and holds it to closing what it opens."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[str] = []
        self.texts: list[str] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.tags.append(tag)
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: object) -> None:
        self.tags.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if data.strip():
            self.texts.append(data.strip())


def drawing(plot: IntervalPlot) -> ElementTree.Element:
    found = re.search(r"<svg.*?</svg>", html_page("t", [plot]), re.DOTALL)
    assert found is not None
    return ElementTree.fromstring(found[0])


def tagged(root: ElementTree.Element, tag: str, kind: str) -> list[ElementTree.Element]:
    return [item for item in root.iter(f"{{http://www.w3.org/2000/svg}}{tag}") if item.get("class") == kind]


def test_a_page_holds_tables_with_heads_notes_and_what_is_alarming() -> None:
    text = html_page("A run", [TABLE])
    page = Balanced(text)
    assert page.tags.count("table") == 1
    for said in ("A run", "Figures", "acme", "F1", "[0.4, 0.6]", "[low, high] is the interval."):
        assert said in page.texts
    assert '<tr class="alarming"><th scope="row">failed</th><td>3 crash</td><td></td></tr>' in text


@pytest.mark.parametrize("columns", [(), ("name",), ("name", "value", "of nothing")])
def test_a_table_may_have_fewer_or_more_headings_than_cells(columns: tuple[str, ...]) -> None:
    assert "<td>12</td>" in html_page("A", [Table("B", columns, [TableRow("c", ("12",))])])


def test_columns_of_words_begin_at_the_left_and_numbers_end_at_the_right() -> None:
    text = html_page("A run", [Table.of("t", ("", "verdict", "p"), [("a", "too few (60)", "0.125"), ("b", "-", "-")])])
    assert '<th scope="col" class="left">verdict</th><th scope="col">p</th>' in text
    assert '<td class="left">too few (60)</td><td>0.125</td>' in text
    assert '<td class="left">\N{EN DASH}</td><td>\N{EN DASH}</td>' in text


def test_versions_and_dates_are_words_where_a_column_has_nothing_else() -> None:
    rows = [("a", "1.2.24", "2026-11-27", "1.2.3"), ("b", "0.7.5", "-", "0.5")]
    text = html_page("A run", [Table.of("t", ("", "", "", ""), rows)])
    assert '<td class="left">0.7.5</td><td class="left">\N{EN DASH}</td><td>0.5</td>' in text


def test_nothing_that_is_said_is_more_than_text() -> None:
    evil = Table.of(EVIL, (EVIL, EVIL), [(EVIL, EVIL)], [EVIL])
    text = html_page(EVIL, [evil, IntervalPlot(EVIL, [PlotPoint(EVIL, 1.0, text=EVIL)])])
    assert "script" not in Balanced(text).tags
    assert "\x1b" not in text


def test_a_page_asks_nothing_of_the_network() -> None:
    text = html_page("A run", [TABLE, PLOT])
    assert "default-src 'none'" in text
    assert set(re.findall(r"https?://[^\"' >]+", text)) == {"http://www.w3.org/2000/svg"}
    assert {"script", "link", "img", "iframe"} & set(Balanced(text).tags) == set()


def test_it_is_light_or_dark_as_the_system_is() -> None:
    assert "@media (prefers-color-scheme: dark)" in html_page("A run", [])


def test_points_and_intervals_stand_where_their_values_are() -> None:
    root = drawing(PLOT)
    (point,), (interval,) = tagged(root, "circle", "point"), tagged(root, "line", "interval")
    low, value, high = (float(str(item)) for item in (interval.get("x1"), point.get("cx"), interval.get("x2")))
    assert low < value < high
    assert round(value - low, 1) == round(high - value, 1)
    assert point.get("cy") == interval.get("y1") == interval.get("y2")


def test_a_plot_can_be_read_without_being_seen() -> None:
    root = drawing(PLOT)
    texts = {item.get("id"): item.text for item in root if item.get("id")}
    assert texts == {"plot-1-title": "F1", "plot-1-text": "acme: 0.50 [0.25, 0.75]; other: -"}
    assert root.get("role") == "img"
    assert root.get("aria-labelledby") == "plot-1-title plot-1-text"


def test_an_axis_without_limits_holds_all_that_is_drawn_at_round_numbers() -> None:
    plot = IntervalPlot("d", [PlotPoint("a", 31.0, 12.0, 47.0), PlotPoint("b", -3.0)], zero=0.0)
    assert plot.scale.low < -3.0
    assert plot.scale.high > 47.0
    assert [number for _, number in plot.scale.ticks] == ["0", "20", "40"]
    assert len(tagged(drawing(plot), "line", "zero")) == 1


def test_equal_values_and_no_values_have_an_axis_too() -> None:
    for plot in (
        IntervalPlot("d", [PlotPoint("a", 5.0)]),
        IntervalPlot("d", [PlotPoint("a", 0.0)]),
        IntervalPlot("d", []),
    ):
        assert plot.scale.low < plot.scale.high
        drawing(plot)


def test_a_table_too_wide_for_a_telephone_has_the_heading_of_each_cell_beside_it() -> None:
    narrow = Table.of("narrow", ("", "a"), [("x", "1")])
    wide = Table.of("wide", ("", "the mean", "the median"), [("x", "0.50 [0.40, 0.60]", "0.50 [0.40, 0.60]")])
    assert "<td data-head=" not in html_page("t", [narrow])
    cell = '<span>0.50 <span class="whole">[0.40, 0.60]</span></span>'  # one, in which no line breaks an interval
    assert f'<td data-head="the median">{cell}</td>' in html_page("t", [wide])


def test_a_small_table_stands_beside_another_section_unless_it_has_notes() -> None:
    small = Table.of("small", ("", "a"), [("x", "1")])
    assert 'class="half"' in html_page("t", [small])
    assert 'class="half"' not in html_page("t", [replace(small, notes=["a note"])])


def test_a_wide_table_is_one_table_that_a_narrow_screen_scrolls() -> None:
    wide = Table.of("Wide", ("", *(f"framework-{place}" for place in range(30))), [("calls", *["1,234,567"] * 30)])
    page = Balanced(html_page("t", [wide]))
    assert (page.tags.count("table"), page.texts.count("calls")) == (1, 1)
    assert '<div class="wide" tabindex="0"' in html_page("t", [wide])


def test_a_cell_of_which_nothing_is_to_be_said_is_faint() -> None:
    text = html_page("t", [Table.of("small", ("", "lost", "added", "other"), [("x", "none", "+0", "+10")])])
    assert '<td><span class="nothing">none</span></td><td><span class="nothing">+0</span></td><td>+10</td>' in text
