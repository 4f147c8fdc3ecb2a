"""Figures of trials with many tools."""

from __future__ import annotations

from support.fidelity import model_call, observed, request

from trialbed_adapter_lab.fidelity.measurements._many import _read_tools


def test_a_request_that_the_log_cuts_is_never_compared() -> None:
    found = _read_tools(observed(model_call(request(), request_bytes=2**21)))
    assert (found.sent, found.intact, found.order) == (None, None, None)
    assert "wire log keeps" in found.reason
    assert (found.requests, found.request_bytes) == (1, 2**21)
