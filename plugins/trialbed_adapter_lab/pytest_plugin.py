"""The pytest plugin: the fixture ``harness``, the option ``--conformance-level``, and the summary of conformance tests.

It is loaded in every pytest run where Trialbed is installed, so it imports nothing before it is used.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from trialbed_adapter_lab import Harness

__all__ = ["LEVEL", "REPORT", "adapter_of", "harness"]

LEVEL = "--conformance-level"

REPORT = "trialbed_conformance"
"""The user property of a test that holds its findings, as a report in JSON."""

LEVELS = ("must", "should", "may")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option."""
    group = parser.getgroup("trialbed", "conformance of Trialbed adapters")
    group.addoption(
        LEVEL,
        choices=LEVELS,
        default=LEVELS[-1],
        help="run only conformance checks of this level and above (default: may, which is all)",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Register the marker."""
    config.addinivalue_line(
        "markers",
        'framework(name) or framework(agent=TheClass): the adapter that the fixture "harness" runs',
    )


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Report one line per adapter."""
    written = [
        value
        for reports in terminalreporter.stats.values()
        for report in reports
        for name, value in getattr(report, "user_properties", ())
        if name == REPORT and getattr(report, "when", "") == "call"
    ]
    if written:
        terminalreporter.section("conformance")
        for badge in _badges(written):
            terminalreporter.write_line(badge)


@pytest.fixture
def harness(request: pytest.FixtureRequest) -> Iterator[Harness]:
    """Run trials of the test's own.

    The adapter is the one that the test's class names as ``framework`` or ``agent``, as ``AdapterConformance``
    has it, or that ``@pytest.mark.framework`` names, on the test, its class or its module.
    """
    from trialbed_adapter_lab import Harness, like_a_worker, named_agent

    with like_a_worker():
        agent_class, _ = named_agent(adapter_of(request))
        with Harness(agent_class) as opened:
            yield opened


def adapter_of(request: pytest.FixtureRequest) -> Any:
    """Return the adapter that a test, its class or its module names."""
    marker = request.node.get_closest_marker("framework")
    if marker is not None and (marker.args or marker.kwargs):
        return marker.args[0] if marker.args else marker.kwargs.get("agent")
    named = getattr(request.cls, "agent", None) or getattr(request.cls, "framework", None)
    if not named:
        pytest.fail(
            'no adapter is named: set framework = "NAME" or agent = TheClass in the class of the test, or mark the '
            'test, its class or its module with @pytest.mark.framework("NAME") or (agent=TheClass)',
            pytrace=False,
        )
    return named


def _badges(written: list[str]) -> list[str]:
    from trialbed.texts import group_by_key
    from trialbed_adapter_lab import ConformanceReport

    reports = map(ConformanceReport.model_validate_json, written)
    groups = group_by_key(((report.framework, report.version), report) for report in reports)
    return [
        first.model_copy(
            update={"findings": [*first.findings, *(one for each in others for one in each.findings)]}
        ).badge
        for first, *others in groups.values()
    ]
