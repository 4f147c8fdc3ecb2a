"""The simulator of the embedded world."""

from __future__ import annotations

from functools import cached_property
from operator import itemgetter
from typing import ClassVar

from trialbed.contracts import Simulation, Simulator
from trialbed.errors import SimulationError
from trialbed.records import Api, Json
from trialbed.wire.json_schemas import schema_problems
from trialbed_plugins.datasets.mini._endpoints import ApiError, respond
from trialbed_plugins.datasets.mini._world import MiniWorld, load_world

MOST_PROBLEMS = 100
"""Problems of one call that are looked at."""

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
        return {f"{api.category}/{api.tool_name}/{api.api_name}": api for api in self._world.apis.values()}

    def _find(self, api: Api | None, ref: str) -> Api:
        known = self._by_path.get(ref) if api is None else self._world.apis.get(api.ref)
        if known is None:
            raise SimulationError(f"the dataset 'mini' has no tool {ref!r}; `bench data show mini` lists those it has")
        return known


def _violation(api: Api, arguments: dict[str, Json]) -> str:
    """Explain the first violation of the Api's schema by the arguments; empty if there is none."""
    problems = schema_problems(api.parameters_schema(), arguments, most=MOST_PROBLEMS)
    if not problems:
        return ""
    path, message = min(((list(map(str, problem.path)), problem.message) for problem in problems), key=itemgetter(0))
    return f"invalid value of parameter {path[0]!r}: {message}" if path else f"invalid arguments: {message}"
