"""The contracts of the other drivers: datasets, selectors, simulators, judges, reporters, comparers and vendors."""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Protocol, TextIO

from trialbed.errors import ApiRefused as ApiRefused  # tools raise it, too
from trialbed.errors import JudgeError, UsageError
from trialbed.records import Answer, Api, ApiRef, Json, ModelEndpoint, Query, Record, ToolSpec, WireLog, unique_apis

if TYPE_CHECKING:
    import click

    from trialbed.model_access import ModelAccess
    from trialbed.views import Table, TestCase

NOTHING: Mapping[Any, Any] = MappingProxyType({})


class Dataset(ABC):
    """Queries and the Apis they are about.

    Attributes:
        name: the driver's name, or the file's.
        test_set: names the result document (``G1_instruction``, ``mini``).
        simulator: which simulator answers for these Apis when neither the cache nor the real API does.
        functions: the Apis that functions of this process answer, each with its ``trialbed.tasks.ToolBody``.
        checks: name -> a function that looks at the trials of the queries that name it.
        scorers: name -> a plugin that scores all trials.
        files: its own files, which no agent may read.
    """

    name: str
    test_set: str
    simulator: str = "template"
    functions: Mapping[ApiRef, Any] = NOTHING
    checks: Mapping[str, Callable[[Any], Any]] = NOTHING
    scorers: Mapping[str, object] = NOTHING
    files: Sequence[Path] = ()

    @abstractmethod
    def queries(self) -> Sequence[Query]:
        """Return all queries, in the dataset's order."""

    def apis(self) -> Sequence[Api]:
        """Return every Api of the dataset once; these are the Apis of its queries, unless a subclass has others."""
        return unique_apis(api for query in self.queries() for api in query.apis)

    def digest(self) -> str:
        """Return the SHA-256 over the queries as JSON, in order; equal digests mean the same tasks."""
        digest = hashlib.sha256()
        for query in self.queries():
            digest.update(f"{query.identity_json()}\n".encode())
        return digest.hexdigest()


class DatasetDriver(ABC):
    """A kind of dataset; a driver of the group ``trialbed.datasets`` is a subclass that takes no arguments."""

    description: ClassVar[str] = ""

    @abstractmethod
    def test_sets(self, data_dir: Path) -> Sequence[str]:
        """Return the test sets that are ready to use, given the folder that holds imported data."""

    @abstractmethod
    def open(self, test_set: str | None, data_dir: Path) -> Dataset:
        """Return the dataset of this test set (None: the driver's default).

        Raises:
            UsageError: the test set does not exist; lists the existing ones, and how to get more.
            DataError: its files are malformed; names file and key.
        """

    def use_tools(self, mcp: Sequence[str], answers: str | None) -> None:  # noqa: ARG002 - drivers override it
        """Change the tools of datasets that are opened from now on.

        Args:
            mcp: commands or URLs of MCP servers that add tools.
            answers: the source of answers, as ``--tool-answers`` has it; None for the dataset's own.

        Raises:
            UsageError: the tools of its datasets cannot be changed.
        """
        raise UsageError("--mcp and --tool-answers are for files of tasks: give one as --dataset")

    def recognises(self, folder: Path) -> bool:  # noqa: ARG002 - drivers override it
        """Return whether ``bench data import FOLDER`` is for this driver."""
        return False

    def import_folder(self, folder: Path, data_dir: Path) -> Sequence[str]:  # noqa: ARG002 - drivers override it
        """Check the folder's data, keep it under ``data_dir``, and return the test sets it gave."""
        raise UsageError(f"{type(self).__name__} cannot import folders")


class ToolSelector(ABC):
    """Chooses which Apis an agent is offered for a query.

    A driver of the group ``trialbed.selectors`` is a subclass that takes no arguments. One instance serves a
    whole run, so it may index the catalog once, in ``prepare``.

    Class attributes:
        needs_model: whether it is of no use without a model.
        needs_catalog: whether it chooses from the catalog; False if it knows the query's own Apis only.
        model: the model that it may ask (``--selector-model``), set before ``prepare``; None if the user names none.
            ``select`` runs outside of the event loop, and asks with ``model.ask_blocking``.
    """

    needs_model: ClassVar[bool] = False
    needs_catalog: ClassVar[bool] = True
    model: ModelAccess | None = None

    def prepare(self, apis: Sequence[Api]) -> None:  # noqa: B027 - most selectors need no index
        """Learn the catalog, once, before the first ``select``.

        Args:
            apis: the Apis of the dataset and of ``--catalog``, each identity once. They may be a
                ``trialbed.catalogs.ApiCatalog``, which reads an Api when it is asked for.
        """

    @abstractmethod
    def select(self, query: Query, *, max_tools: int) -> Sequence[ApiRef]:
        """At most ``max_tools`` identities, best first, each once, all of Apis given to ``prepare`` or of the query."""


