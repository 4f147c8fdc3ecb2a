"""Deterministic answers without a model, from the documentation of responses."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from typing import Any, ClassVar

from trialbed.contracts import Simulation, Simulator
from trialbed.records import Api, Json
from trialbed.wire.json_schemas import schema_problems
from trialbed_server.cache.keys import canonical_json
from trialbed_server.simulators._skeleton import Filler, Values, parsed_skeleton

VERSION = "1"
"""The version of the way answers are made; part of the revision, so that a change makes old answers unused."""

MAX_KEYS = 5
MAX_PROBLEMS = 5
_WORD = re.compile(r"[a-z]{5,20}")


class TemplateSimulator(Simulator):
    """Fills the Api's ``template_response``, or a response named after its description's words.

    The same call gives the same answer everywhere. Every answer has a text or number that depends on the Api
    and all arguments. Arguments that violate the Api's schema are an API error.
    """

    provenance: ClassVar[str] = "template"

    def revision(self, api: Api | None) -> str:
        """A digest of the way answers are made and of the Api's documentation."""
        document = "" if api is None else api.model_dump_json()
        return hashlib.sha256(f"{VERSION}:{document}".encode()).hexdigest()[:16]

    async def simulate(self, api: Api | None, ref: str, arguments: dict[str, Json]) -> Simulation:
        """Answer one call; without documentation nothing is checked and the answer is generic."""
        problems = argument_problems(api, arguments) if api is not None else ""
        if problems:
            return Simulation(error=f"Invalid arguments for {ref}: {problems}")
        return Simulation(response=_response(api, f"{ref} {canonical_json(arguments)}"))


def _response(api: Api | None, seed: str) -> Any:
    values = Values(seed)
    skeleton = _skeleton(api)
    filler = Filler(values)
    response = filler.fill(skeleton)
    return response if filler.distinctive else _with_reference(response, values.text("reference"))


def _skeleton(api: Api | None) -> Any:
    template = parsed_skeleton(api.template_response) if api is not None else None
    if template is not None:
        return template
    words = _WORD.findall(f"{api.description} {api.api_name}".lower()) if api is not None else []
    return dict.fromkeys(list(dict.fromkeys(words))[:MAX_KEYS], "str") or {"result": "str"}


def _with_reference(response: Any, reference: str) -> Any:
    if isinstance(response, dict):
        return {**response, "reference": reference}
    if isinstance(response, list):
        return [*response, {"reference": reference}]
    return {"result": response, "reference": reference}


def argument_problems(api: Api, arguments: dict[str, Any]) -> str:
    """The problem with the arguments, in one line; empty if they fit the Api's schema.

    A default that the documentation gives fits, also where it is not of its parameter's type.
    """
    found = schema_problems(api.parameters_schema(), arguments, most=100)
    defaults = {item.name: item.default for item in (*api.required_parameters, *api.optional_parameters)}
    named = sorted(
        (list(map(str, problem.path)), problem.message)
        for problem in found
        if not problem.path or not _is_default(defaults, arguments, str(problem.path[0]))
    )
    return "; ".join(f"{'.'.join(path)}: {message}" if path else message for path, message in named[:MAX_PROBLEMS])


def _is_default(defaults: Mapping[str, Any], arguments: Mapping[str, Any], name: str) -> bool:
    default, given = defaults.get(name), arguments.get(name)
    return default is not None and type(given) is type(default) and given == default
