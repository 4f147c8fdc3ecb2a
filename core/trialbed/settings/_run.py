"""The settings of a run, each declared once, as a field of ``RunSettings``, and read by options, files and documents.

All else follows from the declaration: the option of ``bench run``, its environment variable, its key in a settings
file, whether the setting is part of a run's identity, and its key in the result document. To add a setting, add a
field, and use it where it has its effect.

Nothing heavy is imported here, as ``bench run --help`` needs this module.
"""

from __future__ import annotations

from dataclasses import MISSING, dataclass, field, fields
from functools import cache
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, get_args, get_origin, get_type_hints

from annotated_types import Ge, Gt, Lt

from trialbed.settings._files import completion_cache, data_dir, response_cache, store_file

ON_MISS = ("stop", "ask")


@dataclass(frozen=True)
class Setting:
    """The option of a setting, and the ways to show its value.

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
class FactorSettings:
    """The identifying settings that may have several values; each combination is a column.

    Attributes:
        frameworks: their names; ``NAME:PROFILE`` asks for a profile of a framework, ``NAME==VERSION`` for a release.
        system_prompt: texts, or the paths of files; each framework has its own place for them.
    """

    frameworks: Annotated[
        tuple[str, ...],
        Setting(
            ("-f", "--framework"),
            "Framework to run, optionally with a profile (NAME:tuned) or release (NAME==1.2), or an agent in a file; "
            "repeatable.",
            metavar="NAME[:PROFILE][==VERSION]|FILE.py:NAME",
            document="",
        ),
    ] = ("reference",)
    model: Annotated[
        tuple[str, ...],
        Setting(
            ("-m", "--model"),
            "Model: one of `bench models`, such as scripted:gold, an object in a file, or a model of --base-url or of "
            "the endpoint that it names; repeatable.",
            metavar="NAME[@URL]|SCHEME:NAME|FILE.py:NAME",
        ),
    ] = ("scripted:gold",)
    temperature: Annotated[
        tuple[Annotated[float, Ge(0)], ...],
        Setting(
            ("--temperature",),
            "Sampling temperature of the model. [default: the framework's own in the profile native; 0 for all others]",
        ),
    ] = ()
    system_prompt: Annotated[
        tuple[str, ...],
        Setting(
            ("--system-prompt",),
            "File with the instructions that agents get in place of Trialbed's; repeatable.",
            metavar="FILE",
        ),
    ] = ()
    max_tools: Annotated[
        tuple[Annotated[int, Ge(1)], ...],
        Setting(
            ("--max-tools",),
            "Maximum number of tools offered per task; repeatable, or several with commas.",
            metavar="INTEGER[,INTEGER...]",
        ),
    ] = (120,)


@dataclass(frozen=True, kw_only=True)
class IdentitySettings:
    """The other identifying settings; two runs with equal settings are the same run.

    Attributes:
        commands: programs that are agents; each is a framework in the run, under its name.
        dataset: ``NAME``, ``NAME:TEST_SET`` or the path of a JSON file.
        model_name: frameworks decide by a model's name what they send; the endpoint gets the model's own.
        allowed_models: a request for any model but these and the run's is refused, and the framework
            answers for that.
        base_url: an OpenAI-compatible endpoint for models that are not scripted, ending in ``/v1``.
        catalog: more Apis in addition to the dataset's, for selectors that choose from a catalog.
        judge: ``rule``, another judge's name, or a model: grades each trial at its end.
        seed: every trial's own seed derives from it, the query and the repeat.
        sandbox: whether adapters, which may not be trusted, are kept from the machine and from the run's data.
    """

    commands: Annotated[
        tuple[str, ...],
        Setting(
            ("--command",),
            "Program to run as an agent, without an adapter; repeatable.",
            metavar="[NAME=]COMMAND",
            document="",
        ),
    ] = ()
    dataset: Annotated[
        str, Setting(("-d", "--dataset"), "Tasks to run.", metavar="NAME[:TEST_SET]|FILE|FILE.py:NAME")
    ] = "mini"
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
        str | None, Setting(("--base-url",), "OpenAI-compatible endpoint of real models, ending in /v1.", metavar="URL")
    ] = None
    on_miss: Annotated[
        str,
        Setting(
            ("--on-miss",),
            "If a recorded model has no answer to a request: stop the trial, or ask the model at --base-url.",
            document="",
            choices=ON_MISS,
        ),
    ] = "stop"
    repeat: Annotated[int, Ge(1), Setting(("--repeat",), "Trials per framework and task.")] = 1
    selector: Annotated[
        str, Setting(("--selector",), "Selector that chooses the offered tools.", metavar="NAME|FILE.py:NAME")
    ] = "query"
    catalog: Annotated[
        tuple[str, ...],
        Setting(
            ("--catalog",),
            "More tools that the selector chooses from: all test sets of a dataset, one of them, or a file of "
            "tasks; repeatable. [default: the dataset's own]",
            metavar="NAME[:TEST_SET]|FILE",
            document="",
        ),
    ] = ()
    judge: Annotated[
        str,
        Setting(
            ("--judge",),
            "Judge that grades the answers.",
            metavar="NAME|MODEL|FILE.py:NAME",
            document="evaluator_model",
        ),
    ] = "rule"
    judge_votes: Annotated[int, Ge(1), Setting(("--judge-votes",), "Verdicts per answer.")] = 1
    judge_model: Annotated[
        str | None,
        Setting(
            ("--judge-model",),
            "Model that the judge asks, unless the judge is itself a model: MODEL or NAME@URL.",
            metavar="MODEL",
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
        Setting(
            ("--selector-model",), "Model that the selector may ask, at --base-url or as NAME@URL.", metavar="MODEL"
        ),
    ] = None
    simulator_model: Annotated[
        str | None,
        Setting(
            ("--simulator-model",), "Model that simulators may ask, at --base-url or as NAME@URL.", metavar="MODEL"
        ),
    ] = None
    user_model: Annotated[
        str | None,
        Setting(
            ("--user-model",), "Model that plays users of kind model, at --base-url or as NAME@URL.", metavar="MODEL"
        ),
    ] = None
    max_steps: Annotated[int, Ge(1), Setting(("--max-steps",), "Maximum number of model requests per trial.")] = 12
    max_trial_tokens: Annotated[
        int | None,
        Ge(1),
        Setting(("--max-trial-tokens",), "Number of tokens after which a trial is stopped. [default: no limit]"),
    ] = None
    faults: Annotated[
        str | None,
        Setting(("--faults",), "Plan of failures of tools and of the model to inject.", metavar="FILE|JSON"),
    ] = None
    timeout: Annotated[float, Gt(0), Setting(("--timeout",), "Maximum number of seconds per trial.")] = 120.0
    max_tokens: Annotated[
        int | None, Ge(1), Setting(("--max-tokens",), "Maximum number of tokens per completion. [default: the model's]")
    ] = None
    seed: Annotated[int, Setting(("--seed",), "Seed from which each trial's own seed is derived.")] = 0
    sandbox: Annotated[
        bool, Setting(("--sandbox",), "Keep frameworks away from your files, keys, processes and network.")
    ] = False


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
        Setting(("--query-id",), "Only this task, or tasks in a range such as 1-5; repeatable.", metavar="ID"),
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
            "Seed for a random order of the tasks. [default: the dataset's order]",
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
        Setting(("--mcp",), "MCP server with more tools for a file of tasks; repeatable.", metavar="COMMAND|URL"),
    ] = ()
    tool_answers: Annotated[
        str | None,
        Setting(
            ("--tool-answers",),
            "Source of imported tools' answers: live calls (kept for later), recorded calls, schemas, or a model. "
            "[default: as in their files]",
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
        Setting(("--margin",), "Largest difference in a score that does not matter."),
    ] = MARGIN
    model_retries: Annotated[
        int, Ge(0), Setting(("--model-retries",), "Maximum number of retries of a failed model request.")
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
            "Maximum number of test requests before an endpoint's first trial, to see whether it parses calls. 0 "
            "sends none.",
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
            "Environment variable with the key of an endpoint in a model's NAME@URL; repeatable. "
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
            "Seconds of silence after which a request of the selector or judge is abandoned. [default: 300, or "
            "--timeout if longer]",
        ),
    ] = None
    price: Annotated[
        tuple[str, ...],
        Setting(
            ("--price",),
            "Price of tokens, in US dollars per million: of the model of this name, or of the run's first; repeatable. "
            "[default: that of genai-prices, if installed]",
            metavar="[NAME=]IN,OUT[,CACHED]",
        ),
    ] = ()
    budget: Annotated[
        str | None,
        Setting(
            ("--budget",),
            "Limit for the run's models, such as 5USD or 2Mtokens; no trial starts that the rest does not cover. "
            "[default: no limit]",
            metavar="AMOUNT",
        ),
    ] = None
    server_url: Annotated[
        str | None, Setting(("--server-url",), "Running server to use. [default: start one for the run]", metavar="URL")
    ] = None
    tags: Annotated[
        tuple[str, ...], Setting(("--tag",), "Tag to find the run by in bench runs; repeatable.", metavar="TAG")
    ] = ()
    note: Annotated[
        str | None, Setting(("--note",), "Text that bench runs and bench show print with the run.", metavar="TEXT")
    ] = None
    executor: Annotated[str, Setting(("--executor",), "Where workers run.", metavar="NAME|FILE.py:NAME")] = "local"
    executor_options: Annotated[
        tuple[str, ...],
        Setting(
            ("--executor-option",),
            "Option of the executor; repeatable. A wrong name lists the right ones.",
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
        Path, Setting(("--response-cache",), "The virtual API's cache of responses. [default: .trialbed/responses.db]")
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
            "Cache of the model's answers: equal requests of all frameworks share one. "
            "[default: .trialbed/model-answers.db for local models, off for others]",
            metavar="FILE|off",
        ),
    ] = None
    output: Annotated[Path, Setting(("-o", "--output"), "Folder for the result documents.", folder=True)] = (
        Path("results") / "tools"
    )
    data_dir: Annotated[
        Path, Setting(("--data-dir",), "Folder of imported datasets. [default: the user's cache folder]", folder=True)
    ] = field(default_factory=data_dir)


@dataclass(frozen=True)
class Declared:
    """A declared setting, described by its field.

    Attributes:
        name: the field's name.
        kind: the type of a value: ``str``, ``int``, ``float``, ``bool`` or ``Path``.
        optional: whether it may be None.
        repeatable: whether it is a tuple of such values.
        minimum: the least value; None for no bound.
        above: the value that it must exceed; None for no bound.
        below: the value that it must fall short of; None for no bound.
        default: None also if it is only known when a run is asked for, such as a folder's.
        usual: its value in a column of a run that says nothing of it: the first of several.
        identity: whether it is part of a run's identity.
    """

    name: str
    setting: Setting
    kind: type
    optional: bool
    repeatable: bool
    minimum: float | None
    above: float | None
    below: float | None
    default: Any
    usual: Any
    identity: bool

    @property
    def key(self) -> str:
        """Return its key in a settings file, which is the long option without dashes."""
        return self.setting.option[-1].removeprefix("--")

    @property
    def variable(self) -> str:
        """The environment variable that gives it."""
        return f"TRIALBED_{self.key.replace('-', '_').upper()}"

    @property
    def document(self) -> str | None:
        """Return its key in a result document's ``metadata``, or None."""
        if not self.identity or self.setting.document == "":
            return None
        return self.setting.document or self.name


