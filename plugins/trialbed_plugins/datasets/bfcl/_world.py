"""The world of a case with several turns, made of the leaderboard's own objects."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, ClassVar

from trialbed.contracts import ApiRefused, Simulation, Simulator, World
from trialbed.records import Api, Json
from trialbed_plugins.datasets.bfcl._objects import CaseObjects, text_of
from trialbed_plugins.datasets.bfcl._requests import function_called

NAME = "bfcl"


class CaseWorld(World):
    """The objects of one case. They receive the model's arguments unchecked, like in the leaderboard.

    Args:
        start: their initial state.
    """

    checked: ClassVar[bool] = False

    def __init__(self, start: Mapping[str, Any]) -> None:
        self._objects = CaseObjects(start)

    def call(self, api: Api, arguments: Mapping[str, Json]) -> Json:
        result = self._objects.call(*function_called(api.api_name, arguments))
        if isinstance(result, str) and result.startswith("Error during execution:"):
            raise ApiRefused(result)
        text = text_of(result)
        try:
            value: Json = json.loads(text) if isinstance(result, dict) else text
        except ValueError:
            return text
        return value

    def state(self) -> Json:
        return self._objects.state()


class BfclSimulator(Simulator):
    """Gives each trial the objects of its case."""

    provenance: ClassVar[str] = NAME
    invented: ClassVar[bool] = True

    def world_from(self, state: Json) -> CaseWorld | None:
        """Return the objects in the initial state of a case with several turns."""
        return CaseWorld(state) if isinstance(state, dict) else None

    async def simulate(self, api: Api | None, ref: str, arguments: dict[str, Json]) -> Simulation:  # noqa: ARG002
        """Refuse the call, since objects only exist in a trial."""
        return Simulation(error=f"{ref}: this tool belongs to a trial; its objects exist in one only")
