"""Figures for print."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from xml.etree import ElementTree

import pytest
import resvg_py
from support.stored_runs import NEW, add_costs, run

from trialbed.errors import UsageError
from trialbed.store import Store, open_store
from trialbed_pages import figure_command
from trialbed_pages.figures import KINDS, write_figure
from trialbed_pages.runs import FigureCache

BEGINS = {"svg": b"<?xml", "png": b"\x89PNG"}


def draw(stored: Path, kind: str, path: Path, score: str = "sopr_score") -> bytes:
    with open_store(str(stored)) as reader:
        write_figure(FigureCache(stored.parent).of(reader.run(NEW), score), kind, path, score)
    return path.read_bytes()


@pytest.mark.parametrize("ending", BEGINS)
def test_a_figure_is_of_the_format_of_its_name_and_the_same_each_time(stored: Path, ending: str) -> None:
    first = draw(stored, "scores", stored.parent / f"one.{ending}")
    assert first.startswith(BEGINS[ending])
    assert draw(stored, "scores", stored.parent / f"two.{ending}") == first


@pytest.mark.parametrize("kind", ["scores", "cost", "tokens", "latency"])
def test_a_figure_stands_alone_and_names_its_frameworks_and_values(stored: Path, kind: str) -> None:
    drawing = ElementTree.fromstring(draw(stored, kind, stored.parent / "figure.svg", "api_call_score"))
    text = "".join(drawing.itertext())
    for expected in ("reference", "langgraph:native", "wall time" if kind == "latency" else "expected Apis called"):
        assert expected.casefold() in text.casefold()
    assert "font:" in text, "the style is in the file"


@pytest.mark.parametrize(
    ("kind", "priced", "unit"),
    [("cost", True, "0.25 USD"), ("cost", False, "120 tokens"), ("tokens", True, "120 tokens")],
)
def test_the_cost_is_drawn_in_money_where_it_is_known(stored: Path, kind: str, priced: bool, unit: str) -> None:
    if priced:
        add_costs(stored)
    drawing = ElementTree.fromstring(draw(stored, kind, stored.parent / "figure.svg"))
    assert unit in "".join(drawing.itertext())


@pytest.mark.parametrize(
    ("kind", "name", "message"),
    [
        ("nosuch", "a.svg", "there are scores"),
        ("scores", "a.gif", "svg or png"),
        ("scores", "a.pdf", "rsvg-convert"),
        ("ranks", "a.svg", f"ranks need three frameworks; run {NEW} has 2"),
        ("waterfall", "a.svg", "dataset is out of reach"),
    ],
)
def test_a_figure_that_cannot_be_drawn_is_refused(stored: Path, kind: str, name: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        draw(stored, kind, stored.parent / name)
    assert not (stored.parent / name).exists()


def test_a_run_without_trials_has_no_figure(stored: Path) -> None:
    with Store.open(str(stored)) as store:
        store.create_run(run("empty", datetime(2026, 3, 3, tzinfo=UTC), ("reference",)))
    with open_store(str(stored)) as reader:
        figures = FigureCache(stored.parent).of(reader.run("empty"), "sopr_score")
        with pytest.raises(UsageError, match="run empty is finished and has no trials"):
            write_figure(figures, "scores", stored.parent / "a.svg", "sopr_score")
    assert not (stored.parent / "a.svg").exists()


def test_a_picture_without_texts_is_refused(stored: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resvg_py, "svg_to_bytes", lambda **_: b"the same with fonts and without")
    with pytest.raises(UsageError, match="install a font"):
        draw(stored, "scores", stored.parent / "a.png")


def test_the_command_offers_every_kind() -> None:
    assert set(figure_command.NAMES) == set(KINDS)
