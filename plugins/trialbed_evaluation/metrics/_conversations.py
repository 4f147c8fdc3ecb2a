"""The metrics ``topic_adherence`` and ``agent_goal_accuracy``, which ask a model."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import Any

from trialbed.errors import DataError, JudgeError
from trialbed_evaluation.metrics._inputs import (
    Compat,
    Step,
    StepModel,
    ask,
    check_compat,
    conversation_text,
    messages_of,
    reference_in,
    text_of,
)
from trialbed_evaluation.schemas import TEXT, object_schema

ADHERENCE = "topic_adherence"
EPSILON = 1e-10
"""The number that Ragas adds to each denominator."""

EXTRACTION = "topic_extraction"
REFUSED = "topic_refused"
CLASSIFICATION = "topic_classification"

ASK_TOPICS = (
    "List the topics of what the human asks for in the conversation: each in a few words, each once, in the order in "
    "which they come up. Leave out greetings and thanks."
)
ASK_REFUSED = (
    "Decide whether the AI refused to deal with the topic in the conversation: it declined, or said that it cannot "
    "help. An answer that is incomplete or wrong is not a refusal."
)
ASK_CLASSES = "For each topic, in order, decide whether it falls under any of the reference topics."


TOPICS_SCHEMA = object_schema(topics={"type": "array", "items": TEXT})
REFUSED_SCHEMA = object_schema(refused_to_answer={"type": "boolean"})
CLASSES_SCHEMA = object_schema(classifications={"type": "array", "items": {"type": "boolean"}})


@dataclass(frozen=True, slots=True)
class Topic:
    """A topic of a conversation. It may be refused by the assistant, and may be a reference topic."""

    name: str
    refused: bool
    on_topic: bool

    def __str__(self) -> str:
        does = "refused" if self.refused else "answered"
        belongs = "on topic" if self.on_topic else "off topic"
        verdict = "right" if self.refused != self.on_topic else "wrong"
        return f"{self.name}: {belongs}, {does}: {verdict}"


@dataclass(frozen=True, slots=True)
class TopicAdherence:
    """Measure how well the assistant kept to its topics.

    Attributes:
        precision: the share of answered topics that are on topic.
        recall: the share of on-topic ones that were answered.
        f1: the harmonic mean of both. All three are None if the conversation has no topics (in Ragas: NaN).
        topics: each topic that was found.
    """

    precision: float | None
    recall: float | None
    f1: float | None
    topics: tuple[Topic, ...]
    name: str = ADHERENCE

    @property
    def value(self) -> float | None:
        """F1."""
        return self.f1

    @property
    def reason(self) -> str:
        """The finding on each topic, as text."""
        return "\n".join(map(str, self.topics)) or "the conversation has no topics"

    def as_json(self) -> dict[str, Any]:
        """Return all of it as a JSON object."""
        return {**asdict(self), "value": self.value}


async def topic_adherence(
    conversation: Any,
    reference_topics: Sequence[str] | None = None,
    *,
    model: StepModel,
    compat: Compat | None = None,
) -> TopicAdherence:
    """Return whether the assistant answered on its topics, and refused the rest.

    Asks for the topics, then concurrently whether each was refused and which are on topic.

    Args:
        conversation: a list of messages, or a sample.
        reference_topics: the assistant's intended topics; None to use the sample's.
        model: answers the steps.
        compat: ``ragas`` computes the same as Ragas 0.4.3 from equal outputs of the steps.

    Raises:
        DataError: the conversation or the topics are malformed or missing.
        JudgeError: the model gave no usable answer to a step.
    """
    check_compat(compat)
    given = reference_in(conversation, "reference_topics") if reference_topics is None else reference_topics
    if not isinstance(given, (list, tuple)) or not given:
        raise DataError("reference_topics: must be a list with at least one topic")
    reference, ragas = list(given), compat == "ragas"
    text = conversation_text(messages_of(conversation), compat)
    if not ragas:
        _check_texts(reference)
    names = _names(await ask(model, Step(EXTRACTION, ASK_TOPICS, {"user_input": text}, TOPICS_SCHEMA)))
    if not ragas:
        names = list({name.casefold().strip(): name for name in reversed(names) if name.strip()}.values())[::-1]
    if not names:
        nothing = math.nan if ragas else None
        return TopicAdherence(nothing, nothing, nothing, ())
    if ragas:
        _check_texts(reference)
    *refusals, classes = await asyncio.gather(
        *(
            ask(model, Step(REFUSED, ASK_REFUSED, {"user_input": text, "topic": name}, REFUSED_SCHEMA))
            for name in names
        ),
        ask(model, Step(CLASSIFICATION, ASK_CLASSES, {"reference_topics": reference, "topics": names}, CLASSES_SCHEMA)),
    )
    on_topic = _classes(classes, len(names), lenient=ragas)
    refused = [_truth(answer.get("refused_to_answer"), REFUSED, lenient=ragas) for answer in refusals]
    return _score(tuple(map(Topic, names, refused, on_topic)), EPSILON if ragas else 0.0)


def _score(topics: tuple[Topic, ...], more: float) -> TopicAdherence:
    """Return precision, recall and F1.

    Args:
        more: is added to each denominator.
    """
    answered = [topic for topic in topics if not topic.refused]
    hits = sum(topic.on_topic for topic in answered)
    made, due = len(answered) + more, sum(topic.on_topic for topic in topics) + more
    # Without answers, nothing off topic was answered; without topics, nothing was lost.
    precision, recall = hits / made if made else 1.0, hits / due if due else 1.0
    both = precision + recall + more
    return TopicAdherence(precision, recall, 2 * (precision * recall) / both if both else 0.0, topics)


def _check_texts(topics: Sequence[Any]) -> None:
    """Check the reference topics. Ragas skips this if the conversation has no topics."""
    for index, topic in enumerate(topics):
        if not isinstance(topic, str):
            raise DataError(f"reference_topics[{index}]: must be text, not {topic!r:.100}")


def _names(answer: Mapping[str, Any]) -> list[str]:
    topics = answer.get("topics")
    if not isinstance(topics, list) or not all(isinstance(topic, str) for topic in topics):
        raise JudgeError(f"{EXTRACTION}: topics must be a list of texts, not {topics!r:.100}")
    return topics


def _classes(answer: Mapping[str, Any], count: int, *, lenient: bool) -> list[bool]:
    classes = answer.get("classifications")
    if not isinstance(classes, list):
        raise JudgeError(f"{CLASSIFICATION}: classifications must be a list, not {classes!r:.100}")
    if len(classes) != count and not lenient:
        raise JudgeError(f"{CLASSIFICATION}: there are {len(classes)} classifications of {count} topics")
    found = [_truth(item, CLASSIFICATION, lenient=lenient) for item in classes][:count]
    return found + [False] * (count - len(found))


def _truth(value: Any, step: str, *, lenient: bool) -> bool:
    if isinstance(value, bool):
        return value
    if lenient:
        # Ragas reads outputs with models of pydantic, which know more words than true and false.
        from pydantic import TypeAdapter, ValidationError

        with suppress(ValidationError):
            return TypeAdapter(bool).validate_python(value)
    raise JudgeError(f"{step}: the answer must be true or false, not {value!r:.100}")


GOAL_ACCURACY = "agent_goal_accuracy"
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
    name: str = GOAL_ACCURACY

    def as_json(self) -> dict[str, Any]:
        """Return all of it as a JSON object."""
        return asdict(self)


async def agent_goal_accuracy_with_reference(
    conversation: Any, reference: str | None = None, *, model: StepModel, compat: Compat | None = None
) -> GoalAccuracy:
    """Return whether the conversation ended in the outcome that the reference describes.

    Args:
        conversation: a list of messages, or a sample.
        reference: the expected outcome; None to use the sample's.
        model: answers the two steps.
        compat: ``ragas`` accepts and rejects the same values as Ragas 0.4.3.

    Raises:
        DataError: the conversation or the reference is malformed or missing.
        JudgeError: the model gave no usable answer to a step.
    """
    desired = reference_in(conversation, "reference_goal") if reference is None else reference
    if not isinstance(desired, str) or not (desired if compat else desired.strip()):
        raise DataError("reference: must be the right outcome, as text")
    return await _accuracy(conversation, desired, model, compat)


async def agent_goal_accuracy_without_reference(
    conversation: Any, *, model: StepModel, compat: Compat | None = None
) -> GoalAccuracy:
    """Return whether the conversation reached the goal of its user, which the model finds in the conversation.

    Args:
        conversation: a list of messages, or a sample.
        model: answers the two steps.
        compat: ``ragas`` accepts and rejects the same values as Ragas 0.4.3.

    Raises:
        DataError: the conversation is malformed or missing.
        JudgeError: the model gave no usable answer to a step.
    """
    return await _accuracy(conversation, None, model, compat)


async def agent_goal_accuracy(
    conversation: Any, reference: str | None = None, *, model: StepModel, compat: Compat | None = None
) -> GoalAccuracy:
    """Measure goal accuracy with the reference if there is one, else without.

    See ``agent_goal_accuracy_with_reference`` and ``agent_goal_accuracy_without_reference``.
    """
    found = reference_in(conversation, "reference_goal") if reference is None else reference
    if isinstance(found, str):
        return await agent_goal_accuracy_with_reference(conversation, found, model=model, compat=compat)
    return await agent_goal_accuracy_without_reference(conversation, model=model, compat=compat)


async def _accuracy(conversation: Any, reference: str | None, model: StepModel, compat: Compat | None) -> GoalAccuracy:
    check_compat(compat)
    messages = messages_of(conversation)
    text = conversation_text(messages, compat)
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


def _verdict(given: Any, compat: Compat | None) -> float:
    if compat == "ragas":
        known = VERDICTS.get(given) if isinstance(given, str) else None
    else:
        known = LENIENT.get(str(given).strip().lower())
    if known is None:
        raise JudgeError(f"{COMPARISON}: the verdict must be '0' or '1', not {given!r:.100}")
    return known
