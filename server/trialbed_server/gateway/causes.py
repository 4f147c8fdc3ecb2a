"""Causes of failed requests to the model: rules that decide by the wire whose fault a failure is."""

from __future__ import annotations

import re

from trialbed.records import Cause
from trialbed.wire import TRANSIENT, ModelRequest, lenient_json

OVERLOADED = frozenset({503, 529})
"""Statuses of 5xx that say themselves that the endpoint has no capacity."""

KEY_REFUSED = frozenset({401, 402, 403, 407})
"""Statuses that concern the key and its account."""

PLAINLY_ASKED = frozenset({401, 403, 404, 405, 407, 410})
"""Statuses that a header, a path or a content of the request may be to blame for: a plain request shows it.

Not that an account has too little left (402), which is enough for a short request and not for a long one.
"""

NOT_SPOKEN = frozenset({404, 405, 501})
"""Statuses with which endpoints refuse a dialect that they do not speak."""

READ = 2000
"""Bytes of an error's body that may say that a model is missing."""

_NO_MODEL = re.compile(
    rb"model_?not_?found|no such model|unknown model|not_found_error.{0,40}model:"
    rb"|models?\W.{0,120}?(?:not exist|not found|is unknown|no access|not be found)",
    re.IGNORECASE | re.DOTALL,
)

NOT_THERE = frozenset({404, 405, 410})
"""Statuses of a wrong address or model, which a framework can only have sent if others reach it."""


def cause_of_status(status: int, *, others_answered: bool, provoked: bool = False) -> Cause | None:
    """The cause for the last status of a request, after all its repetitions; None for a success.

    Args:
        provoked: whether the endpoint answered a plain request after each of its refusals.
        status: 0 if none came: no connection, or no answer.
        others_answered: whether the endpoint answered other requests; for a status of 5xx, such as are as far in their
            conversations, while every attempt of this one, and there were several, failed in this way.
    """
    if 200 <= status < 300:
        return None
    if provoked:
        return "request"
    if status < 400 or status in KEY_REFUSED | OVERLOADED:
        return "endpoint"
    if status >= 500 or status in NOT_THERE:
        return "request" if others_answered else "endpoint"
    return "endpoint" if status in TRANSIENT else "request"


def lacks_model(body: bytes) -> bool:
    """Return whether the beginning of an error's body says that the model is missing, and not the path."""
    return _NO_MODEL.search(body[:READ]) is not None


def blames_request(status: int) -> bool:
    """Return whether a failure may be due to the request itself, so that it fails each time: 5xx, but not overload."""
    return status >= 500 and status not in OVERLOADED


def repeats_a_broken_call(request: ModelRequest) -> bool:
    """Return whether a request's conversation has a call of the model whose arguments are not JSON.

    An answer that is cut at its limit of tokens ends in such a call, and some servers answer with 500 when it is sent
    back to them, each time.
    """
    return any(_is_broken(call.arguments) for message in request.messages for call in message.calls)


def _is_broken(arguments: str) -> bool:
    return bool(arguments) and lenient_json(arguments, arguments) is arguments


def cause_of_problem(kind: str, code: object) -> Cause | None:
    """The cause for an response of status 2xx that is not an answer; None for one that is, even if a careless one.

    Args:
        kind: of the problem in the response's reading.
        code: of the error that the response reports, where it reports one.
    """
    if kind in ("html", "empty_body", "empty_stream"):
        return "endpoint"
    if kind not in ("error_body", "error_event"):
        return None
    status = int(code) if isinstance(code, int | str) and str(code).isdecimal() and len(str(code)) == 3 else 503
    return cause_of_status(status, others_answered=False) or "endpoint"
