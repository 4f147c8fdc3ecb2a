"""A model with right answers. Faults turn it into a careless vendor."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any, NamedTuple

from trialbed_scripted._requests import ReceivedRequest
from trialbed_scripted._responses import Response, fail
from trialbed_scripted._turns import ModelTurn
from trialbed_scripted.vendor._answers import decide_turn, digest_of, solve_turn
from trialbed_scripted.vendor._solutions import Solutions


class AnswerSetting(NamedTuple):
    """The effect and the default of a setting of right answers."""

    text: str
    default: Any


ANSWERS: MappingProxyType[str, AnswerSetting] = MappingProxyType(
    {
        "share": AnswerSetting("share of the requests with tools that get a call, 0 to 1", 0.45),
        "invert": AnswerSetting("whether these decisions are reversed", False),
        "flips": AnswerSetting("share of decisions that are reversed, drawn anew each time", 0.0),
        "test_set": AnswerSetting("a file of bench verify --write-test-set, whose right answers are given", ""),
        "first_token": AnswerSetting("seconds before the first token", 0.0),
        "gap": AnswerSetting("seconds before each further event", 0.0),
    }
)
"""The settings of right answers."""


class SimulatedVendor:
    """Answers the requests of a test set with their known answers, and others with a call for a share of them.

    Args:
        answers: settings by the keys of ``ANSWERS``.
        seed: the seed for all random choices.
    """

    def __init__(self, answers: Mapping[str, Any] = MappingProxyType({}), seed: int = 0) -> None:
        self._answers = {name: setting.default for name, setting in ANSWERS.items()} | dict(answers)
        self._seed = seed
        self._solutions = Solutions.read(self._answers["test_set"])

    def __call__(self, request: ReceivedRequest) -> ModelTurn | Response:
        asked = request.asked
        flipped = request.draw(b"flip", self._seed).random() < self._answers["flips"]
        inverted = flipped is not self._answers["invert"]
        solution = self._solutions.of(asked)
        wrong = [name for name in (solution or {}).get("refusal", ()) if name in request.document]
        if wrong:
            return fail(400, f"wrong: {', '.join(wrong)}", "invalid_request_error", spoken=request.spoken)
        if solution is None:
            turn = decide_turn(asked, self._answers["share"], inverted=inverted)
        else:
            turn = solve_turn(solution, asked, request.draw(b"sample", self._seed), inverted=inverted)
        # Every answer has a unique id, as if the vendor had no cache.
        return replace(turn, id=f"{digest_of(asked)[:12]}-{request.attempt}")
