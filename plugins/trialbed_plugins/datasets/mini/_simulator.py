"""The simulator of the embedded world."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

from trialbed.contracts import Simulation, Simulator
from trialbed.errors import SimulationError
from trialbed.records import Api, Json
from trialbed_plugins.datasets.mini._endpoints import ApiError, respond
from trialbed_plugins.datasets.mini._world import MiniWorld, load_world

if TYPE_CHECKING:
    from jsonschema import ValidationError

MAX_ERROR = 500
"""Characters of an API error; it repeats the arguments, which may be long."""


class MiniSimulator(Simulator):
    """Answers from the embedded tables; the same call always gets the same answer.

    Arguments that violate the Api's schema, keys that name nothing and values out of bounds are API errors
    that name the parameter or the key.
    """

    provenance: ClassVar[str] = "mini"
    invented: ClassVar[bool] = True

    def revision(self, api: Api | None) -> str:  # noqa: ARG002 - all Apis share the tables
        """The digest of the embedded data and of the code that answers from them."""
        return self._world.digest

    async def simulate(self, api: Api | None, ref: str, arguments: dict[str, Json]) -> Simulation:
        """Answer one call from the tables.

        Raises:
            SimulationError: the embedded world has no such Api.
        """
        known = self._find(api, ref)
        violation = _violation(known, arguments)
        if violation:
            return Simulation(error=violation[:MAX_ERROR])
        try:
            return Simulation(response=respond(self._world, known, arguments))
        except ApiError as error:
            return Simulation(error=str(error)[:MAX_ERROR])

    @cached_property
    def _world(self) -> MiniWorld:
        return load_world()

    @cached_property
    def _by_path(self) -> dict[str, Api]:
        return {_path(api): api for api in self._world.apis.values()}

    def _find(self, api: Api | None, ref: str) -> Api:
        known = self._by_path.get(ref) if api is None else self._world.apis.get(api.ref)
        if known is None:
            raise SimulationError(f"the dataset 'mini' has no Api {ref!r}; `bench data show mini` lists those it has")
        return known


def _path(api: Api) -> str:
    return f"{api.category}/{api.tool_name}/{api.api_name}"


def _violation(api: Api, arguments: dict[str, Json]) -> str:
    """Explain the first violation of the Api's schema by the arguments; empty if there is none."""
    from jsonschema import Draft202012Validator  # takes long to import, and not all who look for datasets need it

    validator = Draft202012Validator(api.parameters_schema())
    errors = sorted(validator.iter_errors(arguments), key=lambda error: [str(part) for part in error.absolute_path])
    return _message(errors[0]) if errors else ""


def _message(error: ValidationError) -> str:
    if not error.absolute_path:
        return f"invalid arguments: {error.message}"
    return f"invalid value of parameter {str(error.absolute_path[0])!r}: {error.message}"
