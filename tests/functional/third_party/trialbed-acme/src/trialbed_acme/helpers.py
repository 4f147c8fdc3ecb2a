"""A selector, a simulator and a judge of Acme's, each of which asks the model that the user names for it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

from trialbed import (
    Answer,
    Api,
    ApiRef,
    Dataset,
    Json,
    Judge,
    JudgeError,
    ModelFailed,
    Query,
    Simulation,
    SimulationError,
    Simulator,
    ToolSelector,
    UsageError,
    Verdict,
    WireLog,
)
from trialbed_acme.dataset import AcmeDataset, AcmeDriver


def _question(kind: str, text: str) -> list[dict[str, str]]:
    return [{"role": "system", "content": kind}, {"role": "user", "content": text}]


class AcmeSelector(ToolSelector):
    """Offers the Apis whose names the model mentions."""

    def prepare(self, apis: Sequence[Api]) -> None:
        if self.model is None:
            raise UsageError("the selector acme asks a model: give --selector-model")
        self._apis = {api.api_name: api.ref for api in apis}

    def select(self, query: Query, *, max_tools: int) -> Sequence[ApiRef]:
        assert self.model is not None
        reply = self.model.ask_blocking(_question("select", query.text))
        return [ref for name, ref in self._apis.items() if name in reply.split()][:max_tools]


class AcmeSimulator(Simulator):
    """Has the model make up a response."""

    provenance: ClassVar[str] = "llm:acme"

    async def simulate(self, api: Api | None, ref: str, arguments: dict[str, Json]) -> Simulation:
        if self.model is None:
            return Simulation(error="the simulator acme asks a model: give --simulator-model")
        try:
            response: Any = await self.model.ask_for(
                json.loads, _question("simulate", f"{ref} {json.dumps(arguments)}")
            )
        except ModelFailed as error:
            raise SimulationError(str(error)) from error
        return Simulation(response=response)


class AcmeJudge(Judge):
    """Solved if the model says yes."""

    async def judge(self, query: Query, answer: Answer, wire: WireLog) -> Verdict:
        if self.model is None:
            raise JudgeError("the judge acme asks a model: give --judge-model")
        try:
            reply = await self.model.ask(_question("judge", f"{query.text} {answer.final_answer}"))
        except ModelFailed as error:
            raise JudgeError(str(error)) from error
        if reply.strip() == "yes":
            return Verdict(status="Solved", value=1.0, reason=reply, votes=("Solved",))
        return Verdict(status="Unsolved", value=0.0, reason=reply, votes=("Unsolved",))


class SimulatedDataset(AcmeDataset):
    """The tasks of Acme, with a model behind their Apis."""

    name = "acme-simulated"
    test_set = "acme-simulated"
    simulator = "acme"


class SimulatedDriver(AcmeDriver):
    """Opens the tasks with a model behind their Apis."""

    description: ClassVar[str] = "Three tasks about parcels, simulated by a model"

    def test_sets(self, data_dir: Path) -> Sequence[str]:
        return ("acme-simulated",)

    def open(self, test_set: str | None, data_dir: Path) -> Dataset:
        return SimulatedDataset()
