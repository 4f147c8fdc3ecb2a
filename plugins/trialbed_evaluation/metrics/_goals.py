"""``agent_goal_accuracy``, with and without a reference."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from trialbed.errors import DataError, JudgeError
from trialbed_evaluation.conversations import Message
from trialbed_evaluation.metrics._inputs import Compat, check_compat, messages_of, reference_in
from trialbed_evaluation.metrics._rendering import render, render_as_ragas
from trialbed_evaluation.metrics._steps import Step, StepModel, ask, text_of
from trialbed_evaluation.schemas import TEXT, object_schema

NAME = "agent_goal_accuracy"
INFERENCE = "infer_goal_outcome"
COMPARISON = "compare_outcome"

ASK_GOAL = (
    "Say, in a sentence each, what the human wanted to have done in the conversation (user_goal), and what state "
    "things were in at its end (end_state). Take from tool outputs, not from the AI's words, what was really done."
)
ASK_SAME = (
    "Decide whether the outcome that was arrived at is the desired outcome. The verdict is '1' if a user who "
    "desired the one would be content with the other, and '0' if not. Give the reason in a sentence."
)
GOAL_SCHEMA = object_schema(user_goal=TEXT, end_state=TEXT)
SAME_SCHEMA = object_schema(reason=TEXT, verdict={"enum": ["0", "1"]})
VERDICTS: Mapping[Any, float] = {"0": 0.0, "1": 1.0}
LENIENT: Mapping[Any, float] = {"0": 0.0, "1": 1.0, "false": 0.0, "true": 1.0, "no": 0.0, "yes": 1.0}


@dataclass(frozen=True, slots=True)
class GoalAccuracy:
    """The verdict on whether the user's goal was reached.

    Attributes:
        value: 1 if it was, else 0.
        reason: the model's.
        desired: the outcome that was wanted: the reference, or the goal that the model found in the conversation.
        arrived: the outcome that the model found.
    """

    value: float
    reason: str
    desired: str
    arrived: str
    name: str = NAME

    def as_json(self) -> dict[str, Any]:
        """Return all of it as a JSON object."""
        return asdict(self)


async def agent_goal_accuracy_with_reference(
    conversation: Any, reference: str | None = None, *, model: StepModel, compat: Compat | None = None
) -> GoalAccuracy:
    """Return whether the conversation ended in the outcome that the reference describes.

    Args:
        conversation: a list of messages, or a sample.
        reference: the outcome that is right. None: that of the sample.
        model: answers the two steps.
        compat: ``ragas`` accepts and refuses what Ragas 0.4.3 does.

    Raises:
        DataError: the conversation or the reference is malformed or missing.
        JudgeError: the model gave no usable answer to a step.
    """
    desired = reference_in(conversation, "reference") if reference is None else reference
    if not isinstance(desired, str) or not (desired if compat else desired.strip()):
        raise DataError("reference: must be the outcome that is right, as text")
    return await _accuracy(conversation, desired, model, compat)


async def agent_goal_accuracy_without_reference(
    conversation: Any, *, model: StepModel, compat: Compat | None = None
) -> GoalAccuracy:
    """Return whether the conversation ended in what its user wanted, as the model finds it in the conversation.

    Args:
        conversation: a list of messages, or a sample.
        model: answers the two steps.
        compat: ``ragas`` accepts and refuses what Ragas 0.4.3 does.

    Raises:
        DataError: the conversation is malformed or missing.
        JudgeError: the model gave no usable answer to a step.
    """
    return await _accuracy(conversation, None, model, compat)


async def agent_goal_accuracy(
    conversation: Any, reference: str | None = None, *, model: StepModel, compat: Compat | None = None
) -> GoalAccuracy:
    """``agent_goal_accuracy_with_reference`` where there is one, else ``agent_goal_accuracy_without_reference``."""
    found = reference_in(conversation, "reference") if reference is None else reference
    if isinstance(found, str):
        return await agent_goal_accuracy_with_reference(conversation, found, model=model, compat=compat)
    return await agent_goal_accuracy_without_reference(conversation, model=model, compat=compat)


async def _accuracy(conversation: Any, reference: str | None, model: StepModel, compat: Compat | None) -> GoalAccuracy:
    check_compat(compat)
    messages = messages_of(conversation)
    text = _text(messages, compat)
    outcome = await ask(model, Step(INFERENCE, ASK_GOAL, {"workflow": text}, GOAL_SCHEMA))
    goal, arrived = text_of(outcome, "user_goal", INFERENCE), text_of(outcome, "end_state", INFERENCE)
    desired = goal if reference is None else reference
    inputs = {"desired_outcome": desired, "arrived_outcome": arrived}
    compared = await ask(model, Step(COMPARISON, ASK_SAME, inputs, SAME_SCHEMA))
    value = _verdict(compared.get("verdict"), compat)
    reason = compared.get("reason")
    if compat == "ragas":
        reason = text_of(compared, "reason", COMPARISON)
    return GoalAccuracy(value, reason if isinstance(reason, str) else "", desired, arrived)


def _text(messages: tuple[Message, ...], compat: Compat | None) -> str:
    if compat == "ragas":
        return render_as_ragas(messages)
    if not messages:
        raise DataError("conversation: has no messages")
    return render(messages)


def _verdict(given: Any, compat: Compat | None) -> float:
    if compat == "ragas":
        known = VERDICTS.get(given) if isinstance(given, str) else None
    else:
        known = LENIENT.get(str(given).strip().lower())
    if known is None:
        raise JudgeError(f"{COMPARISON}: the verdict must be '0' or '1', not {given!r:.100}")
    return known
