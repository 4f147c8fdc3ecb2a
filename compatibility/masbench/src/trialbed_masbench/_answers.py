"""Checks of answers, and names of parameters."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from trialbed_masbench._called import has_finish


class AnswerValidator:
    """Checks answers as agents return them."""

    @staticmethod
    def check_has_finish(answer: Mapping[str, Any]) -> bool:
        """Return whether an answer's details, in ``answer`` or next to it, have a call of Finish."""
        return has_finish(answer)

    @staticmethod
    def validate_answer_structure(answer: Mapping[str, Any]) -> bool:
        """Return whether there is an ``answer`` with ``final_answer`` and ``answer_details``."""
        inner = answer.get("answer")
        return isinstance(inner, Mapping) and {"final_answer", "answer_details"} <= inner.keys()


def sanitize_param_name(name: str) -> str:
    """Return the name that MASBench gives a parameter in a Pydantic model: ``param_id`` for ``_id``."""
    return f"param_{name[1:]}" if name.startswith("_") else name
