"""Plots as drawings."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trialbed.views import Bar, BarPlot, BarSpan, IntervalPlot, Mark, Plot, PlotPoint, ScatterPlot, Timeline, svg
from trialbed.views._scale import Scale

HOSTILE = "</svg><script>alert(1)</script>\x1b[2J"
SPACE = "{http://www.w3.org/2000/svg}"
PLOTS: list[Plot] = [
    IntervalPlot("scores", [PlotPoint(HOSTILE, 0.5, 0.2, 0.8, "half"), PlotPoint("none", None)]),
    ScatterPlot("cost", "tokens", "score", [Mark(HOSTILE, 10.0, 0.5), Mark("none", None, 0.5)], y_limits=(0.0, 1.0)),
    BarPlot("times", [Bar(HOSTILE, {"model": 1.0, "tools": 0.0, HOSTILE: 2.0}), Bar("none", {})]),
    Timeline("line", ("model", HOSTILE), [BarSpan(HOSTILE, HOSTILE, 0.0, 0.5, alarming=True)], total=2.0),
]
EMPTY: list[Plot] = [IntervalPlot("", []), ScatterPlot("", "", "", []), BarPlot("", []), Timeline("", (), [])]


@pytest.mark.parametrize("plot", [*PLOTS, *EMPTY], ids=lambda plot: type(plot).__name__)
def test_a_plot_is_one_drawing_with_its_title_and_words(plot: Plot) -> None:
    drawing = ElementTree.fromstring(svg(plot, "plot"))
    assert drawing.tag == f"{SPACE}svg"
    assert drawing.find(f"{SPACE}title") is not None
    assert not list(drawing.iter(f"{SPACE}script"))
    assert (drawing.find(f"{SPACE}desc").text or "") == plot.description.replace("\x1b", "?")  # type: ignore[union-attr]


def test_two_drawings_of_a_page_have_ids_of_their_own() -> None:
    ids = [element.get("id") for name in ("a", "b") for element in ElementTree.fromstring(svg(PLOTS[0], name)).iter()]
    given_ids = [one for one in ids if one]
    assert len(given_ids) == len(set(given_ids))


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
