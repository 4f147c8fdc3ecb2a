"""A run: its frozen configuration, the endpoints that a verification is about, and its stored record."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from pydantic import ConfigDict, Field, SerializerFunctionWrapHandler, model_serializer

from trialbed.records._annotations import Annotation
from trialbed.records._base import Json, Record
from trialbed.records._frameworks import FrameworkInfo
from trialbed.records._helpers import HelperUse
from trialbed.records._models import COMMON_NAME, Limits
from trialbed.records._prices import Prices
from trialbed.records._scores import ScoreDescription
from trialbed.settings import MARGIN, IdentitySettings


class EndpointInfo(Record):
    """A model at a vendor, as a verification found it.

    Attributes:
        label: its name in the run.
        model, vendor: as results and tables show them.
        is_baseline: whether the model's other vendors are compared with this one.
        load_of: the vendor that this one is under load, and is compared with; empty otherwise.
        trials: how often every case is sent to it.
        configuration: SHA-256 of all that its answers depend on.
        provenance: the test set, the configuration, the drivers and the options, without secrets.
        prices: ``input`` and ``output``, per million tokens.
        began, ended: when the last session did.
        not_sent: the cases that the last session left.
        failure: the driver's error, if that is what ended the last session.
        results: the file that its results were last written to, absolute.
        exports: SHA-256 of every results file that was written.
        success_rate: share of its cases that were answered; None if not known.
    """

    label: str
    model: str
    vendor: str
    is_baseline: bool = False
    load_of: str = ""
    trials: int = 1
    configuration: str
    provenance: dict[str, Json] = Field(default={})
    prices: dict[str, float] = Field(default={})
    began: datetime | None = None
    ended: datetime | None = None
    not_sent: int = 0
    failure: str | None = None
    results: str = ""
    exports: tuple[str, ...] = ()
    success_rate: float | None = None


class Variation(Record):
    """A framework with settings of its own in a run: a column that differs in what a run usually has once.

    Attributes:
        framework: its label without them.
        model, model_identity, told_as, temperature: in place of the run's.
        max_tools: the same; None for the run's.
    """

    framework: str
    model: str
    model_identity: str = ""
    told_as: str | None = None
    temperature: float | None = None
    max_tools: int | None = None


UNUSUAL: dict[str, Json] = {
    "dataset_file": "",
    "model_identity": "",
    "told_as": None,
    "on_miss": "stop",
    "variations": {},
    "plugin_files": {},
}
"""Fields of a configuration that are written only where they have another value than this."""


class RunConfig(Record, IdentitySettings):
    """The settings that identify a run; their digest decides which run a command resumes.

    The settings of the run's identity, and what they led to when the run began.

    Attributes:
        adapter_versions: ``framework -> adapter distribution and version``, or the lock of its environment.
        adapter_digests: ``framework -> SHA-256`` over the files of its adapter and the versions of what that needs;
            empty for a live object.
        dataset: as given on the command line, or a copy of its queries; ``dataset_digest`` is the SHA-256 of these.
        dataset_file: the file of tasks that was given, where ``dataset`` is a copy; empty otherwise.
        code_digest: the SHA-256 of the source of agents, tools, scorers and the like that are objects of the program
            that made the run; None without any.
        model_identity: changes whenever the model may answer otherwise; empty where its name says it all.
        told_as: the name that the model's driver has frameworks told; None for the usual one, which is the model's own
            at an endpoint, and ``COMMON_NAME`` for a model without one.
        variations: label -> the settings of frameworks that have some of their own.
        catalog_digest: the SHA-256 of the Apis that the selector chooses from, and ``catalog_apis`` how many they are;
            None for a selector that knows the query's own only.
        plugin_files: plugin that is a file, by its name in the run -> the first 16 characters of the file's SHA-256.
    """

    model_config = ConfigDict(allow_inf_nan=False)

    adapter_versions: dict[str, str]
    adapter_digests: dict[str, str] = Field(default={})
    test_set: str
    dataset_file: str = ""
    dataset_digest: str
    catalog_digest: str | None = None
    catalog_apis: int | None = None
    query_ids: tuple[int | str, ...]
    trialbed_version: str
    code_digest: str | None = None
    model_identity: str = ""
    told_as: str | None = None
    variations: dict[str, Variation] = Field(default={})
    plugin_files: dict[str, str] = Field(default={})

    def of(self, framework: str) -> RunConfig:
        """The configuration of one framework's trials, with the settings that it has of its own."""
        own = self.variations.get(framework)
        if own is None:
            return self
        kept = {"framework"} if own.max_tools is not None else {"framework", "max_tools"}
        return self.model_copy(update=own.model_dump(exclude=kept))

    def own_limit(self, framework: str) -> int | None:
        """The most tools that the trials of a framework are offered, where that is not the run's ``max_tools``."""
        own = self.variations.get(framework)
        return None if own is None else own.max_tools

    def plain_label(self, framework: str) -> str:
        """The label of a framework without settings of its own."""
        return self.variations[framework].framework if framework in self.variations else framework

    @property
    def models(self) -> tuple[str, ...]:
        """Every model of its trials, its own first."""
        return tuple(dict.fromkeys([self.model, *(own.model for own in self.variations.values())]))

    @property
    def limits(self) -> Limits:
        """The bounds of each trial."""
        return Limits(max_steps=self.max_steps, timeout=self.timeout)

    @property
    def named_dataset(self) -> str:
        """The dataset as the user gave it, where that can be given again."""
        return self.dataset_file or self.dataset

    def command(self, framework: str) -> str | None:
        """The program that runs under this label, as it was given; None for an adapter."""
        declared = dict(text.split("=", 1) for text in self.commands)
        return declared.get(self.plain_label(framework))

    @property
    def told_model(self) -> str:
        """The name of the model that frameworks are given."""
        return self.model_name or self.told_as or (COMMON_NAME if self.base_url is None else self.model)

    @model_serializer(mode="wrap")
    def _without_unset(self, whole: SerializerFunctionWrapHandler) -> dict[str, Json]:
        """Leave out what most runs do not have, so that their records are as they were."""
        found: dict[str, Json] = whole(self)
        return {name: value for name, value in found.items() if name not in UNUSUAL or value != UNUSUAL[name]}


