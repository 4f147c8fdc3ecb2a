"""The pytest plugin: the fixture ``harness``, the option ``--conformance-level``, and the summary of conformance tests.

It is loaded in every pytest run where Trialbed is installed, so it imports nothing before it is used.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from trialbed_adapter_lab import ConformanceReport, Harness

__all__ = ["REPORT", "harness"]

REPORT = "trialbed_conformance"
"""The user property of a test that holds its findings, as a report in JSON."""

LEVELS = ("must", "should", "may")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option."""
    group = parser.getgroup("trialbed", "conformance of Trialbed adapters")
    group.addoption(
        "--conformance-level",
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


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out the checks below the level."""
    unwanted = LEVELS[LEVELS.index(config.getoption("--conformance-level")) + 1 :]
    if not unwanted:
        return
    left_out = [item for item in items if _level(item) in unwanted]
    config.hook.pytest_deselected(items=left_out)
    items[:] = [item for item in items if item not in left_out]


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
        agent_class, _ = named_agent(_adapter_of(request))
        with Harness(agent_class) as opened:
            yield opened


def _adapter_of(request: pytest.FixtureRequest) -> Any:
    marker = request.node.get_closest_marker("framework")
    if marker is not None and (marker.args or marker.kwargs):
        return marker.args[0] if marker.args else marker.kwargs.get("agent")
    named = getattr(request.cls, "agent", None) or getattr(request.cls, "framework", None)
    if not named:
        pytest.fail(
            'the fixture "harness" does not know which adapter to run: mark the test, its class or its module with '
            '@pytest.mark.framework("NAME") or (agent=TheClass), or set framework = "NAME" in its class',
            pytrace=False,
        )
    return named


def _level(item: pytest.Item) -> str | None:
    """Return the level of a conformance test; None for any other."""
    callspec = getattr(item, "callspec", None)
    if callspec is None or getattr(item, "originalname", "") != "test_conformance":
        return None
    level_for = getattr(callspec.params.get("check"), "level_for", None)
    level = None if level_for is None else level_for(_profile(getattr(item, "cls", None)))
    return level if level in LEVELS else None


def _profile(owner: Any) -> str | None:
    """Return the profile of the adapter that a test class names; no adapter is imported."""
    profile = getattr(owner, "profile", None)
    return profile if isinstance(profile, str) else getattr(owner, "framework", "").partition(":")[2] or None


def _badges(written: list[str]) -> list[str]:
    from trialbed_adapter_lab import ConformanceReport

    merged: dict[tuple[str, str], ConformanceReport] = {}
    for text in written:
        report = ConformanceReport.model_validate_json(text)
        known = merged.setdefault((report.framework, report.version), report)
        if known is not report:
            findings = known.findings + report.findings
            merged[report.framework, report.version] = known.model_copy(update={"findings": findings})
    return [report.badge for report in merged.values()]
