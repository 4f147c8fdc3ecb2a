"""What a trial consumed."""

from __future__ import annotations

from trialbed.records import ModelCall, Usage, WireLog


def failed(call: ModelCall) -> bool:
    """Whether the model refused or broke off: no status, or one of 400 and up."""
    return call.status == 0 or call.status >= 400


def observed_usage(wire: WireLog) -> Usage | None:
    """Tokens over all model calls, as the model reported them; None where they cannot be told.

    They cannot where no call came through the gateway, or one that the model answered did not report them. A
    refused call (status 400 and up) consumed none.
    """
    if not wire.model_calls:
        return None
    total = Usage()
    for call in wire.model_calls:
        if call.usage is not None:
            total = total + call.usage
        elif call.status < 400:
            return None
    return total


def repeated_requests(wire: WireLog) -> int:
    """Model calls whose body was sent before, byte for byte: retries of the framework or its client."""
    return len(wire.model_calls) - len({call.request for call in wire.model_calls})