RunStatus = Literal["running", "interrupted", "incomplete", "finished"]
"""``incomplete``: every trial has ended, and some were not measured; the same command runs those again."""


RunKind = Literal["frameworks", "endpoints"]
"""The subjects of a run: frameworks, or the endpoints that a verification sends its cases to."""


class Run(Record):
    """A run as the store knows it.

    Attributes:
        environment: ``name==version`` of everything installed in the engine's interpreter, sorted;
            ``environment_digest`` is the SHA-256 over it.
        overall_time: seconds over all sessions of the run.
        judge: describes its judge and the judge's calibration.
        scores: the descriptions of the scores that its scorers declare, by name.
        tags, note: the user's names for the run.
        against: the framework that the others are compared with, if one was named.
        margin: the largest difference of a score that does not matter.
        prices: of its model's tokens, as they were known when the run began; None where they are not known.
        model_prices: the same of its other models, as far as they are known.
        helpers: the use that its judge, its selector and its simulators make of their models, over all sessions.
        flights: the requests to its models that take long now, in words; empty for none.
        endpoints: those that a verification is about, in the order of their labels in ``config.frameworks``; empty
            where the subjects are frameworks.
        annotations: the words of people on its trials, at most one for each.
        lost: node -> how many trials were lost with it, over all sessions, each of which ran again.
        on_nodes: whether trials of it ran on nodes of an executor.
        over_budget: whether its last session ended because its budget covered no further trial.
    """

    run_id: str
    config: RunConfig
    config_digest: str
    status: RunStatus
    created_at: datetime
    environment_digest: str
    environment: tuple[str, ...] = ()
    server_url: str = ""
    overall_time: float = 0.0
    frameworks: tuple[FrameworkInfo, ...] = ()
    judge: dict[str, Json] = Field(default={})
    scores: dict[str, ScoreDescription] = Field(default={})
    tags: tuple[str, ...] = ()
    note: str = ""
    against: str | None = None
    margin: float = MARGIN
    prices: Prices | None = None
    model_prices: dict[str, Prices] = Field(default={})
    helpers: tuple[HelperUse, ...] = ()
    flights: str = ""
    endpoints: tuple[EndpointInfo, ...] = ()
    annotations: tuple[Annotation, ...] = ()
    lost: dict[str, int] = Field(default={})
    on_nodes: bool = False
    over_budget: bool = False

    def prices_of(self, framework: str) -> Prices | None:
        """The prices of the model of a framework's trials; None where they are not known."""
        model = self.config.of(framework).model
        return self.prices if model == self.config.model else self.model_prices.get(model)

    @property
    def kind(self) -> RunKind:
        """The subjects: frameworks or endpoints."""
        return "endpoints" if self.endpoints else "frameworks"

    @property
    def planned(self) -> int:
        """The number of its trials."""
        cases = len(self.config.query_ids)
        if self.endpoints:
            return cases * sum(endpoint.trials for endpoint in self.endpoints)
        return cases * self.config.repeat * len(self.config.frameworks)
