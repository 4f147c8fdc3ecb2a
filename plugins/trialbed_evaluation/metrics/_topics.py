"""``topic_adherence``: precision, recall and F1 from one evaluation."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import Any

from trialbed.errors import DataError, JudgeError
from trialbed_evaluation.conversations import Message
from trialbed_evaluation.metrics._inputs import Compat, check_compat, messages_of, reference_in
from trialbed_evaluation.metrics._rendering import render, render_as_ragas
from trialbed_evaluation.metrics._steps import Step, StepModel, ask
from trialbed_evaluation.schemas import TEXT, object_schema

NAME = "topic_adherence"
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
    """A topic of a conversation: whether the assistant refused it, and whether it is one of the reference topics."""

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
        precision: the share of the answered topics that are on topic.
        recall: the share of the topics on topic that were answered.
        f1: the harmonic mean of both. All three are None where the conversation has no topics (in Ragas: NaN).
        topics: each topic that was found.
    """

    precision: float | None
    recall: float | None
    f1: float | None
    topics: tuple[Topic, ...]
    name: str = NAME

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
    """Return whether the assistant answered what it is for, and refused the rest.

    Asks for the topics; then, at once, whether each was refused, and which are on topic.

    Args:
        conversation: a list of messages, or a sample.
        reference_topics: the topics that the assistant is for. None: those of the sample.
        model: answers the steps.
        compat: ``ragas`` computes what Ragas 0.4.3 does from the same outputs of the steps.

    Raises:
        DataError: the conversation or the topics are malformed or missing.
        JudgeError: the model gave no usable answer to a step.
    """
    check_compat(compat)
    reference = _reference(
        reference_in(conversation, "reference_topics") if reference_topics is None else reference_topics
    )
    messages = messages_of(conversation)
    ragas = compat == "ragas"
    if not ragas:
        _check_texts(reference)
    text = render_as_ragas(messages) if ragas else _check(messages)
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
    topics = tuple(map(Topic, names, refused, on_topic))
    return (_as_ragas if ragas else _score)(topics)


def _score(topics: tuple[Topic, ...]) -> TopicAdherence:
    hits, wrong, lost = _counts(topics)
    # Nothing off topic was answered where nothing was, and nothing was lost where nothing is on topic.
    precision = hits / (hits + wrong) if hits + wrong else 1.0
    recall = hits / (hits + lost) if hits + lost else 1.0
    f1 = 2 * precision * recall / (precision + recall) if precision + recall else 0.0
    return TopicAdherence(precision, recall, f1, topics)


def _as_ragas(topics: tuple[Topic, ...]) -> TopicAdherence:
    hits, wrong, lost = _counts(topics)
    precision = hits / (hits + wrong + EPSILON)
    recall = hits / (hits + lost + EPSILON)
    return TopicAdherence(precision, recall, 2 * (precision * recall) / (precision + recall + EPSILON), topics)


def _counts(topics: Sequence[Topic]) -> tuple[int, int, int]:
    """Answered and on topic, answered and off topic, refused and on topic."""
    hits = sum(1 for topic in topics if not topic.refused and topic.on_topic)
    wrong = sum(1 for topic in topics if not topic.refused and not topic.on_topic)
    lost = sum(1 for topic in topics if topic.refused and topic.on_topic)
    return hits, wrong, lost


def _reference(topics: Any) -> list[Any]:
    if not isinstance(topics, (list, tuple)) or not topics:
        raise DataError("reference_topics: must be a list with at least one topic")
    return list(topics)


def _check_texts(topics: Sequence[Any]) -> None:
    """Check the reference topics. Ragas does not where the conversation has no topics."""
    for index, topic in enumerate(topics):
        if not isinstance(topic, str):
            raise DataError(f"reference_topics[{index}]: must be text, not {topic!r:.100}")


def _check(messages: Sequence[Message]) -> str:
    if not messages:
        raise DataError("conversation: has no messages")
    return render(messages)


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
