"""The suite *parameters*: whether temperature, seed, n and logprobs are obeyed, ignored or refused."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from trialbed_verify.suites._suite import Line, Suite, line, text_answer, user

NAME = "parameters"

REPEATS = 4
PROMPTS = (
    "Invent a name for a lighthouse and describe the view from its top in two sentences.",
    "Write the opening sentence of a story that begins in a repair shop for clocks.",
    "Describe an animal that does not exist, in two sentences, with its name.",
)
"""Questions with many good answers, so that sampling shows."""

VARIATIONS = (
    "The first of many possible answers, about a heron made of tin.",
    "Another answer, in which the fog comes in from the left.",
    "A third one: the clocks all stood still but one.",
    "Something else again, with a green door and a quiet dog.",
    "The fifth: nobody had climbed these stairs since spring.",
    "A sixth one, told by the harbour master's niece.",
)
"""Answers of simulated vendors; how they choose among them depends on temperature and seed."""


def _cases() -> Iterator[Line]:
    for number, prompt in enumerate(PROMPTS, 1):
        for arm, request in ARMS.items():
            for repeat in range(1, REPEATS + 1):
                yield _case(number, prompt, arm, repeat, request)
        for count in (2, 3):
            yield _choices(number, prompt, count)
        for alternatives in (1, 5):
            yield _logprobs(number, prompt, alternatives)


ARMS: dict[str, dict[str, Any]] = {
    "temperature 0": {"temperature": 0},
    "temperature 1.5": {"temperature": 1.5},
    "one seed": {"temperature": 1, "seed": 20_270_131},
    "other seeds": {"temperature": 1},
}
"""Settings under which each prompt is sent several times."""


def _case(number: int, prompt: str, arm: str, repeat: int, request: dict[str, Any]) -> Line:
    parameter = "temperature" if arm.startswith("temperature") else "seed"
    own = {"seed": 1000 + repeat} if arm == "other seeds" else {}
    made = _line(f"{arm.replace(' ', '-')}-{number}-{repeat}", prompt, parameter, {"answered": True}, **request, **own)
    sent = {**request, **own}
    made["suite"]["probe"] = {"parameter": parameter, "arm": arm, "prompt": number, "sent": sent}
    return made


def _choices(number: int, prompt: str, count: int) -> Line:
    return _line(f"n-{count}-{number}", prompt, "n", {"choices": count}, n=count)


def _logprobs(number: int, prompt: str, alternatives: int) -> Line:
    case = f"logprobs-{alternatives}-{number}"
    return _line(case, prompt, "logprobs", {"logprobs": alternatives}, logprobs=True, top_logprobs=alternatives)


def _line(case: str, prompt: str, parameter: str, expect: dict[str, Any], **request: Any) -> Line:
    return line(
        NAME,
        case,
        [user(prompt)],
        expect=expect,
        by={"parameter": parameter},
        answer=text_answer(VARIATIONS[0]) | {"variations": list(VARIATIONS)},
        stream=False,
        max_tokens=120,
        **request,
    )


SUITE = Suite(
    NAME,
    "whether temperature, seed, n and logprobs are obeyed, ignored or refused",
    len(PROMPTS) * (len(ARMS) * REPEATS + 4),
    _cases,
)
