"""Drivers of models under the kit: a right one conforms, and each deliberate defect fails the check about it."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

from support.cases import for_each
from support.checked_plugins import COUNT, check

from trialbed.contracts import (
    ModelDriver,
    ModelInfo,
    ModelReply,
    OpenedModel,
    TrialModel,
)
from trialbed.errors import UsageError
from trialbed.wire import ModelAnswer


class RightModel(TrialModel):
    async def answer(self, question: Any) -> Any:
        return ModelReply(ModelAnswer(content="Polly."))


class RightModels(ModelDriver):
    contract = "1"

    def names(self, settings: Any) -> Sequence[str]:
        return ("one", "two")

    def describe(self, name: str, settings: Any) -> ModelInfo:
        if name not in ("one", "two"):
            raise UsageError("there are only one and two")
        return ModelInfo(identity=name, deterministic=True)

    def begin(self, name: str, registration: Any) -> TrialModel | None:
        return RightModel()


class OldModels(RightModels):
    contract = "0"


class ChangingModels(RightModels):
    def describe(self, name: str, settings: Any) -> ModelInfo:
        return ModelInfo(identity=str(next(COUNT)))


class NowhereModels(RightModels):
    def begin(self, name: str, registration: Any) -> TrialModel | None:
        return None


class PlainUrlModels(RightModels):
    def open(self, name: str, settings: Any) -> Any:
        return _Opened()


class _Opened:
    async def __aenter__(self) -> OpenedModel:
        return OpenedModel(model="one", base_url="http://127.0.0.1:9")

    async def __aexit__(self, *_: object) -> None:
        pass


class TextModel(TrialModel):
    async def answer(self, question: Any) -> Any:
        return "Polly."


class TextModels(RightModels):
    def begin(self, name: str, registration: Any) -> TrialModel | None:
        return TextModel()


class DrawingModel(TrialModel):
    async def answer(self, question: Any) -> Any:
        return ModelReply(ModelAnswer(content=str(random.random())))


class DrawingModels(RightModels):
    def begin(self, name: str, registration: Any) -> TrialModel | None:
        return DrawingModel()


def test_a_right_driver_of_models_conforms() -> None:
    assert check("models", RightModels) == {}


@for_each(
    "models, name",
    [
        (OldModels, "its_contract_is_stated"),
        (ChangingModels, "every_name_is_described"),
        (NowhereModels, "a_model_that_opens_answers_somewhere"),
        (PlainUrlModels, "a_model_that_opens_answers_somewhere"),
        (TextModels, "answers_are_replies"),
        (DrawingModels, "it_is_as_deterministic_as_it_says"),
    ],
)
def test_each_defect_of_a_driver_of_models_is_named(models: type[ModelDriver], name: str) -> None:
    assert name in check("models", models, name)
