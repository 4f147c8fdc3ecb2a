"""Runs with their frozen configuration, the endpoints of a verification, and their stored record."""

from __future__ import annotations

from datetime import datetime
from operator import attrgetter
from typing import Any, Literal

from pydantic import ConfigDict, Field

from trialbed.errors import UsageError
from trialbed.records._base import Json, Record, SparseRecord
from trialbed.records._frameworks import FrameworkInfo
from trialbed.records._models import HelperUse, Limits, Prices
from trialbed.records._scores import ScoreDescription
from trialbed.records._trials import Annotation
from trialbed.settings import MARGIN, IdentitySettings, declared_settings


class EndpointInfo(Record):
    """A model at a vendor, as a verification found it.

    Attributes:
        label: its name in the run.
        model, vendor: as results and tables show them.
        is_baseline: whether the model's other vendors are compared with this one.
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


class RunCell(SparseRecord):
    """A column of a run, which is an agent with a model, a temperature, instructions and a number of tools.

    Attributes:
        label: its name in the run, made of the framework's and the differences from the run's first cell.
        framework: with its profile and its release, or the name of a program, an object or an endpoint.
        model_identity: changes if the model may answer differently; empty if its name says it all.
        told_model: the name of the model that frameworks are given.
        temperature: None leaves it to the framework.
        max_tools: the most tools that a trial is offered.
        system_prompt: the instructions that the agent gets; None for Trialbed's.
    """

    label: str
    framework: str
    model: str
    model_identity: str = ""
    told_model: str = ""
    temperature: float | None = None
    max_tools: int = 120
    system_prompt: str | None = None

    sparse = ("system_prompt",)


class RunConfig(SparseRecord, IdentitySettings):
    """The settings that identify a run; their digest decides which run a command resumes.

    The settings of the run's identity, and what they led to when the run began.

    Attributes:
        cells: its columns, in the order of all tables.
        adapter_versions: ``framework of a cell -> adapter distribution and version``, or the lock of its environment.
        adapter_digests: ``framework of a cell -> SHA-256`` over the files of its adapter and the versions of what that
            needs; empty for a live object.
        dataset: as given on the command line, or a copy of its queries; ``dataset_digest`` is the SHA-256 of these.
        dataset_file: the file of tasks that was given, if ``dataset`` is a copy; empty otherwise.
        code_digest: the SHA-256 of the source of agents, tools, scorers and the like that are objects of the program
            that made the run; None without any.
        catalog_digest: the SHA-256 of the Apis that the selector chooses from, and ``catalog_apis`` how many they are;
            None for a selector that knows the query's own only.
        plugin_files: plugin that is a file, by its name in the run -> the first 16 characters of the file's SHA-256.
        tags: tag -> the queries that have it.
    """

    model_config = ConfigDict(allow_inf_nan=False)

    cells: tuple[RunCell, ...]
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
    plugin_files: dict[str, str] = Field(default={})
    tags: dict[str, tuple[int | str, ...]] = Field(default={})

    sparse = ("dataset_file", "on_miss", "plugin_files", "tags")

    def cell(self, label: str) -> RunCell:
        """Return the column of this label."""
        return next(cell for cell in self.cells if cell.label == label)

    def settings(self, label: str) -> dict[str, Any]:
        """Return the settings of the run's identity, by name, as a column has them."""
        cell, names = self.cell(label), [item.name for item in declared_settings() if item.identity]
        return {name: getattr(cell if hasattr(cell, name) else self, name) for name in names}

    @property
    def frameworks(self) -> tuple[str, ...]:
        """The labels of the cells."""
        return tuple(map(attrgetter("label"), self.cells))

    @property
    def models(self) -> tuple[str, ...]:
        """Every model of its trials."""
        return tuple(dict.fromkeys(cell.model for cell in self.cells))

    @property
    def limits(self) -> Limits:
        """The bounds of each trial."""
        return Limits(max_steps=self.max_steps, timeout=self.timeout)

    @property
    def named_dataset(self) -> str:
        """The dataset as the user gave it, if it can be given again."""
        return self.dataset_file or self.dataset

    def queries_with(self, tag: str) -> tuple[int | str, ...]:
        """Return the queries that have a tag.

        Raises:
            UsageError: none has it.
        """
        if tag not in self.tags:
            raise UsageError(f"no task of the run has the tag {tag!r}; its tags are {', '.join(self.tags) or 'none'}")
        return self.tags[tag]

    def command(self, framework: str) -> str | None:
        """Return the program that runs under this label, unchanged; None for an adapter."""
        declared = dict(text.split("=", 1) for text in self.commands)
        return declared.get(self.cell(framework).framework)


RunStatus = Literal["running", "interrupted", "incomplete", "finished"]
"""A run is ``incomplete`` if every trial has ended, but some were not measured; the same command runs those again."""


RunKind = Literal["frameworks", "endpoints"]
"""The subjects of a run, which are frameworks, or the endpoints of a verification."""


class Run(Record):
    """A stored run.

    Attributes:
        environment: ``name==version`` of everything installed in the engine's interpreter, sorted;
            ``environment_digest`` is the SHA-256 over it.
        overall_time: seconds over all sessions of the run.
        judge: describes its judge and the judge's calibration.
        scores: the descriptions of the scores that its scorers declare, by name.
        tags, note: the user's names for the run.
        against: the framework that the others are compared with, if one was named.
        margin: the largest difference of a score that does not matter.
        prices: model -> prices of its tokens at the time the run began; models without known prices are skipped.
        helpers: the use that its judge, its selector and its simulators make of their models, over all sessions.
        endpoints: the endpoints of a verification, in the order of their labels in ``config.frameworks``; empty if the
            subjects are frameworks.
        annotations: the words of people on its trials, at most one annotation per trial.
        lost: node -> how many trials were lost with it and ran again, over all sessions.
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
    prices: dict[str, Prices] = Field(default={})
    helpers: tuple[HelperUse, ...] = ()
    endpoints: tuple[EndpointInfo, ...] = ()
    annotations: tuple[Annotation, ...] = ()
    lost: dict[str, int] = Field(default={})
    on_nodes: bool = False
    over_budget: bool = False

    def prices_of(self, framework: str) -> Prices | None:
        """Return the prices of the model in a framework's trials, or None if they are not known."""
        return self.prices.get(self.config.cell(framework).model)

    def takes_tools(self, framework: str) -> bool:
        """Return whether the agent in a column is known to take the trials' tools."""
        names = framework, self.config.cell(framework).framework
        return all(info.takes_tools for info in self.frameworks if info.name in names)

    @property
    def kind(self) -> RunKind:
        """The kind of subjects, frameworks or endpoints."""
        return "endpoints" if self.endpoints else "frameworks"

    @property
    def planned(self) -> int:
        """The number of its trials."""
        cases = len(self.config.query_ids)
        if self.endpoints:
            return cases * sum(endpoint.trials for endpoint in self.endpoints)
        return cases * self.config.repeat * len(self.config.frameworks)
