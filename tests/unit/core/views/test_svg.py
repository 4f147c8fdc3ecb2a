"""Plots as drawings."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st
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
from trialbed.views._scale import Scale

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


@for_each("plot", [*PLOTS, *EMPTY], ids=lambda plot: type(plot).__name__)
def test_a_drawing_for_print_is_a_file_of_its_own(plot: Plot) -> None:
    drawing = ElementTree.fromstring(svg_file(plot).encode())
    assert drawing.get("width") == "110mm"
    assert not list(drawing.iter(f"{SPACE}script"))
    ids = [found for element in drawing.iter() if (found := element.get("id"))]
    assert set(re.findall(r"url\(#([^)]+)\)", svg_file(plot))) <= set(ids) or plot.template != "bars"


def test_the_parts_of_many_bars_are_named_without_overlap_and_each_has_its_fill_in_print() -> None:
    names = ["used", *(f"lost at stage {place}" for place in range(7))]
    plot = BarPlot("waterfall", [Bar("a", dict.fromkeys(names, 1.0), "half")])
    places = [(x, y) for _, x, y in plot.legend]
    assert len(set(places)) == 8
    assert max(y for _, y in places) + 12 < plot.top
    assert len(set(re.findall(r'rect class="(part-\d)"', svg_file(plot)))) == 8


def test_parts_of_a_bar_stand_one_after_the_other() -> None:
    ((_, _, parts),) = BarPlot("", [Bar("b", {"x": 1.0, "y": 3.0})]).rows
    (_, _, start, width, _), (_, _, then, longer, _) = parts
    assert then == pytest.approx(start + width, abs=0.2)
    assert longer == pytest.approx(3 * width, abs=0.5)


@given(st.lists(st.floats(-1e9, 1e9), min_size=1), st.floats(-1e9, 1e9))
def test_a_scale_holds_its_values_and_keeps_their_order(values: list[float], other: float) -> None:
    scale = Scale.of(values, 10, 500)
    places = [scale.at(value) for value in sorted(values)]
    assert places == sorted(places)
    assert all(10 <= place <= 500 for place in [*places, scale.at(other)])
    assert len(scale.ticks) <= 12


def test_a_legend_has_the_order_that_it_is_given_whichever_bar_lacks_a_part() -> None:
    bars = [Bar("a", {"tools": 1.0, "other": 1.0}), Bar("b", {"model": 1.0, "tools": 1.0})]
    assert BarPlot("Times", bars).names == ["tools", "other", "model"]
    assert BarPlot("Times", bars, order=("model", "tools", "waiting")).names == ["model", "tools", "other"]
