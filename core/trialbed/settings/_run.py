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

from annotated_types import Ge, Gt, Lt

from trialbed.settings._folders import completion_cache, data_dir, response_cache, store_file
from trialbed.settings._identity import FactorSettings, IdentitySettings, Setting

TOOL_ANSWERS = ("live", "recorded", "schema", "model")

MARGIN = 0.05
"""The default of the largest difference in a score that does not matter."""


@dataclass(frozen=True, kw_only=True)
class RunSettings(IdentitySettings, FactorSettings):
    """The settings that identify a run, and the settings for its execution.

    Attributes:
        limit: how many queries at most, in the dataset's order; None for all. The queries that are chosen are part of
            the run's identity.
        profiles: of the frameworks that have profiles and do not name one; each profile is a framework in the run,
            so they are part of its identity with these.
        query_ids: only these queries, or queries in ranges of numbers; empty for all.
        only_tags: only queries with any of these tags, or that need an Api of any of these categories; empty for all.
        shuffle: draws the order of the queries, and ``limit`` takes the first; None for the dataset's order.
        mcp: commands or URLs of MCP servers; their tools are added to the tools of a file of tasks.
        tool_answers: the source of the answers for files of tools, instead of the sources that they name.
        against: the framework that the others are compared with; None for ``reference``, or the first.
        margin: set before the figures are seen: frameworks that are shown to differ by less are equivalent.
        model_retries: repetitions by the gateway count for no framework. The gateway of a running server keeps its own.
        endpoint_patience: for the repetitions of one request, and for an endpoint that only fails, before the run ends.
        probe: an endpoint that refuses the model's name is found out in this way, too.
        chat_template: part of the run's identity as part of the model's, by its text.
        api_key_env: the environment variable that holds the endpoint's key.
        endpoint_key_env: the variables of further endpoints, by host or ``HOST:PORT``: no key goes to another host.
        max_helper_requests: of each helper, such as the judge; further ones fail.
        rpm, tpm: kept by the gateway for trials and judge together; a request counts as a token for each four bytes
            until its answer says how many it took. The gateway of a running server keeps its own.
        price: of the run's and its helpers' models. The default is from an installed table, for the
            endpoint's provider; else it is unknown.
        budget: kept by the gateway, over all sessions of the run; the requests in flight end.
        completions: a file of replies; no endpoint is asked the same twice.
        model_cache: a file of the model's answers, which equal requests share, even across frameworks; ``off``
            to disable it. None leaves it to the model's driver.
        server_url: a running server to use; None starts one and stops it afterwards.
        tags, note: the user's words for the run, to find it again; a run that is continued gets them too.
        store: a file, or a database URL.
        output: folder of the result documents.
    """

    limit: Annotated[int | None, Ge(1), Setting(("-n", "--limit"), "Maximum number of tasks. [default: all]")] = None
    query_ids: Annotated[
        tuple[str, ...],
        Setting(("--query-id",), "Only this task, or those of a range such as 1-5; repeatable.", metavar="ID"),
    ] = ()
    only_tags: Annotated[
        tuple[str, ...],
        Setting(
            ("--only-tag",),
            "Only tasks with this tag, or that need a tool of this category; repeatable.",
            metavar="TAG",
        ),
    ] = ()
    shuffle: Annotated[
        int | None,
        Setting(
            ("--shuffle",),
            "Take the tasks in a random order, which this number draws. [default: the dataset's order]",
            metavar="SEED",
        ),
    ] = None
    profiles: Annotated[
        tuple[str, ...],
        Setting(
            ("--profile",),
            "Profile of frameworks given without one: native (their defaults), tuned (as their documentation advises) "
            "or controlled (conductor only); repeatable. [default: native]",
            metavar="NAME",
        ),
    ] = ()
    concurrency: Annotated[int, Ge(1), Setting(("-j", "--concurrency"), "Trials at a time.")] = 4
    mcp: Annotated[
        tuple[str, ...],
        Setting(
            ("--mcp",),
            "MCP server whose tools a file of tasks has beside its own; repeatable.",
            metavar="COMMAND|URL",
        ),
    ] = ()
    tool_answers: Annotated[
        str | None,
        Setting(
            ("--tool-answers",),
            "Source of the answers of imported tools: live calls, which are kept, recorded ones, schemas, or a "
            "model. [default: as their files say]",
            choices=TOOL_ANSWERS,
        ),
    ] = None
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
        Lt(1),
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
    endpoint_key_env: Annotated[
        tuple[str, ...],
        Setting(
            ("--endpoint-key-env",),
            "Environment variable that holds the key of an endpoint which a model names as NAME@URL; repeatable. "
            "[default: OPENAI_API_KEY at OpenAI, that of --api-key-env at the host of --base-url, no key at others]",
            metavar="HOST=VARIABLE",
        ),
    ] = ()
    max_helper_requests: Annotated[
        int | None,
        Ge(1),
        Setting(
            ("--max-helper-requests",),
            "Maximum number of model requests of selector, simulators and judge, each. [default: no limit]",
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
        tuple[str, ...],
        Setting(
            ("--price",),
            "Price of tokens, in US dollars per million: of the model of this name, or of the run's first; repeatable. "
            "[default: that of genai-prices, where installed]",
            metavar="[NAME=]IN,OUT[,CACHED]",
        ),
    ] = ()
    budget: Annotated[
        str | None,
        Setting(
            ("--budget",),
            "What the run may use of its models, such as 5USD or 2Mtokens; no trial begins that it does not cover. "
            "[default: no limit]",
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
    executor: Annotated[str, Setting(("--executor",), "Where workers run.", metavar="NAME|FILE.py:NAME")] = "local"
    executor_options: Annotated[
        tuple[str, ...],
        Setting(
            ("--executor-option",),
            "Option of the executor; repeatable. A wrong name lists those that it has.",
            metavar="NAME=VALUE",
        ),
    ] = ()
    ray_address: Annotated[
        str | None,
        Setting(
            ("--ray-address",),
            "Head of the cluster of --executor ray. [default: that of RAY_ADDRESS, or on this machine]",
            metavar="HOST:PORT",
        ),
    ] = None
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