class SelectionStage(Protocol):
    """Turns a selector's choice into tools, with unique model-safe names, schemas, and one order for all frameworks.

    The component ``selection`` opens one over a catalog, with ``open_selection(apis)``.
    """

    names: Mapping[ApiRef, str]
    """The tool name of every Api of the catalog."""

    def tools(self, query: Query, selector: ToolSelector, *, max_tools: int) -> tuple[ToolSpec, ...]:
        """Return the tools for this query, sorted by name."""


class Simulation(Record):
    """The answer of a simulated Api: ``error`` is empty on success. An error is never cached."""

    response: Json = ""
    error: str = ""


class Example(Record):
    """A cached answer of an Api, to another input, as an example of its answers."""

    arguments: Json
    response: Json


class World(ABC):
    """The state that the Apis of one trial act on, as a plain object that lives as long as the trial.

    It is made, called and read in its own thread, one call after the other. A call that does not return within the
    trial's time is given up, and the trial is not measured; other trials go on.

    Class attributes:
        checked: whether arguments that do not fit the Api's schema are refused before the world sees them.
    """

    checked: ClassVar[bool] = True

    @abstractmethod
    def call(self, api: Api, arguments: Mapping[str, Json]) -> Json:
        """Carry out a call of an Api, and return its response.

        Args:
            arguments: they fit the Api's schema, unless the world has ``checked = False``.

        Raises:
            ApiRefused: it cannot be done; nothing has changed.
            Exception: the world is broken: the trial is not measured.
        """

    @abstractmethod
    def state(self) -> Json:
        """Return the state after the trial's calls, as JSON; scores compare it with the query's ``final_state``."""


class Simulator(ABC):
    """Answers for Apis that neither the cache nor a real endpoint answers for.

    A driver of the group ``trialbed.simulators`` is a subclass that takes no arguments.

    Class attributes:
        provenance: how its answers are marked in the cache and the wire log (``template``, ``mini``).
        model: the model that it may ask (``--simulator-model``), set before its first answer; None if the user names
            none.
        system_prompt: the system prompt for that model (``--simulator-prompt``); None for its own.
        needs_model: whether it can answer nothing without one; it is refused then, before it is asked.
        invented: whether its Apis exist nowhere else; no real API is then asked for them.
        max_examples: how many cached answers of the Api ``simulate_like`` is given at most; with 0 it is not called.
    """

    provenance: ClassVar[str]
    needs_model: ClassVar[bool] = False
    invented: ClassVar[bool] = False
    max_examples: ClassVar[int] = 0
    model: ModelAccess | None = None
    system_prompt: str | None = None

    @property
    def label(self) -> str:
        """The mark of its answers, with the provenance and everything else that they depend on (``llm:<model>``)."""
        return self.provenance

    def revision(self, api: Api | None) -> str:  # noqa: ARG002 - simulators override it
        """A text that changes whenever a stored answer for this Api would no longer be given.

        Stored answers of another revision are not used. Empty: stored answers stay valid forever.
        """
        return ""

    def settings(self) -> Mapping[str, Json]:
        """Return the settings that its answers are made with, such as the model's; stored with every answer."""
        return {}

    def world(self) -> World | None:
        """A new world for one trial, if the Apis change something; its answers are never cached.

        None: equal calls have equal answers, whenever they are made.
        """
        return None

    def world_from(self, state: Json) -> World | None:  # noqa: ARG002 - simulators override it
        """A new world for one trial, which begins as the query's ``initial_state`` says."""
        return self.world()

    @abstractmethod
    async def simulate(self, api: Api | None, ref: str, arguments: dict[str, Json]) -> Simulation:
        """Answer one call.

        Args:
            api: the Api's documentation, None if it is unknown.
            ref: ``category/tool_name/api_name`` as asked for, to name it in errors.
            arguments: the parsed input. It may not fit the Api's schema; an exception is an API error then.

        Raises:
            SimulationError: no answer can be given; becomes an API error.
            Exception: the simulator is broken. The trial is not measured, if the Api is known and the arguments fit.
        """

    async def simulate_like(
        self,
        api: Api | None,
        ref: str,
        arguments: dict[str, Json],
        examples: Sequence[Example],  # noqa: ARG002
    ) -> Simulation:
        """Answer one call, given answers that the Api gave to other inputs.

        Raises:
            SimulationError: no answer can be given; becomes an API error.
        """
        return await self.simulate(api, ref, arguments)


