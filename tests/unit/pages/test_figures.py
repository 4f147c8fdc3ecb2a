"""Figures for print."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.stored_runs import NEW

from trialbed.errors import UsageError
from trialbed.store import open_store
from trialbed_pages import figure_command
from trialbed_pages.figures import KINDS, write_figure
from trialbed_pages.figures._style import marker
from trialbed_pages.runs import FigureCache

BEGINS = {"svg": b"<?xml", "png": b"\x89PNG", "pdf": b"%PDF"}


def draw(stored: Path, kind: str, path: Path, score: str = "sopr_score") -> bytes:
    with open_store(str(stored)) as reader:
        write_figure(FigureCache(stored.parent).of(reader.run(NEW), score), kind, path, score)
    return path.read_bytes()


@pytest.mark.parametrize("ending", BEGINS)
def test_a_figure_is_of_the_format_of_its_name_and_the_same_each_time(stored: Path, ending: str) -> None:
    first = draw(stored, "scores", stored.parent / f"one.{ending}")
    assert first.startswith(BEGINS[ending])
    assert draw(stored, "scores", stored.parent / f"two.{ending}") == first


@pytest.mark.parametrize("kind", ["scores", "cost"])
def test_a_figure_names_its_frameworks_and_what_it_shows(stored: Path, kind: str) -> None:
    text = draw(stored, kind, stored.parent / "figure.svg", "api_call_score").decode()
    for expected in ("reference", "langgraph:native", "api_call_score"):
        assert expected in text


@pytest.mark.parametrize(
    ("kind", "name", "said"),
    [
        ("nosuch", "a.svg", "there are scores"),
        ("scores", "a.gif", "svg, png, pdf"),
        ("ranks", "a.svg", "three frameworks"),
        ("waterfall", "a.svg", "dataset is out of reach"),
    ],
)
def test_what_cannot_be_drawn_is_said(stored: Path, kind: str, name: str, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        draw(stored, kind, stored.parent / name)
    assert not (stored.parent / name).exists()


def test_markers_are_whole(stored: Path) -> None:
    """The one of the framework with most tokens was cut in half by the edge."""
    from matplotlib.figure import Figure

    axes = Figure().add_subplot()
    with open_store(str(stored)) as reader:
        KINDS["cost"].draw(axes, FigureCache(stored.parent).of(reader.run(NEW), "sopr_score"), "sopr_score")
    most = max(line.get_xdata()[0] for line in axes.lines if len(line.get_xdata()))
    assert axes.get_xlim()[1] >= 1.03 * most > 0


def test_the_command_offers_every_kind() -> None:
    assert set(figure_command.NAMES) == set(KINDS)


def test_frameworks_are_told_apart_without_colour() -> None:
    assert len({marker(place) for place in range(12)}) == 12
