"""The names of an adapter's package, module and class."""

from __future__ import annotations

import re
from dataclasses import dataclass

from trialbed.errors import UsageError

PREFIX = "trialbed-"
LONGEST = 50
FORM = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")
TEMPLATE_WORDS = re.compile("trialbed_new_framework|NewFramework|new-framework")
"""The words of the template that are replaced by names."""


@dataclass(frozen=True)
class AdapterNames:
    """The names that follow from a framework's.

    Attributes:
        framework: what ``--framework`` takes.
    """

    framework: str

    @property
    def distribution(self) -> str:
        """The name that ``pip install`` takes, which is also the folder's."""
        return f"{PREFIX}{self.framework}"

    @property
    def module(self) -> str:
        """The name that ``import`` takes."""
        return self.distribution.replace("-", "_")

    @property
    def title(self) -> str:
        """The start of the names of classes."""
        return "".join(part.capitalize() for part in self.framework.split("-"))

    @property
    def agent_class(self) -> str:
        """The class that the entry point names."""
        return f"{self.title}Agent"

    def put_into(self, text: str) -> str:
        """Return a text of the template with these names in place of its own."""
        words = {"trialbed_new_framework": self.module, "NewFramework": self.title, "new-framework": self.framework}
        return TEMPLATE_WORDS.sub(lambda found: words[found[0]], text)


def adapter_names(framework: str, what: str = "framework") -> AdapterNames:
    """Return the names for a framework, or for a plugin of another kind.

    Args:
        what: the name is for; for the error's text.

    Raises:
        UsageError: the name cannot be that; suggests one that can.
    """
    if FORM.fullmatch(framework) and not framework.startswith(PREFIX) and len(framework) <= LONGEST:
        return AdapterNames(framework)
    raise UsageError(
        f"{framework!r} cannot be a {what}'s name: it must be lower-case letters, digits and single dashes, begin "
        f"with a letter, have at most {LONGEST} characters, and not begin with {PREFIX!r}, which is added"
        f"{_suggestion(framework)}"
    )


def _suggestion(framework: str) -> str:
    plain = re.sub(r"[^a-z0-9]+", "-", framework.lower()).removeprefix(PREFIX)
    tried = re.sub(r"^[^a-z]+", "", plain)[:LONGEST].strip("-")
    return f"; try {tried!r}" if FORM.fullmatch(tried) else ""
