"""Frameworks with their labels in a run, deviations, environments and the workers' findings."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence

from trialbed.records._base import Record

PIN = "=="
"""Parts a framework from the release that is asked for: ``langgraph==1.1.0``."""

PROFILE = ":"
"""Separates a framework's name from its profile, as in ``langgraph:native``."""

SETTINGS = "@"
"""Parts a framework from the settings that it has of its own in a run: ``langgraph:native@gpt-4o-mini``."""

COMMAND = re.compile(r"(\bbench [^\]]*)")
"""A command within a text, up to a closing bracket."""

NUMBER_OF_TOOLS, TEMPERATURE = re.compile(r"[@,]max_tools=(\d+)"), re.compile(r"[@,]temperature=(\d+(?:\.\d+)?)")
"""Settings in a label that are written like their options."""

NATIVE = "native"
"""The profile that a framework's name alone stands for, the program that its own documentation teaches."""

IN_PROCESS = "in process"
"""The adapter of an agent that is an object of the program that makes a run."""

CONTROLLED = "controlled"
"""The profile that uses the framework only as a conductor; requests, parsing and error texts are Trialbed's."""


def framework_name(label: str) -> str:
    """Return the framework's own name in a label, which is ``langgraph`` in ``langgraph:native==1.1.0``."""
    return framework_driver(label).partition(PROFILE)[0]


def framework_profile(label: str) -> str | None:
    """Return the profile in a label, which is ``native`` in ``langgraph:native==1.1.0``, or None without one."""
    return framework_driver(label).partition(PROFILE)[2] or None


def framework_driver(label: str) -> str:
    """Return the driver's name in a label, without the release, such as ``langgraph:native``."""
    return varied_framework(label).partition(PIN)[0]


def varied_framework(label: str) -> str:
    """A label without settings of its own: ``langgraph:native`` for ``langgraph:native@gpt-4o-mini``."""
    return label.partition(SETTINGS)[0]


def label_settings(label: str) -> str:
    """Return the settings in a framework's label; empty if it uses the run's."""
    return label.partition(SETTINGS)[2]


def labels_in_words(text: str) -> str:
    """Return a text with the settings of labels in words.

    ``reference@max_tools=20`` becomes ``reference with 20 tools``. Commands stay unchanged for copying.
    """
    return "".join(part if place % 2 else _in_words(part) for place, part in enumerate(COMMAND.split(text)))


def _in_words(text: str) -> str:
    found = NUMBER_OF_TOOLS.sub(r" with \1 tools", TEMPERATURE.sub(r" at temperature \1", text))
    return found.replace(" with 1 tools", " with 1 tool")


def framework_release(label: str) -> str | None:
    """Return the release in a label, which is ``1.1.0`` in ``langgraph:native==1.1.0``, or None without one."""
    return varied_framework(label).partition(PIN)[2] or None


def framework_package(label: str) -> str:
    """Return the label without its profile, such as ``langgraph==1.1.0``, since profiles share an installation."""
    release = framework_release(label)
    return framework_name(label) + (f"{PIN}{release}" if release else "")


def meant_labels(name: str, labels: Sequence[str]) -> list[str]:
    """Return the labels that a name stands for, which are the label itself or all labels of that framework.

    The name may lack the profile. If a framework has several settings, the name means the label with the run's settings
    unless it has settings too.
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
    """Return the label with this profile, such as ``langgraph:native==1.1.0`` for ``langgraph==1.1.0``."""
    release = framework_release(label)
    return f"{framework_name(label)}{PROFILE}{profile}" + (f"{PIN}{release}" if release else "")


class Deviation(Record):
    """A difference from Trialbed's rules that a framework forces.

    Attributes:
        check: the conformance check that the framework cannot pass for this reason, by its name in ``bench adapter
            check``; empty if no check covers it. If the check passes, that is reported, because the declaration is no
            longer true.
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
        """The SHA-256 of the lock; equal digests mean the same packages."""
        return hashlib.sha256(self.lock.encode()).hexdigest()


class FrameworkInfo(Record):
    """A framework as found by a worker.

    Attributes:
        name: the label in the run, which has the framework's name, its profile if it has profiles, and the release if
            one was asked for.
        version: the version of the framework that is installed for the worker.
        deviations: the deviations that the adapter declares.
        packages: ``name==version`` of everything installed for the worker, sorted.
        lock: the lock of its own environment; empty if it runs in the engine's interpreter.
        lock_digest: SHA-256 of the lock; empty without a lock.
        sandbox: the mechanisms that confined its worker, found before any adapter code was loaded; empty without a
            sandbox.
        takes_tools: whether the agent asks for the trial's tools; if not, only its own tools are called.
        dialect: the dialect that its adapter declares for requests to the model.
        finish_tool: the tool that a model ends with; empty for a text.
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
