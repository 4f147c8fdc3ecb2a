"""The options of a run, the objects that take the places of its drivers, and its sandbox."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cache, partial
from inspect import Parameter, signature
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_type_hints
from urllib.parse import urlsplit

from pydantic import BaseModel, TypeAdapter, ValidationError

from trialbed.agent_programs import AgentCommand, check_names
from trialbed.catalogs import ApiCatalog
from trialbed.contracts import Dataset, Executor, Judge, ModelDriver, ToolSelector
from trialbed.environments import check_wanted, expand_profiles
from trialbed.errors import UsageError
from trialbed.identity import source_of
from trialbed.records import Api, ApiRef, Environment, Query, RunConfig, WireLog
from trialbed.settings import FactorSettings, RunSettings, declared_settings, index_dir
from trialbed.suggestions import closest, did_you_mean
from trialbed.wire.addresses import is_loopback
from trialbed.wire.redaction import shown_url

if TYPE_CHECKING:
    from trialbed.contracts import Simulator
    from trialbed.tasks import ApiBody


@dataclass(frozen=True, kw_only=True)
class RunObjects:
    """Objects that replace drivers; for any other part, the options name the driver.

    Attributes:
        agents: label in the run -> the agent.
        bodies: the Apis that functions of the calling program answer.
        simulator: answers for all other Apis. An object, or a driver's name; None for the dataset's.
        plugins: name -> a plugin of this run alone, such as its scorers.
        model: the driver of the one model; the options have its name.
        checks: name -> a function that looks at the trials of the queries that name it.
        user: plays the users of kind ``caller``. It returns the next message after the last answer in a trial's log, or
            None to end the conversation.
    """

    agents: Mapping[str, Any] = field(default_factory=dict)
    dataset: Dataset | None = None
    judge: Judge | None = None
    selector: ToolSelector | None = None
    simulator: str | Simulator | None = None
    bodies: Mapping[ApiRef, ApiBody] = field(default_factory=dict)
    plugins: Mapping[str, object] = field(default_factory=dict)
    model: ModelDriver | None = None
    checks: Mapping[str, Callable[[Any], Any]] = field(default_factory=dict)
    user: Callable[[WireLog], Awaitable[str | None]] | None = None

    def with_dataset(self, dataset: Dataset) -> RunObjects:
        """Return the objects, with the dataset's functions, checks and scores.

        Raises:
            UsageError: a score of the dataset has the name of a given one.
        """
        twice = next((name for name in dataset.scorers if name in self.plugins), None)
        if twice is not None:
            raise UsageError(f"scorers: {dataset.name} already has a score {twice!r}; rename yours")
        return replace(
            self,
            bodies={**dataset.functions, **self.bodies},
            checks={**dataset.checks, **self.checks},
            plugins={**self.plugins, **dataset.scorers},
        )

    def code_digest(self) -> str | None:
        """Return the SHA-256 of the objects' source, which a continued run shares; None without objects."""
        plugins = {name: getattr(plugin, "code", plugin) for name, plugin in self.plugins.items()}
        texts = [
            f"{kind} {name}: {source_of(thing)}"
            for kind, objects in (("agent", self.agents), ("plugin", plugins), ("check", self.checks))
            for name, thing in sorted(objects.items())
        ]
        bodies = sorted(self.bodies.items(), key=lambda item: item[0].title)
        texts += [f"tool {ref.title}: {body.source()}" for ref, body in bodies]
        for kind, thing in (("judge", self.judge), ("selector", self.selector), ("simulator", self.simulator)):
            if thing is not None:
                texts.append(f"{kind}: {thing if isinstance(thing, str) else source_of(getattr(thing, 'code', thing))}")
        whole = b"".join(f"{len(text)}:{text}".encode("utf-8", "replace") for text in texts)
        return hashlib.sha256(whole).hexdigest() if texts else None


NO_OBJECTS = RunObjects()


@dataclass(frozen=True)
class Setup:
    """An agent under its own name, as in ``evaluate({"terse": Setup("langgraph", system_prompt="Be brief.")})``.

    Attributes:
        agent: a framework's label, or an agent of this process.
        system_prompt: its instructions, or the path of a file that has them; None for the run's.
        temperature: of its model; None for the run's.
    """

    agent: Any
    system_prompt: str | None = None
    temperature: float | None = None


