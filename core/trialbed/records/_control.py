"""What the engine tells the server about a trial."""

from __future__ import annotations

from trialbed.records._apis import Api
from trialbed.records._base import Record
from trialbed.records._tools import ScriptedCall, ToolSpec


class TrialRegistration(Record):
    """``POST /control/trials``: open a trial under a token.

    Attributes:
        trial: the token, ``[A-Za-z0-9_-]{8,64}``; unguessable, since it is all that guards the trial's URLs.
        model: ``scripted:<policy>``, or a model name that the server's upstream endpoint knows.
        base_url: the upstream endpoint expected; must be the one the server was started with. None for scripted models.
        tools: what the agent is offered. ``apis``: their documentation, for the simulator.
        script: the gold calls, for scripted models.
        simulator: name of the simulator that answers for these Apis.
        ambient: whether requests without a token (``/virtual``, ``/v1``) belong to this trial; one trial at a time.
    """

    trial: str
    model: str
    base_url: str | None = None
    tools: tuple[ToolSpec, ...] = ()
    apis: tuple[Api, ...] = ()
    script: tuple[ScriptedCall, ...] = ()
    simulator: str = "template"
    seed: int = 0
    ambient: bool = False
