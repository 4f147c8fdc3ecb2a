"""What the user asked for."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class VerifyOptions:
    """How the cases are sent.

    Attributes:
        trials: times that every case is sent to every target.
        vendor_concurrency: targets that are sent to at a time; more of them take turns.
        request_concurrency: requests under way at one target.
        timeout: seconds for one attempt, from first to last byte.
        retries: attempts after the first.
        incremental: keep the answers that the results file has, and send only what failed or is missing.
        fresh: discard what the results file has.
    """

    trials: int = 1
    vendor_concurrency: int = 1
    request_concurrency: int = 5
    timeout: float = 600.0
    retries: int = 3
    incremental: bool = False
    fresh: bool = False
