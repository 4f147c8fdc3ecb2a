"""Models that need nothing changed."""

from __future__ import annotations

from trialbed.contracts import ModelAdapter


class GenericAdapter(ModelAdapter):
    """Leaves requests as they are; serves every model that no other adapter recognises."""

    contract = "1"

    @classmethod
    def recognises(cls, model: str) -> bool:  # noqa: ARG003 - it is the fallback
        """Never: it is taken where nothing else is."""
        return False
