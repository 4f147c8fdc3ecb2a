"""One request at the wire: how it is sent, when what came back, and what that amounts to.

Whatever an endpoint does becomes a ``Reading`` with exactly one terminal outcome; nothing here raises for it. An answer
is read by a strict state machine, streamed (``_sse``, ``_streams``, ``_assembly``) or whole (``_bodies``).

Not here: how a request is made from a line of the test set (``targets``), when there is another attempt (the run's
retries), and what is kept of an answer (``results``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from trialbed import _lazy

if TYPE_CHECKING:
    from trialbed.verification.wire._attempts import Attempt, milliseconds
    from trialbed.verification.wire._bodies import first_choice, first_message
    from trialbed.verification.wire._exchange import Exchange, trace
    from trialbed.verification.wire._outcomes import ANSWERED, Outcome, Problem, Reading
    from trialbed.verification.wire._requests import Prepared
    from trialbed.verification.wire._usage import hidden_tokens, usage_of

_HOMES = {
    "_attempts": ("Attempt", "milliseconds"),
    "_bodies": ("first_choice", "first_message"),
    "_exchange": ("Exchange", "trace"),
    "_outcomes": ("ANSWERED", "Outcome", "Problem", "Reading"),
    "_requests": ("Prepared",),
    "_usage": ("hidden_tokens", "usage_of"),
}

__all__ = [
    "ANSWERED",
    "Attempt",
    "Exchange",
    "Outcome",
    "Prepared",
    "Problem",
    "Reading",
    "first_choice",
    "first_message",
    "hidden_tokens",
    "milliseconds",
    "trace",
    "usage_of",
]

__getattr__, __dir__ = _lazy.names(__name__, _HOMES)
