"""What a framework costs shows."""

from __future__ import annotations

import pytest
from support.measured import Fidelity, Measured

from trialbed_adapter_lab.fidelity import Load, LoadLevel

pytestmark = pytest.mark.slow(50)

LOADED = ("blocks-the-loop", "dawdles", "leaks", "starts-threads")
ALONE = ("burns-the-processor", "fails-now-and-then", "fails-always", "crashes", "prints", "broken-import")
OPTIONS = ("--part", "load", "--concurrency", 1)


@pytest.fixture(scope="module")
def measured(fidelity: Fidelity) -> Measured:
    """Agents whose trials wait for one another, or whose costs add up."""
    return fidelity(*LOADED, options=(*OPTIONS, "--concurrency", 8, "--rounds", 2))


@pytest.fixture(scope="module")
def alone(fidelity: Fidelity) -> Measured:
    """Agents of which one trial at a time says all."""
    return fidelity(*ALONE, options=(*OPTIONS, "--rounds", 1), code=1)


def load(measured: Measured, framework: str) -> Load:
    found = measured.of(framework).load
    assert found is not None
    return found


def level(measured: Measured, framework: str, concurrency: int) -> LoadLevel:
    (found,) = [one for one in load(measured, framework).levels if one.concurrency == concurrency]
    return found


def test_every_figure_has_its_number_of_rounds(measured: Measured) -> None:
    one, eight = level(measured, "reference", 1), level(measured, "reference", 8)
    assert one.framework_ms is not None
    assert eight.framework_ms is None
    for figure in (one.framework_ms, one.cpu_ms, eight.trials_per_second, eight.longest_lag_ms, eight.lag_p95_ms):
        assert figure.n == 2
        assert 0 < figure.low <= figure.median <= figure.high
    assert (one.trials, eight.trials) == (8, 16)
    assert one.turns == 2 * 8 * 4
    assert one.failed == eight.failed == 0


def test_a_blocked_event_loop_shows(measured: Measured) -> None:
    assert level(measured, "blocks-the-loop", 1).longest_lag_ms.low > 80
    # Eight at a time wait for one another's blocks.
    assert level(measured, "blocks-the-loop", 8).longest_lag_ms.low > 400
    assert level(measured, "blocks-the-loop", 8).lag_p95_ms.low > level(measured, "dawdles", 8).lag_p95_ms.high


def test_processor_time_shows(measured: Measured, alone: Measured) -> None:
    burnt = level(alone, "burns-the-processor", 1).cpu_ms.low
    assert burnt > 45
    assert level(measured, "dawdles", 1).cpu_ms.high < burnt


def test_time_that_passes_without_work_shows_too(measured: Measured) -> None:
    figure = level(measured, "dawdles", 1).framework_ms
    assert figure is not None
    assert figure.low > 95
    assert level(measured, "dawdles", 8).trials_per_second.median > 2 * (
        level(measured, "blocks-the-loop", 8).trials_per_second.median
    )


def test_memory_shows(measured: Measured) -> None:
    trials = 3 * 8 + 3 * 16
    grown = load(measured, "leaks").final_rss - load(measured, "leaks").loaded_rss
    assert grown > trials * 7 * 2**20
    assert load(measured, "reference").final_rss - load(measured, "reference").loaded_rss < 100 * 2**20
    peak = level(measured, "leaks", 8).peak_rss
    assert peak is None or peak >= load(measured, "leaks").final_rss * 0.9


def test_threads_show(measured: Measured) -> None:
    assert level(measured, "starts-threads", 8).threads > 20
    assert level(measured, "reference", 8).threads < 20


def test_trials_that_fail_are_counted(alone: Measured) -> None:
    found = level(alone, "fails-now-and-then", 1)
    assert found.failed == 2
    assert "every fourth trial fails" in found.reason


@pytest.mark.parametrize(
    ("framework", "reason"),
    [("fails-always", "no tools for anybody"), ("crashes", "ended by itself"), ("broken-import", "library is missing")],
)
def test_what_cannot_be_measured_has_a_reason_and_no_figures(alone: Measured, framework: str, reason: str) -> None:
    found = alone.of(framework)
    assert found.load is None
    assert any(reason in missing.reason for missing in found.missing)


def test_what_a_framework_prints_does_not_disturb(alone: Measured) -> None:
    assert level(alone, "prints", 1).failed == 0
