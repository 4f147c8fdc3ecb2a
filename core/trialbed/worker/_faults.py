"""Exceptions of agents as failures."""

from __future__ import annotations

import traceback

from trialbed.errors import AnswerError, ModelFailed
from trialbed.records import Failure, FailureKind
from trialbed.secrets import redact
from trialbed.worker._text import clean_text

MAX_MESSAGE = 2_000
MAX_DETAIL = 16_000


def failure_of(error: BaseException) -> Failure:
    """The failure that an exception out of an agent means: its type and text, and the end of its traceback."""
    trace = "".join(traceback.format_exception(error))
    return Failure(
        kind=_kind(error),
        message=_clean(_text(error))[:MAX_MESSAGE],
        detail=_clean(trace)[-MAX_DETAIL:],
    )


def _kind(error: BaseException) -> FailureKind:
    if isinstance(error, ModelFailed):
        return "model"
    if isinstance(error, AnswerError):
        return "answer"
    return "memory" if isinstance(error, MemoryError) else "agent"


def _text(error: BaseException) -> str:
    try:
        text = str(error)
    except Exception:  # noqa: BLE001 - an exception that cannot say what it is still has a type
        text = ""
    if isinstance(error, (ModelFailed, AnswerError)):
        return text
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def _clean(text: str) -> str:
    return redact(clean_text(text))
