"""Scripts of faults, by attempt or drawn from a mix."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from trialbed.errors import UsageError
from trialbed.suggestions import closest, did_you_mean
from trialbed_scripted._scripts import ReceivedRequest
from trialbed_scripted.faults._atlas import atlas
from trialbed_scripted.faults._kinds import FAULTS, NONE, Fault, find_kind
from trialbed_scripted.vendor import ANSWERS

ATLAS = "atlas"
"""The name of a script that serves each fault of the atlas below its own path."""

KEYS = ("seed", "steps", "mix", "answers")
SHARES = ("answers: share", "answers: flips")
STATUS_SETTINGS = ("status: status", "echo_key: status")
STATUSES = range(400, 600)
"""The statuses of HTTP errors."""


@dataclass(frozen=True)
class FaultScript:
    """Chooses the fault for each request.

    Requests with the same body are attempts at the same request. The first attempt meets the first step, the second one
    the second step, and so on; the last step repeats. With a mix, each attempt draws a fault. The same seed, body and
    attempt always draw the same one.

    Attributes:
        steps: faults by attempt; ignored with a mix.
        mix: faults and their weights.
        by_path: serves each fault of the atlas below its own path instead.
        answers: the settings of right answers, by the keys of ``ANSWERS``.
    """

    steps: tuple[Fault, ...] = (Fault(),)
    mix: tuple[tuple[Fault, float], ...] = ()
    seed: int = 0
    by_path: bool = False
    answers: Mapping[str, Any] = field(default_factory=lambda: _read_answers({}))

    def fault(self, request: ReceivedRequest) -> Fault:
        """Return the fault for a request, by its path or its attempt."""
        if request.place:
            return Fault(request.place)
        if not self.mix:
            return self.steps[min(request.attempt, len(self.steps) - 1)]
        faults, weights = zip(*self.mix, strict=True)
        chosen: Fault = request.draw(b"fault", self.seed).choices(faults, weights)[0]
        return chosen

    @classmethod
    def read(cls, text: str) -> FaultScript:
        """Read a script from a JSON file's path, JSON, names in order (``status:429,none``), or the word ``atlas``.

        Raises:
            UsageError: the text has another form.
        """
        try:
            if text == ATLAS:
                return cls(by_path=True, answers=_read_answers({"share": 0.0}))
            written = Path(text).read_text(encoding="utf-8") if text.endswith(".json") else text
            if written.lstrip()[:1] in ("{", "["):
                return _read_document(json.loads(written))
            return cls(tuple(map(_read_short, written.split(","))))
        except OSError as error:
            raise UsageError(f"--faults {text}: cannot be read: {error.strerror}") from error
        except ValueError as error:
            raise UsageError(f"--faults {text}: {error}") from error


def _read_document(document: Any) -> FaultScript:
    """Read a script in JSON. A list contains the steps."""
    parts = {"steps": document} if isinstance(document, list) else document
    _check_keys("the script", parts, KEYS)
    steps, mix = parts.get("steps", [NONE]), parts.get("mix", {})
    if not isinstance(steps, list) or not steps or not isinstance(mix, dict):
        raise ValueError("steps must be a list of faults, mix an object of faults and their weights")
    if "mix" in parts and not mix:
        raise ValueError("mix: must name a fault")
    return FaultScript(
        steps=tuple(map(_read_fault, steps)),
        mix=tuple((_read_short(name), _weight(name, weight)) for name, weight in mix.items()),
        seed=_check("seed", parts.get("seed", 0), 0),
        answers=_read_answers(parts.get("answers", {})),
    )


def _read_fault(value: Any) -> Fault:
    if isinstance(value, str):
        return _read_short(value)
    if not isinstance(value, dict) or "fault" not in value:
        raise ValueError(f"{value!r} is not a fault; give a name, or an object with the name under `fault`")
    return _find(value["fault"], {key: setting for key, setting in value.items() if key != "fault"})


def _read_short(text: str) -> Fault:
    """Read ``name`` or ``name:value``. The value is for the fault's first setting."""
    name, _, value = text.strip().partition(":")
    fault = _find(name, {})
    if not value:
        return fault
    if not fault.settings:
        raise ValueError(f"{name} has no settings")
    first, default = next(iter(fault.kind.settings.items()))
    return _find(name, {first: value if isinstance(default, str) else _read_number(first, value)})


def _find(name: Any, settings: Mapping[str, Any]) -> Fault:
    try:
        return Fault(name, _complete(name, settings, find_kind(name).settings))
    except (KeyError, TypeError):
        close = closest(str(name), (*FAULTS, *atlas()))
        hint = (
            did_you_mean(close) if close else f"; the faults are {', '.join(FAULTS)} and those of `bench faults list`"
        )
        raise ValueError(f"there is no fault {name!r}{hint}") from None


def _read_answers(given: Any) -> dict[str, Any]:
    return _complete("answers", given, {key: setting.default for key, setting in ANSWERS.items()})


def _complete(where: str, given: Any, defaults: Mapping[str, Any]) -> dict[str, Any]:
    """Fill in the defaults of missing settings."""
    _check_keys(where, given, defaults)
    return {**defaults, **{key: _check(f"{where}: {key}", value, defaults[key]) for key, value in given.items()}}


def _check_keys(where: str, given: Any, known: Any) -> None:
    if not isinstance(given, Mapping):
        raise ValueError(f"{where}: must be an object")  # noqa: TRY004 - becomes a usage error with the option's name
    unknown = sorted(set(given) - set(known))
    if unknown:
        raise ValueError(f"{where}: unknown key {unknown[0]!r}; the keys are {', '.join(known) or 'none'}")


def _weight(name: str, weight: Any) -> float:
    value = _check(f"mix: {name}", weight, 1.0)
    if not value > 0:
        raise ValueError(f"mix: the weight of {name} must be above 0")
    return float(value)


def _read_number(key: str, text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        raise ValueError(f"{key} must be a number, not {text!r}") from None


def _check(where: str, value: Any, default: Any) -> Any:
    """Check that a value has the type of the default, and return it. Integers are valid for floats."""
    kinds = (int, float) if isinstance(default, float) else type(default)
    if not isinstance(value, kinds) or isinstance(value, bool) is not isinstance(default, bool):
        raise ValueError(f"{where} must be a value such as {json.dumps(default)}, not {json.dumps(value)}")
    if not isinstance(value, (bool, str)) and value < 0:
        raise ValueError(f"{where} must not be negative")
    if where in SHARES and value > 1:
        raise ValueError(f"{where} must be a share from 0 to 1")
    if where in STATUS_SETTINGS and value not in STATUSES:
        raise ValueError(f"{where} must be that of an HTTP error, 400 to 599")
    return value
