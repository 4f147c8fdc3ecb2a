"""Which fault a request meets: scripted attempt by attempt, or drawn from a mix."""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from trialbed.errors import UsageError
from trialbed_server.faults._names import FAULTS, NONE

KEYS = ("seed", "steps", "mix", "answers")


@dataclass(frozen=True)
class Fault:
    """A fault and its settings, such as ``status`` and ``retry_after`` of ``status``."""

    name: str = NONE
    settings: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class FaultScript:
    """What every request meets.

    The attempts at one request are told from other requests by their bodies: the first attempt meets the first
    step, the second the second, all further ones the last. With a mix, each attempt draws its fault; the same
    seed, body and attempt always draw the same one.

    Attributes:
        steps: faults by attempt; empty for a mix.
        mix: faults and their weights.
        answers: how good answers are made: ``share`` of requests with tools that get a call, ``invert`` to turn
            these decisions round, ``first_token`` and ``gap`` in seconds.
    """

    steps: tuple[Fault, ...] = (Fault(),)
    mix: tuple[tuple[Fault, float], ...] = ()
    seed: int = 0
    answers: Mapping[str, Any] = field(default_factory=dict)

    def fault(self, body: bytes, attempt: int) -> Fault:
        """The fault of an attempt, counted from 0, at the request with this body."""
        if not self.mix:
            return self.steps[min(attempt, len(self.steps) - 1)]
        draw = random.Random(hashlib.sha256(b"%d %d " % (self.seed, attempt) + body).digest())  # noqa: S311 - replayable
        faults, weights = zip(*self.mix, strict=True)
        chosen: Fault = draw.choices(faults, weights)[0]
        return chosen

    @classmethod
    def read(cls, text: str) -> FaultScript:
        """A script from a file's path, from JSON, or from names in order: ``status:429,none``.

        Raises:
            UsageError: it is none of these; says what is wrong.
        """
        path = Path(text)
        try:
            if text.endswith(".json"):
                text = path.read_text(encoding="utf-8")
            return (
                _document(json.loads(text)) if text.lstrip()[:1] in "{[" else cls(tuple(map(_short, text.split(","))))
            )
        except OSError as error:
            raise UsageError(f"--faults {path}: cannot be read: {error.strerror}") from error
        except (ValueError, TypeError) as error:
            raise UsageError(f"--faults {text}: {error}") from error


def _document(document: Any) -> FaultScript:
    if isinstance(document, list):
        document = {"steps": document}
    unknown = sorted(set(document) - set(KEYS))
    if unknown:
        raise ValueError(f"unknown key {unknown[0]!r}; there are {', '.join(KEYS)}")
    mix = document.get("mix") or {}
    return FaultScript(
        steps=tuple(map(_fault, document.get("steps") or [NONE])),
        mix=tuple((_fault(name), float(weight)) for name, weight in mix.items()),
        seed=int(document.get("seed", 0)),
        answers=dict(document.get("answers") or {}),
    )


def _fault(value: Any) -> Fault:
    if isinstance(value, str):
        return _short(value)
    settings = dict(value)
    return _known(settings.pop("fault"), settings)


def _short(text: str) -> Fault:
    """``name`` or ``name:value``, the value being the fault's first setting."""
    name, _, value = text.strip().partition(":")
    fault = _known(name, {})
    if not value:
        return fault
    first: Sequence[str] = FAULTS[name].settings
    if not first:
        raise ValueError(f"{name} has no settings")
    return Fault(name, {first[0]: json.loads(value)})


def _known(name: str, settings: Mapping[str, Any]) -> Fault:
    if name not in FAULTS:
        raise ValueError(f"there is no fault {name!r}; there are {', '.join(FAULTS)}")
    unknown = sorted(set(settings) - set(FAULTS[name].settings))
    if unknown:
        raise ValueError(f"{name} has no setting {unknown[0]!r}; it has {', '.join(FAULTS[name].settings) or 'none'}")
    return Fault(name, settings)
