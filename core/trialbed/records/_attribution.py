"""The fate of an expected call of a trial."""

from __future__ import annotations

from typing import Literal, get_args

from trialbed.records._base import SparseRecord
from trialbed.records._queries import GoldCall

Stage = Literal[
    "not offered",  # its Api was not among the tools that the model was offered
    "not called",  # the model did not ask for it
    "wrong arguments",  # the model asked for its Api, but not with its arguments
    "not made",  # the model asked for it, but the framework did not call the Api, or with other arguments
    "api failed",  # the Api answered with an error
    "trial failed",  # the trial ended in an error, before the call or after it
    "not used",  # nothing of the response is in the answer or in a later call
]
"""The stage that lost an expected call, in the order of its way to the answer."""

STAGES: tuple[Stage, ...] = get_args(Stage)


class AttributedCall(SparseRecord):
    """An expected call, and the stage that lost it.

    Attributes:
        lost: the first stage that it did not pass; None if its result was used.
        reason: why, in words; empty if it was not lost.
        requests: the requests to the model that show a loss by the framework, from 1. They are the request that was
            answered with the call, and the next, if there is one.
    """

    gold: GoldCall
    lost: Stage | None = None
    reason: str = ""
    requests: tuple[int, ...] = ()

    sparse = ("requests",)