AnswerStatus = Literal["Solved", "Unsure", "Unsolved"]

STATUS_VALUES: dict[AnswerStatus, float] = {"Solved": 1.0, "Unsure": 0.5, "Unsolved": 0.0}
"""The value of each status in the Solvable Pass Rate (StableToolBench, Guo et al. 2024)."""


class Vote(Record):
    """One vote of a judge, with its status, reason and seed, and how it was reached."""

    status: AnswerStatus
    reason: str = ""
    seed: int | None = None
    step: str = ""


class Verdict(Record):
    """A judge's finding.

    Attributes:
        status: of most votes; Unsure if two are equally frequent.
        value: the mean of the votes' values, in [0, 1].
        reason: why, in words.
        votes: the status of each vote.
        ballots: each vote with its reason, if the judge gives them.
    """

    status: AnswerStatus
    value: float
    reason: str
    votes: tuple[AnswerStatus, ...]
    ballots: tuple[Vote, ...] = ()

    @property
    def agreement(self) -> float:
        """The share of votes that have the most frequent status: 1 if all agree."""
        return max(self.votes.count(status) for status in self.votes) / len(self.votes) if self.votes else 1.0


class Judge(ABC):
    """Grades an answer; a driver of the group ``trialbed.judges`` is a subclass.

    Class attributes:
        needs_model: whether it cannot work without a model (``--judge-model``).
        model: the model that it may ask, set before its first verdict; None if the user names none.
        prompts: the folder of an installed copy of a judge's own prompts (``--judge-prompts``), also set before its
            first verdict.

    Args:
        endpoint: the endpoint of its model; None if the user names no model.
        votes: how many verdicts one answer gets.
    """

    needs_model: ClassVar[bool] = False
    model: ModelAccess | None = None
    prompts: Path | None = None

    def __init__(self, endpoint: ModelEndpoint | None = None, *, votes: int = 1) -> None:
        self.endpoint = endpoint
        self.votes = votes

    @property
    def about(self) -> Mapping[str, Json]:
        """The settings that its verdicts depend on, such as the digest of its prompt, without the model and the votes.

        A calibration is of the judge with these values, and result documents have them.
        """
        return {}

    def calibration(self) -> Mapping[str, Json] | None:
        """Return its agreement with labelled cases if all instances share it, or None if it must be measured.

        It has the form of ``bench judge calibrate --json``. A calibration that the user measured comes first.
        """
        return None

    @abstractmethod
    async def judge(self, query: Query, answer: Answer, wire: WireLog) -> Verdict:
        """Grade the answer against the query and the wire log.

        Raises:
            JudgeError: no usable verdict; it is never replaced by a guess.
        """

    async def meets(
        self,
        criterion: str,  # noqa: ARG002 - drivers override it
        query: Query,  # noqa: ARG002
        answer: Answer,  # noqa: ARG002
        wire: WireLog,  # noqa: ARG002
    ) -> Verdict:
        """Return whether a criterion of a task, in words, is met, as the verdict Solved or Unsolved.

        Raises:
            JudgeError: no usable verdict, or the judge reads no criteria.
        """
        raise JudgeError(f"{type(self).__name__} reads no criteria; name a model that does as --judge-model")

    async def close(self) -> None:  # noqa: B027 - closing nothing is the usual case
        """Free the resources of the judge."""


class Reporter(ABC):
    """Shows the results of runs; a driver of the group ``trialbed.reporters`` is a subclass that takes no arguments.

    Attributes:
        explained: whether readers asked for the meaning of each figure, with ``--legend``; set before ``report`` is
            called.
        brief: whether a screen of the most important figures is enough, as for ``bench show``; set likewise.
    """

    explained: bool = False
    brief: bool = False

    @abstractmethod
    def report(self, report: Any, stream: TextIO) -> None:
        """Write the results, for people.

        Args:
            report: the ``trialbed.Report`` of a run.
        """


@dataclass(frozen=True)
class Comparison:
    """The findings of a comparer.

    Attributes:
        document: all of it, as JSON.
        tables: the same for people.
        records: its figures, one per line of CSV, all with the same keys.
        failed: which of the checks that were asked for failed, one line each; any of them is exit code 1.
        page: makes the HTML for ``--format html``; None for a page of the tables.
        tests: for ``--format junit``; a failed check that is not the message of a failed test becomes one.
        title: of a page, which says what was compared.
    """

    document: Any
    tables: Sequence[Table]
    records: Sequence[Mapping[str, Any]]
    failed: Sequence[str] = ()
    page: Callable[[], str] | None = None
    tests: Sequence[TestCase] = ()
    title: str = "Comparison"


