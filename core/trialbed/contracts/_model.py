"""The contract of model drivers, which name a model and open it for a run."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

from trialbed.records import TrialRegistration
from trialbed.settings import RunSettings

if TYPE_CHECKING:
    from trialbed.contracts._trial_model import TrialModel

MODEL_CONTRACT = "1"
"""The version of ``ModelDriver``; a driver names the one it was written for as ``contract``."""


@dataclass(frozen=True, kw_only=True)
class ModelInfo:
    """A model described by its driver, before it is opened.

    Attributes:
        identity: changes if the model may answer differently. A digest of its weights, its template or its recording,
            never a port or a path. Empty if its name and the address of its endpoint say it all.
        told_name: the name that frameworks are given in place of its own; None for its own.
        at_endpoint: whether it is served by the run's endpoint (``--base-url``), which must be named then.
        costs: whether its answers cost money; None if that is not known.
        deterministic: whether it gives equal requests of a trial equal answers; None if that is not known.
        needs: its requirements in addition to its name, in words, such as a file or a key; empty for nothing.
        cached: whether equal requests share one answer of the model cache; None only if ``--model-cache`` names a file,
            False never.
        answers_seed: returns whether it has any answer for the trials of a seed, as a recording has for some; None for
            any.
    """

    identity: str = ""
    told_name: str | None = None
    at_endpoint: bool = False
    costs: bool | None = None
    deterministic: bool | None = None
    needs: str = ""
    cached: bool | None = None
    answers_seed: Callable[[int], bool] | None = field(default=None, repr=False, compare=False)


@dataclass(frozen=True, kw_only=True)
class OpenedModel:
    """A model that is open.

    Attributes:
        model: its name in requests, either at its endpoint or as ``SCHEME:NAME`` in the gateway.
        base_url: its endpoint, ending in ``/v1``; None if the gateway answers for it by ``ModelDriver.begin``.
        api_key: sent to that endpoint as bearer token, if any.
        notes: for the user, before the first trial, a sentence each.
        at_once: how many requests it answers at a time; no more trials are run at a time. None for any number.
    """

    model: str
    base_url: str | None = None
    api_key: str | None = field(default=None, repr=False)
    notes: tuple[str, ...] = ()
    at_once: int | None = None


class ModelDriver(ABC):
    """The models of one scheme; a driver of the group ``trialbed.models`` is a subclass that takes no arguments.

    The name of its entry point is the scheme: ``bench run --model SCHEME:NAME``. A driver implements ``open`` if its
    models are endpoints, or programs that it starts, and ``begin`` if its models answer in the gateway.

    Class attributes:
        contract: the contract's version the driver was written for (``"1"``); checked at load.
    """

    contract: ClassVar[str]

    def advice(self) -> str:
        """Return why it cannot list models that it could serve, and how to change that; empty if nothing is missing."""
        return ""

    def names(self, settings: RunSettings) -> Sequence[str]:  # noqa: ARG002 - drivers override it
        """Return the names that can be listed, without the scheme; for ``bench models``.

        Raises:
            TrialbedError: they cannot be listed; says why.
        """
        return ()

    @abstractmethod
    def describe(self, name: str, settings: RunSettings) -> ModelInfo:
        """Describe a model; starts nothing.

        Args:
            name: without the scheme.

        Raises:
            UsageError: there is no such model, or something that it needs is missing; says what to do.
        """

    def open(self, name: str, settings: RunSettings) -> AbstractAsyncContextManager[OpenedModel]:  # noqa: ARG002
        """Open a model for a run, before its server and its workers start; it is closed after them.

        Raises:
            TrialbedError: it cannot be opened, or would answer nothing; says why.
        """
        return nullcontext(OpenedModel(model=f"{self.scheme}:{name}"))

    def begin(self, name: str, registration: TrialRegistration) -> TrialModel | None:  # noqa: ARG002
        """Return the model for one trial, which the gateway asks, or None if an endpoint answers.

        This runs in the server, which need not be on the machine of ``open``.

        Raises:
            UsageError: there is no such model.
        """
        return None

    scheme: str = ""
    """The name of its entry point; set when the driver is found."""
