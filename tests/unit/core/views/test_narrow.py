"""Drawings for a telephone, and labels that can be read."""

from __future__ import annotations

import re
from itertools import pairwise
from xml.etree import ElementTree

from support.cases import for_each

from trialbed.views import (
    Bar,
    BarPlot,
    BarSpan,
    IntervalPlot,
    Plot,
    PlotPoint,
    Timeline,
    svg,
    svg_file,
)

NAME = "openai-agents:controlled"
PLOTS: list[Plot] = [
    IntervalPlot("scores", [PlotPoint(NAME, 0.5, 0.2, 0.8, "0.50 [0.20, 0.80]")]),
    BarPlot("times", [Bar(NAME, {"model": 1.0, "framework": 2.0}, "3.00")]),
    Timeline("line", ("model", "framework"), [BarSpan("framework", "at work", 0.0, 0.5)]),
]


@for_each("plot", PLOTS, ids=lambda plot: type(plot).__name__)
def test_a_drawing_needs_no_more_than_a_telephone_is_wide(plot: Plot) -> None:
    drawing = ElementTree.fromstring(svg(plot, "plot"))
    assert int(drawing.get("width", "0")) <= 400
    for text in drawing.iter("{http://www.w3.org/2000/svg}text"):
        width, x = 6.0 * len(text.text or ""), float(text.get("x", "nan"))
        share = {"end": 1.0, "middle": 0.5}.get(text.get("text-anchor", ""), 0.0)
        assert x - share * width >= -4, text.text
        assert x + (1 - share) * width <= 404, text.text


def test_only_success_is_green() -> None:
    plot = BarPlot("lost", [Bar("a", {"used": 0.5, "not called": 0.3, "api failed": 0.2})], good=("used",))
    assert re.findall(r'rect class="([^"]+)" x="[^"]*" y="[^"]*" width="[^"]*" height="18"', svg(plot, "x")) == [
        "part-good",
        "loss-0",
        "loss-1",
    ]
    printed = svg_file(plot)
    assert ".part-good { fill: #009e73; }" in printed
    assert printed.count("#009e73") == 1


def test_a_label_without_room_keeps_the_end_that_differs() -> None:
    names = [f"openai-agents:controlled@scripted:{policy},max_tools=20" for policy in ("partial", "bad-json")]
    plot = BarPlot("times", [Bar(name, {"model": 1.0}) for name in names])
    texts = re.findall(r"<text[^>]*>(open[^<]*)</text>", svg(plot, "x"))
    assert [
        text.endswith(f"{policy},max_tools=20") for text, policy in zip(texts, ("partial", "bad-json"), strict=True)
    ]
    assert all("…" in text for text in texts)


def test_names_in_the_legend_of_bars_do_not_touch() -> None:
    names = ("used", "not called", "wrong arguments", "not used", "lost in trials that failed")
    legend = BarPlot("lost", [Bar("a", dict.fromkeys(names, 0.2))]).legend
    for (name, x, y), (_, following, line) in pairwise(legend):
        assert line > y or following >= x + 17 + 7.4 * len(name)
    assert all(x + 17 + 7 * len(name) <= 400 for name, x, _ in legend)