class Comparer(ABC):
    """Compares things of one kind for ``bench compare``.

    A driver of the group ``trialbed.comparers`` is a subclass that takes no arguments.

    Class attributes:
        contents: a plural noun for its subjects, such as "runs", used in the help and in errors.
    """

    contents: ClassVar[str]

    def options(self) -> Sequence[click.Option]:
        """Options of ``bench compare`` that are for this kind only."""
        return ()

    @abstractmethod
    def recognises(self, value: str) -> bool:
        """Return whether an argument of the command is of this kind.

        Also called for malformed files: return True if the comparer can report their faults.
        """

    @abstractmethod
    def compare(self, values: Sequence[str], options: Mapping[str, Any]) -> Comparison:
        """Compare.

        Args:
            values: the arguments, all of this kind, in order; the first is the baseline.
            options: the comparer's own options by name, and ``force``.

        Raises:
            UsageError, DataError: they cannot be compared; says why.
        """


VENDOR_CONTRACT = "1"
"""The version of ``Vendor`` and ``ModelAdapter``; a driver names the one it was written for as ``contract``."""


class Vendor:
    """An OpenAI-compatible endpoint and its peculiarities; a driver of the group ``trialbed.vendors`` is a subclass.

    A subclass of a few lines is enough. The class attributes give the endpoint's address and its names of models,
    ``prepare`` adds anything else that its requests need.

    Class attributes:
        contract: the contract's version the driver was written for (``"1"``); checked at load.
        base_url: the vendor's address, ending before ``/chat/completions``; empty if it has to be given.
        key_variable: the environment variable that usually holds its key.
        models: unified model name -> the vendor's own id.

    Args:
        base_url: another address, such as a proxy's; default: the class's.
        provider: the provider that a router must use, if the vendor is a router.
    """

    contract: ClassVar[str]
    base_url: ClassVar[str] = ""
    key_variable: ClassVar[str] = ""
    models: ClassVar[Mapping[str, str]] = {}

    def __init__(self, *, base_url: str | None = None, provider: str | None = None) -> None:
        self.url = (base_url or self.base_url).rstrip("/")
        self.provider = provider

    def model_id(self, model: str) -> str:
        """Return the vendor's id of a model; other names stay unchanged."""
        return self.models.get(model, model)

    def headers(self, api_key: str) -> dict[str, str]:
        """Return the headers of a request; none of them is ever recorded."""
        return {"Authorization": f"Bearer {api_key}"}

    def prepare(self, request: dict[str, Any], model: str) -> dict[str, Any]:  # noqa: ARG002 - drivers override it
        """Return the request that this vendor needs, which is the same one or a changed copy.

        Args:
            request: the body, with the vendor's model id.
            model: the unified name.
        """
        return request


class ModelAdapter(ABC):
    """The changes a family of models needs in requests; a driver of the group ``trialbed.model_adapters``.

    Class attributes:
        contract: the contract's version the driver was written for (``"1"``); checked at load.

    Attributes:
        trust_tokenizer_code: whether ``prompt`` may run code that comes with a tokenizer; false unless the user asks.
    """

    contract: ClassVar[str]
    trust_tokenizer_code: bool = False

    @classmethod
    @abstractmethod
    def recognises(cls, model: str) -> bool:
        """Return whether a model of this name is of the family."""

    def transform(self, messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """Return the conversation that the model needs; must not change its argument."""
        return messages

    def prompt(
        self,
        messages: list[dict[str, Any]],  # noqa: ARG002 - drivers override it
        tools: list[dict[str, Any]] | None,  # noqa: ARG002 - drivers override it
        tokenizer: str,  # noqa: ARG002 - drivers override it
    ) -> str:
        """Return the conversation as the text of a raw completion.

        Args:
            tokenizer: the name or folder of the tokenizer with the chat template.

        Raises:
            UsageError: the family has no raw completions, or the tokenizer cannot be loaded.
        """
        from trialbed.errors import UsageError

        raise UsageError(f"{type(self).__name__} has no raw completions; leave --use-raw-completions out")

    def count_tokens(self, text: str, tokenizer: str) -> int | None:  # noqa: ARG002 - drivers override it
        """Count the tokens of a text; None if that is not known.

        Args:
            tokenizer: as ``prompt`` is given it.
        """
        return None

    def calls_of(self, text: str) -> tuple[str, list[dict[str, Any]]]:
        """Return the text of a raw completion without its tool calls, and the calls in OpenAI's form."""
        return text, []
