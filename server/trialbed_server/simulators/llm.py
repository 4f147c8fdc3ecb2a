"""Answers that a model makes up, from an Api's documentation and from answers that the Api gave."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import ClassVar

from trialbed.contracts import Example, Simulation, Simulator
from trialbed.errors import ModelFailed, ModelUnavailable, SimulationError
from trialbed.records import Api, Json
from trialbed_server.cache.keys import canonical_json
from trialbed_server.simulators._descriptions import (
    REPLY_SCHEMA,
    api_document,
    model_settings,
    read_simulation,
    revision_of,
)
from trialbed_server.simulators.template import argument_problems

PROMPT = "llm-1"
"""The version of the prompts; part of the revision."""

MAX_TOKENS = 1024
EXAMPLES = 5
EXAMPLE_CHARACTERS = 2048
"""Characters of all examples together; longer answers are left out."""

SYSTEM = """\
You stand in for a web API in a test of software. You get the documentation of one API, answers that it gave earlier \
if there are any, and the input of one call. Write the answer that the API would give to this call.

Reply with one JSON object and nothing else: {"error": "", "response": ...}

- "response" is what the API returns, in the same form as the earlier answers, or as the documentation describes it. \
It has concrete, plausible values that fit the input: 100 to 200 words at most.
- "error" stays empty if the call can be answered. If its input cannot be (a required value is missing, or names \
nothing that could exist), "error" says why, as the API would, and "response" is an empty text.
- Do not mention that the answer is made up.

Example: the documentation describes an API that returns the exchange rate of two currencies, and the input is \
{"from": "EUR", "to": "CHF"}. A good reply is \
{"error": "", "response": {"base": "EUR", "target": "CHF", "rate": 0.9437, "date": "2024-03-18"}}"""


class LlmSimulator(Simulator):
    """Has a model answer, by the Api's documentation and up to five cached answers of it.

    The reply must be JSON with ``error`` and ``response``; one that is not is asked for once more. Answers are kept
    for this model, this version of the prompts and this documentation only.
    """

    provenance: ClassVar[str] = "llm"
    needs_model: ClassVar[bool] = True
    max_examples: ClassVar[int] = EXAMPLES

    @property
    def label(self) -> str:
        """``llm:<model>``."""
        return self.provenance if self.model is None else f"{self.provenance}:{self.model.model}"

    def settings(self) -> Mapping[str, Json]:
        """The model and how it is asked."""
        return model_settings(self.model, PROMPT, temperature=0.0, max_tokens=MAX_TOKENS)

    def revision(self, api: Api | None) -> str:
        """A digest of the prompts, the settings and the documentation."""
        return revision_of(PROMPT, self.settings(), api)

    async def simulate(self, api: Api | None, ref: str, arguments: dict[str, Json]) -> Simulation:
        """Answer one call without examples."""
        return await self.simulate_like(api, ref, arguments, ())

    async def simulate_like(
        self, api: Api | None, ref: str, arguments: dict[str, Json], examples: Sequence[Example]
    ) -> Simulation:
        """Answer one call.

        Raises:
            SimulationError: the model refuses, or gives no answer that can be read.
            ModelUnavailable: it cannot be asked, or its budget is used up.
        """
        # Whether an Api does with other arguments than it documents is the model's to say.
        problems = argument_problems(api, arguments) if api is not None else ""
        if self.model is None:
            raise SimulationError(f"{ref}: the simulator 'llm' has no model")
        messages = [
            {"role": "system", "content": SYSTEM},
            {"role": "user", "content": _task(api_document(api, ref), examples, arguments, problems)},
        ]
        try:
            return await self.model.ask_for(read_simulation, messages, schema=REPLY_SCHEMA, max_tokens=MAX_TOKENS)
        except ModelUnavailable:
            raise
        except ModelFailed as error:
            raise SimulationError(f"{ref}: the simulator's model gave no answer: {error}") from error


def _task(document: dict[str, Json], examples: Sequence[Example], arguments: dict[str, Json], problems: str) -> str:
    parts = [f"Documentation:\n{json.dumps(document, ensure_ascii=False)}"]
    shown = _example_lines(examples)
    if shown:
        parts.append("Earlier answers:\n" + "\n".join(shown))
    if problems:
        parts.append(f"The input does not fit the documentation:\n{problems}")
    parts.append(f"Input:\n{canonical_json(arguments)}")
    return "\n\n".join(parts)


def _example_lines(examples: Sequence[Example]) -> list[str]:
    """The examples that fit, each as a line of JSON."""
    shown, left = [], EXAMPLE_CHARACTERS
    for example in examples:
        line = json.dumps({"input": example.arguments, "response": example.response}, ensure_ascii=False)
        if len(line) <= left:
            shown.append(line)
            left -= len(line)
    return shown
