"""Answers that a model makes up, from an Api's documentation and from answers that the Api gave."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

from trialbed.contracts import Example, Simulation, Simulator
from trialbed.errors import ModelFailed, ModelUnavailable, SimulationError
from trialbed.model_access import Unreadable, read_object
from trialbed.records import Api, Json, Parameter
from trialbed_server.simulators.template import argument_problems
from trialbed_server.standard_names import canonical_json

REPLY_SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "properties": {"error": {"type": "string"}, "response": {}},
    "required": ["error", "response"],
    "additionalProperties": False,
}
"""The JSON Schema of a reply, for endpoints with structured output."""

_LONGEST_BROKEN = 200_000
"""Characters of a broken reply to search for its response."""

_BROKEN_OFF = re.compile(r'"response"\s*:\s*"(.*)', re.DOTALL)


def api_document(api: Api | None, ref: str) -> dict[str, Json]:
    """Return an Api's documentation in the form that StableToolBench's models read; only the name without any."""
    if api is None:
        return {"api_name": ref}
    return {
        "api_name": api.api_name,
        "api_description": api.description,
        "required_parameters": [_parameter(each) for each in api.required_parameters],
        "optional_parameters": [_parameter(each) for each in api.optional_parameters],
        "tool_description": api.tool_description,
        "tool_name": api.tool_name,
        "tool_category": api.category,
    }


def _parameter(parameter: Parameter) -> dict[str, Json]:
    return parameter.model_dump(mode="json", include={"name", "type", "description", "default"})


def read_simulation(reply: str) -> Simulation:
    """Return the answer in a reply.

    Raises:
        Unreadable: it has no answer, or an empty one.
    """
    return _simulation(read_object(reply, "error", "response").value)


def read_truncated(reply: str) -> Simulation:
    """Return the answer in a reply that may end too early, inside a response that is a text.

    Raises:
        Unreadable: it has no answer, or an empty one.
    """
    try:
        return read_simulation(reply)
    except Unreadable:
        if not (cut := _BROKEN_OFF.search(reply[:_LONGEST_BROKEN])):
            raise
        text = cut[1].rstrip('"}` \n').replace('\\"', '"').replace("\\n", "\n")
        return _simulation({"error": "", "response": text})


def _simulation(value: Mapping[str, Any]) -> Simulation:
    error, response = value["error"], value["response"]
    if not isinstance(error, str):
        raise Unreadable("its field error is not a text")
    if not error and response in ("", None, {}, []):
        raise Unreadable("its response is empty")
    try:
        json.dumps(response, allow_nan=False)
    except ValueError as problem:
        raise Unreadable("its response holds a number that is not finite") from problem
    return Simulation(error=error, response=response)


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


class ModelSimulator(Simulator):
    """A simulator that asks a model. Answers are kept for this model, these prompts and this documentation only.

    Attributes:
        system: its own system prompt, and ``version`` the version of its prompts.
        sampling: the settings for the model.
    """

    needs_model: ClassVar[bool] = True
    system: ClassVar[str]
    version: ClassVar[str]
    sampling: ClassVar[Mapping[str, Any]]

    @property
    def prompt(self) -> str:
        """The version of its prompts, or the digest of the system prompt that it was given."""
        given = self.system_prompt
        return self.version if given is None else f"given-{hashlib.sha256(given.encode()).hexdigest()[:16]}"

    @property
    def label(self) -> str:
        """The provenance and the model."""
        return self.provenance if self.model is None else f"{self.provenance}:{self.model.model}"

    def settings(self) -> Mapping[str, Json]:
        """Return the model and how it is asked."""
        return {"model": "" if self.model is None else self.model.model, "prompt": self.prompt, **self.sampling}

    def revision(self, api: Api | None) -> str:
        """Return a digest of the prompts, the settings and the documentation."""
        document = "" if api is None else api.model_dump_json()
        text = json.dumps([self.prompt, dict(self.settings()), document], sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    async def ask(self, ref: str, read: Callable[[str], Simulation], task: str, **more: Any) -> Simulation:
        """Ask the model for one answer.

        Raises:
            SimulationError: the model refuses, or gives no answer that can be read.
            ModelUnavailable: it cannot be asked, or its budget is used up.
        """
        if self.model is None:
            raise SimulationError(f"{ref}: the simulator {self.provenance!r} has no model")
        system = self.system_prompt or self.system
        messages = [{"role": "system", "content": system}, {"role": "user", "content": task}]
        try:
            return await self.model.ask_for(read, messages, **self.sampling, **more)
        except ModelUnavailable:
            raise
        except ModelFailed as error:
            raise SimulationError(f"{ref}: the simulator's model gave no answer: {error}") from error


class LlmSimulator(ModelSimulator):
    """Have a model answer, by the Api's documentation and up to five cached answers of it.

    The reply must be JSON with ``error`` and ``response``; the model gets a second chance if it is not.
    """

    provenance: ClassVar[str] = "llm"
    max_examples: ClassVar[int] = 5
    sampling: ClassVar[Mapping[str, Any]] = {"temperature": 0.0, "max_tokens": 1024}
    system: ClassVar[str] = SYSTEM
    version: ClassVar[str] = "llm-1"

    async def simulate(self, api: Api | None, ref: str, arguments: dict[str, Json]) -> Simulation:
        """Answer one call without examples."""
        return await self.simulate_like(api, ref, arguments, ())

    async def simulate_like(
        self, api: Api | None, ref: str, arguments: dict[str, Json], examples: Sequence[Example]
    ) -> Simulation:
        """Answer one call."""
        # Whether an Api does with other arguments than it documents is the model's to say.
        problems = argument_problems(api, arguments) if api is not None else ""
        task = _task(api_document(api, ref), examples, arguments, problems)
        return await self.ask(ref, read_simulation, task, schema=REPLY_SCHEMA)


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
    """Return the examples that fit, each as a line of JSON."""
    shown, left = [], EXAMPLE_CHARACTERS
    for example in examples:
        line = json.dumps({"input": example.arguments, "response": example.response}, ensure_ascii=False)
        if len(line) <= left:
            shown.append(line)
            left -= len(line)
    return shown
