"""The pytest plugin with the fixture ``harness`` and the marker that names its adapter.

It is loaded in every pytest run in an environment with Trialbed, so it imports nothing before it is used.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from trialbed_adapter_lab import Harness


def pytest_configure(config: pytest.Config) -> None:
    """Register the marker."""
    config.addinivalue_line(
        "markers", 'framework(name) or framework(agent=TheClass): the adapter that the fixture "harness" runs'
    )


@pytest.fixture
def harness(request: pytest.FixtureRequest) -> Iterator[Harness]:
    """Provide a harness for the test's own trials.

    The adapter is the class's ``framework`` or ``agent``, as in ``AdapterConformance``, or the name in
    ``@pytest.mark.framework`` on the test, its class or its module.
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
