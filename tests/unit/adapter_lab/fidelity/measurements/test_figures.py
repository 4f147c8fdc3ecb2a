from __future__ import annotations

from trialbed_adapter_lab.fidelity.measurements import Figure
from trialbed_adapter_lab.fidelity.measurements._figures import figure


def test_a_figure_is_the_median_with_its_range() -> None:
    assert figure([3.0, 1.0, 10.0]) == Figure(median=3.0, low=1.0, high=10.0, n=3)


def test_nothing_observed_is_no_figure() -> None:
    assert figure([]) is None
