"""Deterministic answers without a model, from the documentation of responses."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from typing import Any, ClassVar

from trialbed.contracts import Simulation, Simulator
from trialbed.records import Api, Json
from trialbed.wire.json_schemas import schema_problems
from trialbed_server.standard_names import canonical_json

MAX_ITEMS = 3
"""The longest list that is made, since an answer has to fit a model's context."""

MAX_LEAVES = 200
"""Leaves after which every list has one item."""

LENGTH = "_list_length"
ONE_OF = "_one_of"
"""The only key of an object that stands for any value of a list."""

_LIST = re.compile(r"list of (\w+) with length (\d+)")
_LETTERS = "bcdfghjkmnpqrstvwxz"
_NOT_WORD = re.compile(r"[^A-Za-z0-9]+")


class Filler:
    """Fills the skeleton of one call's answer.

    Args:
        seed: names the call: the Api and its canonical arguments.

    Attributes:
        distinctive: whether a leaf was made that an answer can be held to.
    """

    def __init__(self, seed: str) -> None:
        self.distinctive = False
        self._seed = seed
        self._count = 0
        self._leaves = 0

    def text(self, label: str) -> str:
        """Return a word from the label with a code of six consonants, which no query contains by chance."""
        number, code = self._number(), []
        for _ in range(6):
            number, index = divmod(number, len(_LETTERS))
            code.append(_LETTERS[index])
        return f"{_NOT_WORD.sub(' ', label).strip().lower()[:40] or 'value'} {''.join(code)}"

    def _number(self) -> int:
        self._count += 1
        return int.from_bytes(hashlib.sha256(f"{self._seed}#{self._count}".encode()).digest()[:8])

    def fill(self, skeleton: Any, label: str = "value") -> Any:
        """Return the value that this skeleton stands for; ``label`` is the nearest key above it."""
        if isinstance(skeleton, dict):
            choices = skeleton.get(ONE_OF)
            if len(skeleton) == 1 and isinstance(choices, list) and choices:
                self._leaves += 1
                return choices[self._number() % len(choices)]
            return {key: self.fill(item, key) for key, item in skeleton.items() if key != LENGTH}
        if isinstance(skeleton, list):
            return self._list(skeleton, label)
        self._leaves += 1
        return self._leaf(skeleton, label) if isinstance(skeleton, str) else skeleton

    def _list(self, skeleton: list[Any], label: str) -> list[Any]:
        if len(skeleton) != 1:
            return [self.fill(item, label) for item in skeleton]
        (item,) = skeleton
        if isinstance(item, str) and (match := _LIST.fullmatch(item)):
            return self._repeat(match[1], int(match[2]), label)
        length = item.get(LENGTH, 1) if isinstance(item, dict) else 1
        return self._repeat(item, length if isinstance(length, int) else 1, label)

    def _repeat(self, item: Any, length: int, label: str) -> list[Any]:
        most = MAX_ITEMS if self._leaves < MAX_LEAVES else 1
        return [self.fill(item, label) for _ in range(min(length, most))]

    def _leaf(self, word: str, label: str) -> Any:
        match word:
            case "int":
                self.distinctive = True
                return 10_000 + self._number() % 90_000
            case "float":
                self.distinctive = True
                # Neither of its two decimals is 0.
                return float(f"{1000 + self._number() % 9000}.{11 + self._number() % 9}")
            case "bool":
                return self._number() % 2 == 0
            case "NoneType":
                return None
            case "list" | "empty list":
                return []
            case "dict" | "empty dict":
                return {}
        if match := _LIST.fullmatch(word):
            return self._repeat(match[1], int(match[2]), label)
        self.distinctive = True
        return self.text(label)


def parsed_skeleton(template: Any) -> Any:
    """Return the skeleton of a ``template_response``, parsed if it is a text; None for texts that are not JSON."""
    if not isinstance(template, str):
        return template
    try:
        parsed = json.loads(template)
    except (ValueError, RecursionError):
        return template if _LIST.fullmatch(template) else None
    return parsed if isinstance(parsed, dict | list) else None


VERSION = "1"
"""The version of the way answers are made. It is part of the revision: a change makes old answers unused."""

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
        """Return a digest of the way answers are made and of the Api's documentation."""
        document = "" if api is None else api.model_dump_json()
        return hashlib.sha256(f"{VERSION}:{document}".encode()).hexdigest()[:16]

    async def simulate(self, api: Api | None, ref: str, arguments: dict[str, Json]) -> Simulation:
        """Answer one call; without documentation nothing is checked and the answer is generic."""
        problems = argument_problems(api, arguments) if api is not None else ""
        if problems:
            return Simulation(error=f"Invalid arguments for {ref}: {problems}")
        return Simulation(response=_response(api, f"{ref} {canonical_json(arguments)}"))


def _response(api: Api | None, seed: str) -> Any:
    filler = Filler(seed)
    response = filler.fill(_skeleton(api))
    if filler.distinctive:
        return response
    reference = {"reference": filler.text("reference")}
    if isinstance(response, list):
        return [*response, reference]
    return {**(response if isinstance(response, dict) else {"result": response}), **reference}


def _skeleton(api: Api | None) -> Any:
    template = parsed_skeleton(api.template_response) if api is not None else None
    if template is not None:
        return template
    words = _WORD.findall(f"{api.description} {api.api_name}".lower()) if api is not None else []
    return dict.fromkeys(list(dict.fromkeys(words))[:MAX_KEYS], "str") or {"result": "str"}


def argument_problems(api: Api, arguments: dict[str, Any]) -> str:
    """Return the problem with the arguments in one line; empty if they fit the Api's schema.

    A default from the documentation always fits, even if its type is not the parameter's.
    """
    if not (found := schema_problems(api.parameters_schema(), arguments, most=100)):
        return ""
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
