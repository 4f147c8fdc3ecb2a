"""From what is wanted to exact versions."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable

from trialbed.environments._labels import Label
from trialbed.environments._lock import requirements
from trialbed.environments._origin import local_path
from trialbed.environments._reason import NEEDED, is_machine
from trialbed.environments._request import Request
from trialbed.environments._sources import local_url
from trialbed.environments._uv import Uv, UvFailed
from trialbed.errors import EnvironmentFailed

_NAMED = re.compile(r"(\S+)\s+@\s+")


async def resolve(uv: Uv, request: Request) -> tuple[str, ...]:
    """Exact requirements for a request, this interpreter and this platform.

    Raises:
        EnvironmentFailed: there is no solution; has uv's reason.
    """
    if request.lock:
        return request.lock
    try:
        found = await uv(
            *("pip", "compile", "--quiet", "--no-header", "--no-annotate", "--python", sys.executable),
            *(["--refresh"] if request.refresh else rebuilt(request.requirements)),
            "-",
            given="\n".join(request.requirements),
        )
    except UvFailed as failure:
        raise EnvironmentFailed(_explained(request.label, failure)) from failure
    return requirements(found)


def rebuilt(lines: Iterable[str]) -> list[str]:
    """Options that keep uv from using what it once built of a local folder."""
    names = [_NAMED.match(line) for line in lines if (path := local_path(local_url(line) or "")) and path.is_dir()]
    return [f"--refresh-package={name[1]}" for name in names if name]


def _explained(label: Label, failure: UvFailed) -> str:
    text = f"{label.text}: no environment can be resolved for it. uv says: {failure}\n"
    if is_machine(failure.stderr):
        return f"{text}{NEEDED}"
    if label.release:
        return f"{text}Without a version ({label.name}) the newest release that fits is taken."
    return f"{text}If its adapter is elsewhere, name it: bench env add {label.name} --adapter REQUIREMENT"