@dataclass(frozen=True, kw_only=True)
class RunOptions(RunSettings):
    """The settings of a run, and further ones for its caller.

    Attributes:
        server_port: the port of a server that is started; 0 for any.
        environments: framework in ``frameworks`` -> its own environment, unless it runs in this interpreter.
        fresh: discard an unfinished run of the same configuration instead of resuming it.
        retry_failed: run the failed trials of the latest run of this configuration again.
        extend: the id of a run to extend to this configuration with more frameworks, queries or repeats, or ``last``
            for the latest that can be extended; None for a run of its own.
        allow_incomplete: if some trials are not measured, compare frameworks over the queries that all have.
        gold_answers: make each query's expected calls once, before its trials, and keep the answers.
        columns: name of a column -> its agent, by its label among the frameworks; empty if each has its own label.
    """

    server_port: int = 0
    environments: Mapping[str, Environment] = field(default_factory=dict)
    fresh: bool = False
    retry_failed: bool = False
    extend: str | None = None
    allow_incomplete: bool = False
    gold_answers: bool = False
    columns: Mapping[str, Setup] = field(default_factory=dict)


def with_labels(options: RunOptions, live: Collection[str], commands: Mapping[str, AgentCommand]) -> RunOptions:
    """Return the options with each framework's label in the run, which names its profile, and its environment.

    Programs are listed by their names. Each model, judge, temperature and number of tools is listed once.

    Args:
        live: labels of agents of this process, which stay unchanged.

    Raises:
        UsageError, DriverNotFound: as ``expand_profiles`` and ``check_wanted`` say, or a program is called like a
            framework.
    """
    labels = expand_profiles(options.frameworks, options.profiles, options.environments, live)
    if options.profiles:
        check_wanted(labels, options.profiles)
    environments = {
        label: options.environments[asked] for label, asked in labels.items() if asked in options.environments
    }
    once: dict[str, Any] = {
        item.name: tuple(dict.fromkeys(getattr(options, item.name)))
        for item in fields(FactorSettings)
        if item.name != "frameworks"
    }
    check_names(commands, tuple(labels))
    declared = tuple(command.declaration for command in commands.values())
    named = {asked: label for label, asked in labels.items()}
    columns = {
        name: replace(setup, agent=named.get(setup.agent, setup.agent)) for name, setup in options.columns.items()
    }
    return replace(
        options, frameworks=(*labels, *commands), environments=environments, commands=declared, columns=columns, **once
    )


def read_keywords(given: Mapping[str, Any], caller: Callable[..., Any], without: Collection[str]) -> dict[str, Any]:
    """Return the settings in a function's keyword arguments, converted for the options of a run.

    A list, or a single value, stands for the tuple of a setting that is repeatable; a record or a mapping for its JSON;
    text for a path.

    Args:
        caller: the function, named in errors, which suggest its own parameters too.
        without: settings that it does not take.

    Raises:
        UsageError: a name is not a setting's, or a value is not valid for it; says which are.
    """
    known = {field.name for field in fields(RunOptions)} - set(without)
    for name in given:
        if name not in known:
            meant = known | _parameters(caller)
            raise UsageError(
                f"{caller.__name__}: unknown setting {name!r}{did_you_mean(closest(name, meant))} Known are "
                f"{', '.join(sorted(meant))}"
            )
    several = {setting.name for setting in declared_settings() if setting.repeatable}
    found = {}
    for name, value in given.items():
        try:
            found[name] = _adapter(name).validate_python(_plain(value, repeatable=name in several))
        except ValidationError as error:
            problem = error.errors(include_url=False)[0]["msg"]
            raise UsageError(f"{caller.__name__}: {name}={value!r:.80}: {problem}") from error
    return found


_hints = cache(partial(get_type_hints, RunOptions, include_extras=True))


@cache
def _adapter(setting: str) -> TypeAdapter[Any]:
    """Return a reader of a setting's values; making it takes a hundred times as long as using it."""
    return TypeAdapter(_hints()[setting])


def _parameters(function: Callable[..., Any]) -> set[str]:
    """Return the names of the parameters that a caller can give, without a method's ``self``."""
    named = (Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY)
    return {name for name, own in signature(function).parameters.items() if own.kind in named and name != "self"}


