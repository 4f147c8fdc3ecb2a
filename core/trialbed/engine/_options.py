"""What the user asked for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from trialbed.records import Environment, Limits
from trialbed.settings import data_dir, response_cache, store_file

DEFAULT_OUTPUT = Path("results") / "tools"


@dataclass(frozen=True)
class RunOptions:
    """A run as asked for, before anything is looked up.

    Attributes:
        frameworks: drivers' names; ``NAME==VERSION`` asks for a release of the framework.
        dataset: ``NAME``, ``NAME:TEST_SET`` or the path of a JSON file.
        limit: how many queries at most, in the dataset's order; None for all.
        query_ids: only these queries; empty for all.
        base_url: an OpenAI-compatible endpoint for models that are not scripted, ending in ``/v1``.
        api_key_env: the environment variable that holds the endpoint's key.
        server_url: a running server to use; None starts one and stops it afterwards.
        server_port: the port of a server that is started; 0 for any.
        store: a file, or a database URL.
        output: folder of the result documents.
        environments: framework -> its own environment, for those that do not run in this interpreter.
        fresh: discard an unfinished run of the same configuration instead of resuming it.
    """

    frameworks: tuple[str, ...] = ("reference",)
    dataset: str = "mini"
    model: str = "scripted:gold"
    base_url: str | None = None
    api_key_env: str = "OPENAI_API_KEY"
    limit: int | None = None
    query_ids: tuple[str, ...] = ()
    repeat: int = 1
    concurrency: int = 4
    selector: str = "query"
    max_tools: int = 120
    judge: str = "rule"
    judge_votes: int = 1
    limits: Limits = field(default_factory=Limits)
    temperature: float = 0.0
    max_tokens: int | None = None
    seed: int = 0
    server_url: str | None = None
    server_port: int = 0
    executor: str = "local"
    store: str = field(default_factory=store_file)
    response_cache: Path = field(default_factory=response_cache)
    data_dir: Path = field(default_factory=data_dir)
    output: Path = DEFAULT_OUTPUT
    environments: Mapping[str, Environment] = field(default_factory=dict)
    fresh: bool = False
