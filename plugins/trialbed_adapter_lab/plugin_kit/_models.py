"""The checks of a driver of models."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

from trialbed.contracts import (
    MODEL_CONTRACT,
    ModelDriver,
    ModelInfo,
    ModelQuestion,
    ModelReply,
    OpenedModel,
    ReplyMissing,
    TrialModel,
)
from trialbed.errors import TrialbedError
from trialbed.records import TrialRegistration
from trialbed.settings import RunSettings
from trialbed.wire.dialects import CHAT, dialect
from trialbed_adapter_lab.conformance import expect, may, must
from trialbed_adapter_lab.differences import show
from trialbed_adapter_lab.errors import CheckFailed, NotTried
from trialbed_adapter_lab.plugin_kit._check import PluginSubject, expect_kind, expect_usage_error
from trialbed_adapter_lab.plugin_kit._samples import sample_queries

MOST = 20
STARTS = 300.0
"""Seconds that a model may take to load."""

UNKNOWN = "no-such-model"
REQUEST = {"model": "sample", "messages": [{"role": "user", "content": "Which city is it?"}]}


def _make(subject: PluginSubject) -> ModelDriver:
    driver = cast("ModelDriver", subject.thing())
    driver.scheme = subject.name
    return driver


async def _names(subject: PluginSubject, driver: ModelDriver) -> Sequence[str]:
    if subject.part:
        return [subject.part]
    found = await subject.call("the names", driver.names, RunSettings(), allowed=(TrialbedError,))
    return list(found)[:MOST]


async def _one(subject: PluginSubject) -> tuple[ModelDriver, str, ModelInfo]:
    driver = _make(subject)
    for name in await _names(subject, driver):
        return driver, name, await subject.call(f"a description of {name}", driver.describe, name, RunSettings())
    raise NotTried("it lists no model here; name one: SCHEME:NAME")


@must(reason="A driver of an older contract would be called wrongly.", hint=f'State contract = "{MODEL_CONTRACT}".')
async def its_contract_is_stated(subject: PluginSubject) -> None:
    """It states the version of the contract that it was written for."""
    stated = getattr(subject.thing, "contract", None)
    expect(stated == MODEL_CONTRACT, f"contract = {MODEL_CONTRACT!r}", stated)


@must(
    reason="Completion, bench models and bench run ask for them.",
    hint="Return texts without the scheme; raise a TrialbedError where they cannot be listed.",
)
async def every_name_is_described(subject: PluginSubject) -> None:
    """The names that it lists are texts, and each of them is described, alike twice."""
    driver = _make(subject)
    for name in await _names(subject, driver):
        expect_kind("each name", name, str)
        infos = [await subject.call(f"a description of {name}", driver.describe, name, RunSettings()) for _ in "12"]
        expect_kind(f"the description of {name}", infos[0], ModelInfo)
        shown = [repr(info) for info in infos]
        expect(shown[0] == shown[1], f"{shown[0]} again", shown[1])
    expect_kind("the advice", await subject.call("advice", driver.advice), str)


@may(
    reason="A misspelt name is found before a run.",
    hint="Raise trialbed.errors.UsageError, and name the models that there are.",
)
async def unknown_names_are_refused(subject: PluginSubject) -> None:
    """A name that it does not know is a UsageError."""
    await expect_usage_error(subject, repr(UNKNOWN), _make(subject).describe, UNKNOWN, RunSettings())


@must(reason="The gateway would not know whom to ask.", hint="Give base_url in open, or a TrialModel in begin.")
async def a_model_that_opens_answers_somewhere(subject: PluginSubject) -> None:
    """An open model has an endpoint that ends in /v1, or answers in the gateway; it can be closed and opened again."""
    for _ in range(2):
        trial = await _trial(subject)
        if trial.opened.base_url is None:
            expect_kind("what begin returns", trial.model, TrialModel)
        else:
            expect(trial.opened.base_url.endswith("/v1"), "a base_url that ends in /v1", trial.opened.base_url)


@dataclass(frozen=True)
class _Trial:
    """A model that was open for one trial, and its reply to one request."""

    info: ModelInfo
    opened: OpenedModel
    model: TrialModel | None = None
    reply: Any = None


async def _trial(subject: PluginSubject) -> _Trial:
    driver, name, info = await _one(subject)
    if info.at_endpoint:
        raise NotTried("its models are at the endpoint of a run")
    what = f"{name} open, in a trial, and closed"
    found: _Trial = await subject.call(what, lambda: _try(driver, name, info), seconds=STARTS)
    return found


async def _try(driver: ModelDriver, name: str, info: ModelInfo) -> _Trial:
    async with driver.open(name, RunSettings()) as opened:
        expect_kind("what open yields", opened, OpenedModel)
        if opened.base_url is not None:
            return _Trial(info, opened)
        # What opened it says how it is called in the gateway.
        own = opened.model.removeprefix(f"{driver.scheme}:")
        query = sample_queries()[0]
        registration = TrialRegistration(trial="sample-trial", model=opened.model, apis=query.apis, seed=7)
        model = driver.begin(own, registration)
        return _Trial(info, opened, model, None if model is None else await _reply(model))


async def _reply(model: TrialModel) -> Any:
    spoken = dialect(CHAT)
    try:
        return await model.answer(ModelQuestion(spoken.read_request(dict(REQUEST)), spoken, 0))
    except ReplyMissing:
        return None


@must(
    reason="The gateway writes it in the dialect of the request.",
    hint="Return a ModelReply with a ModelAnswer; None leaves it to the endpoint.",
)
async def answers_are_replies(subject: PluginSubject) -> None:
    """A model that answers in the gateway gives a reply that its dialect can write, or None."""
    reply = (await _trial(subject)).reply
    if reply is None:
        return
    expect_kind("the answer", reply, ModelReply)
    spoken = dialect(CHAT)
    try:
        body = reply.body or b"".join(spoken.write_answer(reply.answer, spoken.read_request(dict(REQUEST))))
    except Exception as error:
        raise CheckFailed(f"expected an answer that can be written; seen: {type(error).__name__}: {error}") from error
    expect(bool(body), "an answer of some bytes", "none")
    waits = reply.first >= 0 and reply.pause >= 0
    expect(waits, "times from 0 on", f"first {reply.first}, pause {reply.pause}")


@must(
    reason="Answers are kept, and given again, on its word.",
    hint="Derive all of the answer from the trial and the request, or say deterministic=None.",
)
async def it_is_as_deterministic_as_it_says(subject: PluginSubject) -> None:
    """A model that is said to be deterministic gives two equal trials equal answers."""
    first, again = await _trial(subject), await _trial(subject)
    if first.model is None or not first.info.deterministic:
        raise NotTried("it does not say that it is deterministic, or answers at an endpoint")
    texts = [
        None if reply is None else (reply.answer.content, repr(reply.answer.calls))
        for reply in (first.reply, again.reply)
    ]
    expect(texts[0] == texts[1], f"{show(texts[0])} again", show(texts[1]))
