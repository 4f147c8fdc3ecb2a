"""A run: its frozen configuration, and what is stored of it."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from pydantic import Field

from trialbed.records._base import Record
from trialbed.records._frameworks import FrameworkInfo
from trialbed.records._models import Limits


class RunConfig(Record):
    """What makes two runs the same run; its digest decides what a command resumes.

    Attributes:
        adapter_versions: ``framework -> adapter distribution and version``.
        dataset: as given on the command line; ``dataset_digest`` is the SHA-256 of its queries.
        base_url: the upstream endpoint of the model and the judge, None for scripted models.
        seed: every trial's seed derives from it.
    """

    frameworks: tuple[str, ...]
    adapter_versions: dict[str, str]
    dataset: str
    test_set: str
    dataset_digest: str
    query_ids: tuple[int | str, ...]
    model: str
    base_url: str | None = None
    repeat: int = Field(default=1, ge=1)
    selector: str = "query"
    max_tools: int = Field(default=120, ge=1)
    judge: str = "rule"
    judge_votes: int = Field(default=1, ge=1)
    limits: Limits = Limits()
    temperature: float = Field(default=0.0, ge=0, allow_inf_nan=False)
    max_tokens: int | None = None
    seed: int = 0
    trialbed_version: str


RunStatus = Literal["running", "interrupted", "finished"]


class Run(Record):
    """A run as the store knows it.

    Attributes:
        environment: ``name==version`` of everything installed in the engine's interpreter, sorted;
            ``environment_digest`` is the SHA-256 over it.
        overall_time: seconds over all sittings of the run.
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