def _plain(value: Any, *, repeatable: bool) -> Any:
    if repeatable and value is None:
        return ()
    if repeatable:
        return tuple(map(str, [value] if isinstance(value, (str, int, float)) else value))
    if isinstance(value, BaseModel):
        return value.model_dump_json()
    return json.dumps(value) if isinstance(value, dict) and all(isinstance(name, str) for name in value) else value


BESIDE = ("", "-journal", "-shm", "-wal")
"""The endings of the files that SQLite keeps for a database."""


def hidden_paths(settings: RunSettings, files: Iterable[Path] = ()) -> tuple[Path, ...] | None:
    """Return the files and folders that the run's workers must not see; None without a sandbox.

    Args:
        files: of the dataset.
    """
    if not settings.sandbox:
        return None
    hidden = [path.resolve() for path in files]
    for database in (settings.store, str(settings.response_cache)):
        if "://" not in database:
            path = Path(database).resolve()
            hidden += (path.with_name(path.name + ending) for ending in BESIDE)
    # Indexes have embeddings of queries, which could reveal their texts.
    hidden += (settings.output.resolve(), settings.data_dir.resolve(), index_dir().resolve())
    if Path(settings.dataset).is_file():
        hidden.append(Path(settings.dataset).resolve())
    folder = Path.cwd()
    hidden += (parent / ".env" for parent in (folder, *folder.parents) if (parent / ".env").exists())
    return tuple(dict.fromkeys(hidden))


def executor_options(settings: RunSettings) -> dict[str, str]:
    """Read ``NAME=VALUE``, once for each name; the address of a Ray cluster has an option of its own.

    Raises:
        UsageError: one has another form, or is for another executor.
    """
    found: dict[str, str] = {}
    if settings.ray_address is not None:
        if settings.executor != "ray":
            raise UsageError(f"--ray-address is for --executor ray, and this is --executor {settings.executor}")
        found["address"] = settings.ray_address
    for text in settings.executor_options:
        name, equals, value = text.partition("=")
        if not (name and equals):
            raise UsageError(f"--executor-option {text!r} is not an option: write NAME=VALUE")
        if name in found:
            raise UsageError(f"--executor-option {name} is given twice; give it once")
        found[name] = value
    return found


def check_executor(settings: RunSettings, executor: type[Executor], *, commands: bool = False) -> None:
    """See that an executor takes its options, and that its workers can reach the server and run in its sandbox.

    Args:
        commands: whether it has programs to run.

    Raises:
        UsageError: it does not, or they cannot.
        SandboxUnavailable: something that the sandbox needs is missing; says what, and how to get it.
    """
    executor.check_options(executor_options(settings))
    url = settings.server_url
    if executor.remote and url is not None and is_loopback(urlsplit(url).hostname or ""):
        raise UsageError(
            f"--server-url {shown_url(url)}: workers of --executor {settings.executor} are on other machines and "
            "cannot reach it; give an address at which they can reach this machine"
        )
    if (hidden := hidden_paths(settings)) is not None:
        if not executor.runs_sandboxed:
            raise UsageError(f"--sandbox: the executor {settings.executor!r} does not offer it")
        executor.check_sandbox(hidden, settings.server_url)
    if commands and not executor.runs_commands:
        raise UsageError(
            f"--executor {settings.executor} cannot run programs; leave out --command, or use another executor"
        )


@dataclass(frozen=True)
class Prepared:
    """The parts of a run that do not depend on the server or the workers.

    Attributes:
        catalog: the Apis that the selector chooses from; None if it needs no catalog.
        objects: the parts of it that are objects of this process.
        simulator: answers for Apis which nothing of this process answers for.
        cache: the file that keeps the answers of its models; None if they are not kept.
        cached_as: the identities of the models in the cache.
        notes: for the user, before the first trial, a sentence each.
    """

    options: RunOptions
    dataset: Dataset
    queries: Mapping[int | str, Query]
    config: RunConfig
    commands: Mapping[str, AgentCommand] = field(default_factory=dict)
    catalog: ApiCatalog | None = None
    objects: RunObjects = NO_OBJECTS
    simulator: str = "template"
    cache: Path | None = None
    cached_as: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def apis(self) -> Sequence[Api]:
        """Return the Apis that may be offered."""
        return self.dataset.apis() if self.catalog is None else self.catalog
