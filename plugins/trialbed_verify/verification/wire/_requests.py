"""Requests as they are sent."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

Body = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Prepared:
    """A request ready to be sent.

    Attributes:
        request: the body without ``extra_body``, as the results file has it.
        sent: the body on the wire.
        digest: MD5 of ``request`` as the K2-style tools compute it.
        tools: what the request declares, for checking calls.
    """

    request: Body
    sent: Body
    digest: str
    tools: Any

    @property
    def stream(self) -> bool:
        """Whether the answer will be streamed."""
        return bool(self.sent.get("stream"))
