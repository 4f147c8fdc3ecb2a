"""Many tools arrive, and where they do not, that shows."""

from __future__ import annotations

import pytest
from support.measured import Fidelity, Measured

from trialbed_adapter_lab.fidelity import ManyTools

pytestmark = pytest.mark.slow(20)


@pytest.fixture(scope="module")
def measured(fidelity: Fidelity) -> Measured:
    agents = ("keeps-ten-tools", "strict", "sorts-tools", "fails-always")
    return fidelity(*agents, options=("--part", "many"))


def many(measured: Measured, framework: str, offered: int) -> ManyTools:
    (found,) = [one for one in measured.of(framework).many or () if one.offered == offered]
    return found


@pytest.mark.parametrize("offered", [120, 1000])
def test_the_reference_sends_them_all(measured: Measured, offered: int) -> None:
    found = many(measured, "reference", offered)
    assert (found.sent, found.intact, found.order) == (offered, offered, "kept")
    assert (found.requests, found.calls) == (3, 2)
    assert found.request_bytes is not None
    assert found.request_bytes > 300 * offered
    assert found.reason == found.ended == ""


def test_a_limit_on_tools_shows(measured: Measured) -> None:
    found = many(measured, "keeps-ten-tools", 1000)
    assert (found.sent, found.intact) == (10, 10)
    # The model calls the last tool on offer, which is not there.
    assert found.calls == 1


def test_altered_schemas_show(measured: Measured) -> None:
    found = many(measured, "strict", 120)
    assert (found.sent, found.intact) == (120, 0)


def test_without_requests_there_are_no_figures(measured: Measured) -> None:
    found = many(measured, "fails-always", 120)
    assert (found.sent, found.intact, found.request_bytes) == (None, None, None)
    assert "no tools for anybody" in found.ended