@cache
def declared_settings() -> tuple[Declared, ...]:
    """Return every setting, in the order of declaration."""
    hints = get_type_hints(RunSettings, include_extras=True)
    identity = {item.name for part in (FactorSettings, IdentitySettings) for item in fields(part)}
    return tuple(
        _declared(item.name, hints[item.name], None if item.default is MISSING else item.default, item.name in identity)
        for item in fields(RunSettings)
    )


def _declared(name: str, hint: Any, default: Any, identity: bool) -> Declared:
    inner, *marks = get_args(hint)
    setting = next(mark for mark in marks if isinstance(mark, Setting))
    optional = get_origin(inner) is UnionType
    repeatable = get_origin(inner) is tuple
    kind = next(part for part in get_args(inner) if part is not NoneType) if optional or repeatable else inner
    if get_origin(kind) is Annotated:  # each value of a tuple has bounds
        kind, *bounds = get_args(kind)
        marks += bounds
    minimum: Any = next((mark.ge for mark in marks if isinstance(mark, Ge)), None)
    above: Any = next((mark.gt for mark in marks if isinstance(mark, Gt)), None)
    below: Any = next((mark.lt for mark in marks if isinstance(mark, Lt)), None)
    several = name in FactorSettings.__dataclass_fields__
    usual = next(iter(default), None) if several else default
    return Declared(name, setting, kind, optional, repeatable, minimum, above, below, default, usual, identity)
