"""The settings that identify a run; trials with different ones belong to different runs.

Nothing heavy is imported here, as ``bench run --help`` needs this module.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from annotated_types import Ge, Gt

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
            "Model that the judge asks, where the judge is not itself a model: MODEL or NAME@URL.",
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
        Setting(
            ("--faults",), "Plan of failures of tools and of the model that are put in on purpose.", metavar="FILE|JSON"
        ),
    ] = None
    timeout: Annotated[float, Gt(0), Setting(("--timeout",), "Maximum number of seconds per trial.")] = 120.0
    max_tokens: Annotated[
        int | None, Ge(1), Setting(("--max-tokens",), "Maximum number of tokens per completion. [default: the model's]")
    ] = None
    seed: Annotated[int, Setting(("--seed",), "Seed from which each trial's own seed is derived.")] = 0
    sandbox: Annotated[
        bool, Setting(("--sandbox",), "Keep the frameworks' workers from your files, keys, processes and network.")
    ] = False
