"""Faults that a run puts in on purpose, to see what agents make of them, and their plan in a file."""

from __future__ import annotations

import hashlib
import json
import random
from pathlib import Path
from typing import Annotated, Literal, TypeVar, get_args

from annotated_types import Ge, Gt, Le
from pydantic import ConfigDict, ValidationError

from trialbed.errors import UsageError
from trialbed.files import read_bytes
from trialbed.records._base import Record

ToolFault = Literal[
    "error", "server_error", "rate_limit", "slow", "hang", "truncated", "malformed", "stale_schema", "wrong_type",
    "huge", "injection",
]  # fmt: skip
"""The faults of a tool call; see docs/how-to/test-with-faults.md."""

ModelFault = Literal["server_error", "rate_limit", "overloaded", "malformed", "empty", "slow"]
"""The faults of a request to the model."""

Name = TypeVar("Name", bound=str)

MOST_SECONDS, MOST_BYTES = 86_400, 1_000_000_000
"""The longest wait and the largest answer. More is a mistake, and would exhaust the machine's memory."""

Rate = Annotated[float, Ge(0), Le(1)]


class ToolFaults(Record):
    """The faults of tool calls. Each call meets one fault with this probability."""

    model_config = ConfigDict(extra="forbid")

    rate: Rate
    faults: tuple[ToolFault, ...] = get_args(ToolFault)


class ModelFaults(Record):
    """The faults of requests to the model. Each request meets one fault with this probability."""

    model_config = ConfigDict(extra="forbid")

    rate: Rate
    faults: tuple[ModelFault, ...] = get_args(ModelFault)


class FaultPlan(Record):
    """Assigns faults to calls and requests.

    A draw depends only on the seed, the query, the repeat and the place, and is therefore the same for every framework
    and profile. A call's place is its Api and the number of earlier calls of that Api in the trial. A request's place
    is the number of earlier requests to the model.

    Attributes:
        slow_seconds: how long a slow answer takes longer.
        hang_seconds: after how long a call that hangs is given up with status 504.
        huge_bytes: the size of a huge answer.
    """

    model_config = ConfigDict(extra="forbid")

    seed: int = 0
    tools: ToolFaults | None = None
    model: ModelFaults | None = None
    slow_seconds: Annotated[float, Gt(0), Le(MOST_SECONDS)] = 5.0
    hang_seconds: Annotated[float, Gt(0), Le(MOST_SECONDS)] = 60.0
    huge_bytes: Annotated[int, Gt(0), Le(MOST_BYTES)] = 1_000_000

    def tool_fault(self, trial: str, api: str, place: int) -> ToolFault | None:
        """Return the fault for a call of an Api; None for most calls.

        Args:
            trial: the query and the repeat.
            api: the Api's path.
            place: how many calls of this Api came before it.
        """
        found = self.tools
        return None if found is None else self._draw(found.rate, found.faults, ["tool", trial, api, place])

    def model_fault(self, trial: str, place: int) -> ModelFault | None:
        """Return the fault of a request to the model; None for most."""
        found = self.model
        return None if found is None else self._draw(found.rate, found.faults, ["model", trial, place])

    def canary(self, trial: str, api: str, place: int) -> str:
        """Return the word that an injected instruction asks for, which appears nowhere else."""
        return f"INJ-{self._digest(['canary', trial, api, place]).hex()[:10]}"

    def _draw(self, rate: float, faults: tuple[Name, ...], where: list[str | int]) -> Name | None:
        draw = random.Random(self._digest(where))  # noqa: S311 - shall be the same again
        return draw.choice(faults) if faults and draw.random() < rate else None

    def _digest(self, where: list[str | int]) -> bytes:
        return hashlib.sha256(json.dumps([self.seed, *where]).encode()).digest()


OPTION = "--faults"


def read_fault_plan(text: str) -> FaultPlan:
    """Return the plan of a file, or of the JSON itself.

    Raises:
        UsageError: it cannot be read, or says something else; names the key.
    """
    try:
        content = text if text.lstrip().startswith("{") else read_bytes(Path(text)).decode()
        return FaultPlan.model_validate(json.loads(content))
    except OSError as error:
        raise UsageError(f"{OPTION} {text}: cannot be read: {error.strerror}") from error
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(map(str, first["loc"]))
        raise UsageError(f"{OPTION}: {where or 'the plan'}: {first['msg']}") from error
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{OPTION} {text[:200]}: not JSON: {error}") from error


def plan_text(plan: FaultPlan) -> str:
    """Return the plan as one line of JSON, equal for equal plans."""
    return json.dumps(plan.model_dump(mode="json"), sort_keys=True)
