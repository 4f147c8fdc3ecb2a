"""The parts of a run that are plain objects of the calling program, where commands name drivers."""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from trialbed.contracts import Dataset, Judge, Simulator, ToolSelector
from trialbed.records import ApiRef
from trialbed.tasks import ToolBody


@dataclass(frozen=True, kw_only=True)
class RunObjects:
    """Objects that take the places of drivers; each that is missing is the driver that the options name.

    Attributes:
        agents: label in the run -> the agent.
        bodies: the Apis whose calls functions of the calling program answer.
        simulator: answers for all other Apis: an object, or a driver's name; None for that of the dataset.
        plugins: name -> a plugin of this run alone, such as its scorers.
    """

    agents: Mapping[str, Any] = field(default_factory=dict)
    dataset: Dataset | None = None
    judge: Judge | None = None
    selector: ToolSelector | None = None
    simulator: str | Simulator | None = None
    bodies: Mapping[ApiRef, ToolBody] = field(default_factory=dict)
    plugins: Mapping[str, object] = field(default_factory=dict)

    def code_digest(self) -> str | None:
        """Return the SHA-256 of the source of all of them, which a continued run shares; None without any."""
        digest = hashlib.sha256()
        texts = list(self._texts())
        for text in texts:
            digest.update(f"{len(text)}:{text}".encode("utf-8", "replace"))
        return digest.hexdigest() if texts else None

    def _texts(self) -> Iterator[str]:
        bodies = {ref.title: body.code for ref, body in self.bodies.items()}
        plugins = {name: getattr(plugin, "code", plugin) for name, plugin in self.plugins.items()}
        for kind, objects in (("agent", self.agents), ("tool", bodies), ("plugin", plugins)):
            yield from (f"{kind} {name}: {source_of(thing)}" for name, thing in sorted(objects.items()))
        for kind in ("judge", "selector", "simulator"):
            thing = getattr(self, kind)
            if thing is not None:
                yield f"{kind}: {thing if isinstance(thing, str) else source_of(getattr(thing, 'code', thing))}"


NO_OBJECTS = RunObjects()


def source_of(thing: Any) -> str:
    """Return the source of a function, a class, or an object's class; its name where there is none."""
    named = thing if hasattr(thing, "__qualname__") else type(thing)
    try:
        return inspect.getsource(named)
    except (OSError, TypeError):
        code = getattr(named, "__code__", None)
        text = f"{named.__module__}.{named.__qualname__}"
        return text if code is None else f"{text} {code.co_code.hex()} {code.co_consts!r}"
