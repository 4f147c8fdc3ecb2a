"""Tables, texts and plots on pages and as drawings: nothing that is said is more than text."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from xml.etree import ElementTree

from support.cases import for_each

from trialbed.views import (
    Bar,
    BarPlot,
    BarSpan,
    Disclosure,
    Disclosures,
    Excerpt,
    IntervalPlot,
    Plot,
    PlotPoint,
    Table,
    TableRow,
    Timeline,
    html_page,
    markdown,
    svg,
)

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


def test_points_and_intervals_stand_where_their_values_are() -> None:
    root = drawing(PLOT)
    (point,), (interval,) = tagged(root, "circle", "point"), tagged(root, "line", "interval")
    low, value, high = (float(str(item)) for item in (interval.get("x1"), point.get("cx"), interval.get("x2")))
    assert low < value < high
    assert round(value - low, 1) == round(high - value, 1)
    assert point.get("cy") == interval.get("y1") == interval.get("y2")


FENCED = "<script>alert(1)</script>\n```\n# not a heading\x1b[2J"
SHOWN = Disclosures("Examples", [Disclosure("one <b>", [Excerpt("answer", FENCED)])], ["A note."])


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


HOSTILE = "</svg><script>alert(1)</script>\x1b[2J"
SPACE = "{http://www.w3.org/2000/svg}"
PLOTS: list[Plot] = [
    IntervalPlot("scores", [PlotPoint(HOSTILE, 0.5, 0.2, 0.8, "half"), PlotPoint("none", None)]),
    BarPlot("times", [Bar(HOSTILE, {"model": 1.0, "tools": 0.0, HOSTILE: 2.0}), Bar("none", {})]),
    Timeline("line", ("model", HOSTILE), [BarSpan(HOSTILE, HOSTILE, 0.0, 0.5, alarming=True)], total=2.0),
]
EMPTY: list[Plot] = [IntervalPlot("", []), BarPlot("", []), Timeline("", (), [])]


@for_each("plot", [*PLOTS, *EMPTY], ids=lambda plot: type(plot).__name__)
def test_a_plot_is_one_drawing_with_its_title_and_words(plot: Plot) -> None:
    drawing = ElementTree.fromstring(svg(plot, "plot"))
    assert drawing.tag == f"{SPACE}svg"
    assert drawing.find(f"{SPACE}title") is not None
    assert not list(drawing.iter(f"{SPACE}script"))
    assert (drawing.find(f"{SPACE}desc").text or "") == plot.description.replace("\x1b", "?")  # type: ignore[union-attr]


NAME = "openai-agents:controlled"
NAMED_PLOTS: list[Plot] = [
    IntervalPlot("scores", [PlotPoint(NAME, 0.5, 0.2, 0.8, "0.50 [0.20, 0.80]")]),
    BarPlot("times", [Bar(NAME, {"model": 1.0, "framework": 2.0}, "3.00")]),
    Timeline("line", ("model", "framework"), [BarSpan("framework", "at work", 0.0, 0.5)]),
]


@for_each("plot", NAMED_PLOTS, ids=lambda plot: type(plot).__name__)
def test_a_drawing_needs_no_more_than_a_telephone_is_wide(plot: Plot) -> None:
    drawing = ElementTree.fromstring(svg(plot, "plot"))
    assert int(drawing.get("width", "0")) <= 400
    for text in drawing.iter("{http://www.w3.org/2000/svg}text"):
        width, x = 6.0 * len(text.text or ""), float(text.get("x", "nan"))
        share = {"end": 1.0, "middle": 0.5}.get(text.get("text-anchor", ""), 0.0)
        assert x - share * width >= -4, text.text
        assert x + (1 - share) * width <= 404, text.text
