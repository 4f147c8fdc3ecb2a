"""The chat template of a local model: its own, one of Trialbed's, or a file."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path

from trialbed.errors import UsageError
from trialbed.files import read_text
from trialbed.suggestions import closest, did_you_mean
from trialbed_plugins.models.local._gguf import GgufHead

AUTO = "auto"
OWN = "own"
FUNCTION_CALL = "function-call"
NAMES = (FUNCTION_CALL,)
"""Templates that come with Trialbed, for models whose own parses no call."""

CHATML = "<|im_start|>"
UNPARSED = ("qwen2.5-coder", "qwen2.5 coder")
"""Beginnings of names, in lower case, whose models do not write calls in the tags of their own template."""


@dataclass(frozen=True)
class Template:
    """A chat template.

    Attributes:
        name: for messages.
        text: None for the model's own.
    """

    name: str
    text: str | None = field(default=None, repr=False)

    @property
    def identity(self) -> str:
        """Changes whenever the text does; the weights' digest says what their own is."""
        return OWN if self.text is None else hashlib.sha256(self.text.encode()).hexdigest()


def choose_template(wanted: str, head: GgufHead) -> Template:
    """The template that is wanted for a model.

    Args:
        wanted: ``auto``, ``own``, a name, or the path of a file.

    Raises:
        UsageError: there is none of this name.
        DataError: the file cannot be read.
    """
    if wanted == AUTO:
        wanted = FUNCTION_CALL if _needs_another(head) else OWN
    if wanted in NAMES:
        return Template(wanted, _read_packaged(wanted))
    if wanted == OWN:
        if not head.template:
            raise UsageError("--chat-template: the model has no template of its own; name another one, or a file")
        return Template(OWN)
    path = Path(wanted)
    if not path.is_file():
        known = (AUTO, OWN, *NAMES)
        raise UsageError(
            f"--chat-template: there is neither a template nor a file {wanted!r}{did_you_mean(closest(wanted, known))} "
            f"The templates are {', '.join(known)}"
        )
    return Template(path.name, read_text(path))


def _needs_another(head: GgufHead) -> bool:
    """Return whether a model speaks ChatML, and its calls are not parsed with its own template.

    Either its template offers no tools, or it was seen to write calls in other words than those that its template asks
    for. No template of Trialbed's fits others.
    """
    if CHATML not in head.template:
        return False
    return "tools" not in head.template or head.name.lower().startswith(UNPARSED)


def _read_packaged(name: str) -> str:
    return files("trialbed_plugins.models.local").joinpath("templates", f"{name}.jinja").read_text(encoding="utf-8")
