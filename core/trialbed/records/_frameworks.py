"""A framework: its label in a run, its deviations, its environment, and how a worker found it."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence

from trialbed.records._base import Record

PIN = "=="
"""Parts a framework from the release that is asked for: ``langgraph==1.1.0``."""

PROFILE = ":"
"""Parts a framework's name from one of its profiles: ``langgraph:native``."""

SETTINGS = "@"
"""Parts a framework from the settings that it has of its own in a run: ``langgraph:native@gpt-4o-mini``."""

COMMAND = re.compile(r"(\bbench [^\]]*)")
"""A command within a text, up to the bracket in which it may stand."""

NUMBER_OF_TOOLS, TEMPERATURE = re.compile(r"[@,]max_tools=(\d+)"), re.compile(r"[@,]temperature=(\d+(?:\.\d+)?)")
"""Settings in a label whose names are those of options."""

NATIVE = "native"
"""The profile that a framework's name alone stands for: the program that its own documentation teaches."""

IN_PROCESS = "in process"
"""The adapter of an agent that is an object of the program that makes a run."""

CONTROLLED = "controlled"
"""The profile in which the framework is a conductor only: requests, parsing and error texts are Trialbed's."""


def framework_name(label: str) -> str:
    """The framework's own name in a label: ``langgraph`` for ``langgraph:native==1.1.0``."""
    return framework_driver(label).partition(PROFILE)[0]


def framework_profile(label: str) -> str | None:
    """The profile in a label: ``native`` for ``langgraph:native==1.1.0``, None for ``langgraph==1.1.0``."""
    return framework_driver(label).partition(PROFILE)[2] or None


def framework_driver(label: str) -> str:
    """The driver's name in a label, all but the release: ``langgraph:native`` for ``langgraph:native==1.1.0``."""
    return varied_framework(label).partition(PIN)[0]


def varied_framework(label: str) -> str:
    """A label without settings of its own: ``langgraph:native`` for ``langgraph:native@gpt-4o-mini``."""
    return label.partition(SETTINGS)[0]


def label_settings(label: str) -> str:
    """The settings that a framework has of its own, as its label has them; empty for those of the run."""
    return label.partition(SETTINGS)[2]


def labels_in_words(text: str) -> str:
    """A text with the settings of labels in words: ``reference with 20 tools`` for ``reference@max_tools=20``.

    Commands stay as they are, so that they can be copied.
    """
    return "".join(part if place % 2 else _in_words(part) for place, part in enumerate(COMMAND.split(text)))


def _in_words(text: str) -> str:
    found = NUMBER_OF_TOOLS.sub(r" with \1 tools", TEMPERATURE.sub(r" at temperature \1", text))
    return found.replace(" with 1 tools", " with 1 tool")


def framework_release(label: str) -> str | None:
    """The release that a label asks for: ``1.1.0`` for ``langgraph:native==1.1.0``, None for ``langgraph``."""
    return varied_framework(label).partition(PIN)[2] or None


def framework_package(label: str) -> str:
    """The label without its profile, ``langgraph==1.1.0``: the installed part, which the profiles share."""
    release = framework_release(label)
    return framework_name(label) + (f"{PIN}{release}" if release else "")


def meant_labels(name: str, labels: Sequence[str]) -> list[str]:
    """The labels that a name stands for: itself, or those of which it is the framework, with or without the profile.

    Of a framework with settings of its own, it is the one with the run's, unless the name has such settings too.
    """
    if name in labels:
        return [name]
    framework, settings = varied_framework(name), label_settings(name)

    def has_settings(label: str) -> bool:
        own = label_settings(label)
        return own == settings if settings else not (own and varied_framework(label) in labels)

    return [
        label
        for label in labels
        if framework in (framework_name(label), framework_driver(label), framework_package(label))
        and has_settings(label)
    ]


def with_profile(label: str, profile: str) -> str:
    """The label with this profile: ``langgraph:native==1.1.0`` for ``langgraph==1.1.0``."""
    release = framework_release(label)
    return f"{framework_name(label)}{PROFILE}{profile}" + (f"{PIN}{release}" if release else "")


class Deviation(Record):
    """A difference from what Trialbed asks for that a framework forces.

    Attributes:
        check: the conformance check that the framework cannot pass for this reason, as ``bench adapter check``
            names it; empty where no check looks at it. A check that passes all the same is reported: the
            declaration is no longer true.
        text: in words, for the report.
        upstream: URL of the framework's own documentation or issue, if there is one.
    """

    text: str
    check: str = ""
    upstream: str = ""


class Environment(Record):
    """An isolated environment that holds one framework's adapter.

    Attributes:
        python: path of its interpreter.
        lock: every requirement with its exact version, as uv resolved it (requirements format).
    """

    python: str
    lock: str

    @property
    def lock_digest(self) -> str:
        """SHA-256 of the lock: equal digests mean the same packages."""
        return hashlib.sha256(self.lock.encode()).hexdigest()


class FrameworkInfo(Record):
    """A framework as a worker found it.

    Attributes:
        name: the label in the run: the framework's name, its profile if it has profiles, and the release if one was
            asked for.
        version: the framework's own, as installed where the worker runs.
        deviations: those that the adapter declares.
        packages: ``name==version`` of everything installed where the worker runs, sorted.
        lock: the lock of its own environment; empty if it runs in the engine's interpreter.
        lock_digest: SHA-256 of the lock; empty likewise.
        sandbox: the mechanisms that held its worker, as found before anything of it was loaded; empty for none.
        takes_tools: whether the agent asks for the trial's tools; if not, only its own tools are called.
        dialect: in which its adapter says that it asks the model. ``finish_tool``: with which a model ends; empty for a
            text.
        converses: whether the agent can be asked again, and goes on with the conversation.
    """

    name: str
    version: str
    adapter: str
    adapter_version: str
    python: str
    deviations: tuple[Deviation, ...] = ()
    packages: tuple[str, ...] = ()
    lock: str = ""
    lock_digest: str = ""
    sandbox: tuple[str, ...] = ()
    dialect: str = "chat_completions"
    finish_tool: str = ""
    takes_tools: bool = True
    converses: bool = False
