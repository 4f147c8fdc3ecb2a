"""The settings of a run, each declared once, as a field of ``RunSettings``.

All else follows from the declaration: the option of ``bench run``, its environment variable, its key in a settings
file, whether the setting is part of a run's identity, and its key in the result document. To add a setting, add a
field, and use it where it has its effect.

Nothing heavy is imported here, as ``bench run --help`` needs this module.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

from annotated_types import Ge, Gt

from trialbed.settings._folders import completion_cache, data_dir, response_cache, store_file

MARGIN = 0.05
"""The largest difference of a score that does not matter, where the user sets none."""

ON_MISS = ("stop", "ask")

SANDBOXES = ("none", "process", "container")


@dataclass(frozen=True)
class Setting:
    """The option of a setting, and the ways in which its value is shown.

    Attributes:
        option: the spellings of its option, the long one last.
        help: its effect, for ``bench run --help`` and the documentation.
        metavar: placeholder for its value there; None for the type's name.
        document: its key in the ``metadata`` of a result document; None for the field's name. Only settings of a
            run's identity are there.
        folder: whether a path is a folder's.
        choices: the values that it can have; empty for any.
    """

    option: tuple[str, ...]
    help: str
    metavar: str | None = None
    document: str | None = None
    folder: bool = False
    choices: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class IdentitySettings:
    """The settings of a run's identity: two runs in which they are equal are the same run.

    Attributes:
        frameworks: their names; ``NAME:PROFILE`` asks for a profile of a framework, ``NAME==VERSION`` for a release.
        commands: programs that are agents; each is a framework of its own in the run, under its name.
        dataset: ``NAME``, ``NAME:TEST_SET`` or the path of a JSON file.
        model_name: frameworks decide by a model's name what they send; the endpoint gets the model's own.
        allowed_models: a request for a model that is neither the run's nor one of these is refused, and the framework
            answers for that.
        base_url: an OpenAI-compatible endpoint for models that are not scripted, ending in ``/v1``.
        catalog: more Apis beside the dataset's, for selectors that choose from a catalog.
        judge: ``rule``, another judge's name, or a model.
        seed: every trial's own seed derives from it, the query and the repeat.
        sandbox: what keeps an adapter that is not trusted from the machine and from the run's data.
    """

    frameworks: Annotated[
        tuple[str, ...],
        Setting(
            ("-f", "--framework"),
            "Framework to run, optionally in another profile than native, or a release of it; repeatable.",
            metavar="NAME[:PROFILE][==VERSION]",
            document="",
        ),
    ] = ("reference",)
    commands: Annotated[
        tuple[str, ...],
        Setting(
            ("--command",),
            "Program to run as an agent, without an adapter; repeatable.",
            metavar="[NAME=]COMMAND",
            document="",
        ),
    ] = ()
    dataset: Annotated[str, Setting(("-d", "--dataset"), "Queries to run.", metavar="NAME[:TEST_SET]|FILE")] = "mini"
    model: Annotated[
        str,
        Setting(
            ("-m", "--model"),
            "Model: one of `bench models`, such as scripted:gold, an object in a file, or a model of --base-url.",
            metavar="NAME|SCHEME:NAME|FILE.py:NAME",
        ),
    ] = "scripted:gold"
    model_name: Annotated[
        str | None,
        Setting(
            ("--model-name",),
            "Name of the model that frameworks are told. [default: the model's own; gpt-4o for scripted models]",
            metavar="NAME",
        ),
    ] = None
    allowed_models: Annotated[
        tuple[str, ...],
        Setting(
            ("--allow-model",),
            "Another model that frameworks may ask, or * for any; repeatable. [default: none but the run's]",
            metavar="NAME",
            document="",
        ),
    ] = ()
    base_url: Annotated[
        str | None,
        Setting(("--base-url",), "OpenAI-compatible endpoint of real models, ending in /v1.", metavar="URL"),
    ] = None
    on_miss: Annotated[
        str,
        Setting(
            ("--on-miss",),
            "Treatment of a request that a recorded model has no answer to: stop the trial, or ask the model at "
            "--base-url.",
            document="",
            choices=ON_MISS,
        ),
    ] = "stop"
    repeat: Annotated[int, Ge(1), Setting(("--repeat",), "Trials per framework and query.")] = 1
    selector: Annotated[str, Setting(("--selector",), "Selector that chooses the offered tools.", metavar="NAME")] = (
        "query"
    )
    max_tools: Annotated[
        int,
        Ge(1),
        Setting(("--max-tools",), "Maximum number of tools offered per query, or several, each for a run of its own."),
    ] = 120
    catalog: Annotated[
        tuple[str, ...],
        Setting(
            ("--catalog",),
            "More Apis that the selector chooses from: all test sets of a dataset, one of them, or a folder of "
            "documents about tools; repeatable. [default: the dataset's own]",
            metavar="NAME[:TEST_SET]|FILE|FOLDER",
            document="",
        ),
    ] = ()
    judge: Annotated[
        str,
        Setting(("--judge",), "Judge that grades the answers.", metavar="NAME|MODEL", document="evaluator_model"),
    ] = "rule"
    judge_votes: Annotated[int, Ge(1), Setting(("--judge-votes",), "Verdicts per answer.")] = 1
    judge_model: Annotated[
        str | None,
        Setting(
            ("--judge-model",), "Model that the judge asks, where the judge is not itself a model.", metavar="MODEL"
        ),
    ] = None
    judge_base_url: Annotated[
        str | None,
        Setting(
            ("--judge-base-url",),
            "Endpoint of the judge's model. [default: that of --base-url]",
            metavar="URL",
            document="",
        ),
    ] = None
    judge_prompts: Annotated[
        str | None,
        Setting(
            ("--judge-prompts",),
            "Installed copy of StableToolBench, for the prompts of its judge. [default: Trialbed's prompts]",
            metavar="DIR",
            document="",
        ),
    ] = None
    selector_model: Annotated[
        str | None,
        Setting(("--selector-model",), "Model of --base-url that the selector may ask.", metavar="MODEL"),
    ] = None
    embedding_model: Annotated[
        str | None,
        Setting(
            ("--embedding-model",),
            "Model of --base-url whose embeddings the selector may use. [default: one on this machine]",
            metavar="MODEL",
        ),
    ] = None
    simulator_model: Annotated[
        str | None,
        Setting(("--simulator-model",), "Model of --base-url that simulators may ask.", metavar="MODEL"),
    ] = None
    max_steps: Annotated[int, Ge(1), Setting(("--max-steps",), "Maximum number of model requests per trial.")] = 12
    max_trial_tokens: Annotated[
        int | None,
        Ge(1),
        Setting(("--max-trial-tokens",), "Number of tokens after which a trial is stopped. [default: no limit]"),
    ] = None
    faults: Annotated[
        str | None,
        Setting(
            ("--faults",), "Plan of failures of tools and of the model that are put in on purpose.", metavar="FILE|JSON"
        ),
    ] = None
    timeout: Annotated[float, Gt(0), Setting(("--timeout",), "Maximum number of seconds per trial.")] = 120.0
    temperature: Annotated[
        float | None,
        Ge(0),
        Setting(
            ("--temperature",),
            "Sampling temperature of the model. [default: a native framework's own; 0 for all others]",
        ),
    ] = None
    max_tokens: Annotated[
        int | None, Ge(1), Setting(("--max-tokens",), "Maximum number of tokens per completion. [default: the model's]")
    ] = None
    seed: Annotated[int, Setting(("--seed",), "Seed from which each trial's own seed is derived.")] = 0
    sandbox: Annotated[str, Setting(("--sandbox",), "Isolation of workers from the machine.", choices=SANDBOXES)] = (
        "none"
    )


@dataclass(frozen=True, kw_only=True)
class RunSettings(IdentitySettings):
    """The settings of a run: its identity, and how it is carried out.

    Attributes:
        limit: how many queries at most, in the dataset's order; None for all. The queries that are chosen are part of
            the run's identity.
        profiles: of the frameworks that name none and have profiles; each profile is a framework of its own in the run,
            so they are part of its identity with these.
        query_ids: only these queries, or those in ranges of numbers; empty for all.
        categories: only queries that need an Api of one of these; empty for all.
        shuffle: draws the order of the queries, of which ``limit`` takes the first; None for the dataset's order.
        against: the framework that the others are compared with; None for ``reference``, or the first.
        margin: set before the figures are seen: frameworks that are shown to differ by less are equivalent.
        model_retries: repetitions by the gateway count for no framework. The gateway of a running server keeps its own.
        endpoint_patience: for the repetitions of one request, and for an endpoint that only fails, before the run ends.
        probe: an endpoint that refuses the model's name is found out in this way, too.
        chat_template: part of the run's identity as part of the model's, by its text.
        api_key_env: the environment variable that holds the endpoint's key.
        judge_api_key_env: the variable of the judge's own endpoint.
        max_helper_requests: of each helper, such as the judge; further ones fail.
        rpm, tpm: kept by the gateway for trials and judge together; a request counts as a token for each four bytes
            until its answer says how many it took. The gateway of a running server keeps its own.
        price: where it is not given, that of an installed table, for the endpoint's provider; else it is unknown.
        budget: kept by the gateway, over all sessions of the run; the requests in flight end.
        completions: a file of replies; no endpoint is asked the same twice.
        model_cache: a file of the model's answers, which equal requests share, also those of two frameworks; ``off``
            for none. None leaves it to the model's driver.
        server_url: a running server to use; None starts one and stops it afterwards.
        tags, note: the user's words for the run, to find it again; a run that is continued gets them too.
        store: a file, or a database URL.
        output: folder of the result documents.
    """

    limit: Annotated[int | None, Ge(1), Setting(("-n", "--limit"), "Maximum number of queries. [default: all]")] = None
    query_ids: Annotated[
        tuple[str, ...],
        Setting(("--query-id",), "Only this query, or those of a range such as 1-5; repeatable.", metavar="ID"),
    ] = ()
    categories: Annotated[
        tuple[str, ...],
        Setting(("--category",), "Only queries that need an Api of this category; repeatable.", metavar="NAME"),
    ] = ()
    shuffle: Annotated[
        int | None,
        Setting(
            ("--shuffle",),
            "Take the queries in a random order, which this number draws. [default: the dataset's order]",
            metavar="SEED",
        ),
    ] = None
    profiles: Annotated[
        tuple[str, ...],
        Setting(
            ("--profile",),
            "Profile of the frameworks that name none, such as native or controlled; repeatable. [default: native]",
            metavar="NAME",
        ),
    ] = ()
    concurrency: Annotated[int, Ge(1), Setting(("-j", "--concurrency"), "Trials at a time.")] = 4
    against: Annotated[
        str | None,
        Setting(
            ("--against",),
            "Framework that the others are compared with. [default: reference, or the first]",
            metavar="NAME",
        ),
    ] = None
    margin: Annotated[
        float,
        Gt(0),
        Setting(("--margin",), "Largest difference of a score between frameworks that does not matter."),
    ] = MARGIN
    model_retries: Annotated[
        int,
        Ge(0),
        Setting(("--model-retries",), "Maximum number of repetitions of a failed model request."),
    ] = 8
    endpoint_patience: Annotated[
        float,
        Ge(0),
        Setting(("--endpoint-patience",), "Maximum number of seconds to wait for an endpoint that does not answer."),
    ] = 120.0
    rpm: Annotated[
        int | None,
        Ge(1),
        Setting(("--rpm",), "Maximum number of requests to the endpoint in any minute. [default: no limit]"),
    ] = None
    tpm: Annotated[
        int | None,
        Ge(1),
        Setting(("--tpm",), "Maximum number of tokens of the endpoint in any minute. [default: no limit]"),
    ] = None
    probe: Annotated[
        int,
        Ge(0),
        Setting(
            ("--probe",),
            "Maximum number of requests with one tool that an endpoint gets before its first trial, to see whether it "
            "parses calls; it gets one where it does. 0 for none.",
        ),
    ] = 3
    chat_template: Annotated[
        str,
        Setting(
            ("--chat-template",),
            "Chat template of a local model: its own, Trialbed's function-call, a file, or auto, which is its own "
            "unless that parses no call.",
            metavar="auto|own|function-call|FILE",
        ),
    ] = "auto"
    api_key_env: Annotated[
        str,
        Setting(
            ("--api-key-env",),
            "Environment variable (or line of .env) that holds the endpoint's key.",
            metavar="VARIABLE",
        ),
    ] = "OPENAI_API_KEY"
    judge_api_key_env: Annotated[
        str | None,
        Setting(
            ("--judge-api-key-env",),
            "Environment variable that holds the key of --judge-base-url. [default: that of --api-key-env]",
            metavar="VARIABLE",
        ),
    ] = None
    max_helper_requests: Annotated[
        int | None,
        Ge(1),
        Setting(
            ("--max-helper-requests",),
            "Maximum number of model requests of selector, simulators and judge, each. [default: no limit]",
        ),
    ] = None
    max_helper_tokens: Annotated[
        int | None,
        Ge(1),
        Setting(
            ("--max-helper-tokens",),
            "Number of tokens after which selector, simulators and judge, each, ask no more. [default: no limit]",
        ),
    ] = None
    helper_timeout: Annotated[
        float | None,
        Gt(0),
        Setting(
            ("--helper-timeout",),
            "Seconds of silence after which a request of selector or judge is given up. "
            "[default: 300, or --timeout where that is longer]",
        ),
    ] = None
    price: Annotated[
        str | None,
        Setting(
            ("--price",),
            "Price of the model's tokens, in US dollars per million. [default: that of genai-prices, where installed]",
            metavar="IN,OUT[,CACHED]",
        ),
    ] = None
    budget: Annotated[
        str | None,
        Setting(
            ("--budget",),
            "What the run may use of its model, such as 5USD or 2Mtokens, before it ends. [default: no limit]",
            metavar="AMOUNT",
        ),
    ] = None
    server_url: Annotated[
        str | None,
        Setting(("--server-url",), "Running server to use. [default: start one for the run]", metavar="URL"),
    ] = None
    tags: Annotated[
        tuple[str, ...], Setting(("--tag",), "Tag by which bench runs finds the run; repeatable.", metavar="TAG")
    ] = ()
    note: Annotated[
        str | None, Setting(("--note",), "Text that bench runs and bench show show with the run.", metavar="TEXT")
    ] = None
    executor: Annotated[str, Setting(("--executor",), "Where workers run.", metavar="NAME")] = "local"
    store: Annotated[
        str, Setting(("--store",), "Where trials are kept. [default: .trialbed/trialbed.db]", metavar="FILE|URL")
    ] = field(default_factory=store_file)
    response_cache: Annotated[
        Path,
        Setting(("--response-cache",), "The virtual API's cache of responses. [default: .trialbed/responses.db]"),
    ] = field(default_factory=response_cache)
    completions: Annotated[
        Path,
        Setting(
            ("--completions",), "Cache of models' replies to judges and selectors. [default: .trialbed/completions.db]"
        ),
    ] = field(default_factory=completion_cache)
    model_cache: Annotated[
        str | None,
        Setting(
            ("--model-cache",),
            "Cache of the model's answers: equal requests share one, whichever framework sends them. "
            "[default: .trialbed/model-answers.db for local models, off for others]",
            metavar="FILE|off",
        ),
    ] = None
    output: Annotated[Path, Setting(("-o", "--output"), "Folder for the result documents.", folder=True)] = (
        Path("results") / "tools"
    )
    data_dir: Annotated[
        Path,
        Setting(("--data-dir",), "Folder of imported datasets. [default: the user's cache folder]", folder=True),
    ] = field(default_factory=data_dir)
