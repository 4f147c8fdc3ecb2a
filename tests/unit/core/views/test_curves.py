"""Distributions as curves."""

from __future__ import annotations

import re
from itertools import pairwise
from xml.etree import ElementTree

from trialbed.views import Curve, DistributionPlot, Table, html_page, html_parts, svg


def plot(*samples: tuple[str, list[float]]) -> DistributionPlot:
    return DistributionPlot("times", "TTFT, ms", [Curve(label, values) for label, values in samples])


def test_a_curve_rises_from_nothing_to_all_of_its_values() -> None:
    shown = plot(("a", [100.0, 200.0, 400.0, 800.0]))
    ((_, _, path, _),) = shown.paths
    heights = [float(found) for found in re.findall(r"V([\d.]+)", path)]
    assert heights == sorted(heights, reverse=True)
    assert heights[-1] == shown.top
    positions = [float(found) for found in re.findall(r"H([\d.]+)", path)]
    steps = [after - before for before, after in pairwise(positions)]
    assert max(steps) - min(steps) < 0.3, "doubling is the same step anywhere on a logarithmic axis"


def test_large_samples_are_drawn_with_few_steps_and_empty_ones_not_at_all() -> None:
    shown = plot(("large", [float(value) for value in range(1, 20_000)]), ("empty", []))
    assert [curve.label for _, curve, _, _ in shown.paths] == ["large"]
    assert shown.paths[0][2].count("V") == 200
    assert "empty: not known" in shown.description
    assert plot(("empty", [])).x_ticks


def test_curves_are_told_apart_without_colour_and_labels_are_text() -> None:
    shown = plot(("<script>", [1.0, 2.0]), ("b", [1.0, 3.0]))
    drawing = ElementTree.fromstring(str(svg(shown, "x")))
    paths = [element for element in drawing.iter() if element.tag.endswith("path")]
    assert len({path.get("stroke-dasharray") for path in paths}) == 2
    assert not [element for element in drawing.iter() if "script" in element.tag]
    assert "b: half up to 2, 95 % up to 2.9, n=2" in html_page("t", [shown])


def test_parts_stand_in_another_page_without_a_page_of_their_own() -> None:
    text = str(html_parts("title", [Table.of("figures", ("", "a"), [("x", "<b>")])]))
    assert "<section" in text
    assert "<html" not in text
    assert "&lt;b&gt;" in text
