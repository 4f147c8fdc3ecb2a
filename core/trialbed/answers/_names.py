"""The names by which an answer may call an Api."""

from __future__ import annotations

from collections.abc import Iterable

from trialbed.records import Answer, ApiRef, ToolSpec


def answer_names(tools: Iterable[ToolSpec]) -> dict[str, ApiRef]:
    """Tool names and original titles of the offered tools, to look names up in; names are never split.

    A title that two different (tool_name, api_name) pairs share is not used. A tool's name wins over
    another's title.
    """
    specs = list(tools)
    names: dict[str, ApiRef] = {}
    shared: set[str] = set()
    for spec in specs:
        known = names.setdefault(spec.api.title, spec.api)
        if known.pair != spec.api.pair:
            shared.add(spec.api.title)
    for title in shared:
        del names[title]
    names.update({spec.name: spec.api for spec in specs})
    return names


def look_up_claims(answer: Answer, apis: Iterable[ApiRef], tools: Iterable[ToolSpec] = ()) -> Answer:
    """Return the answer with its claims that name no Api looked up: by the names of tools, then by titles of Apis.

    Args:
        apis: further ones: an agent that posts by itself may call, and truly report, an Api that it was not offered.
        tools: those of the trial.
    """
    titles = {api.title: api for api in apis} | answer_names(tools)
    calls = tuple(
        call.model_copy(update={"api": titles[call.name]}) if call.api is None and call.name in titles else call
        for call in answer.calls
    )
    return answer.model_copy(update={"calls": calls})
