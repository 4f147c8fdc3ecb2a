"""Read a plan of faults from the file given with ``--faults``."""

from __future__ import annotations

import json
from pathlib import Path

from pydantic import ValidationError

from trialbed.errors import UsageError
from trialbed.files import read_bytes
from trialbed.records._faults import FaultPlan

OPTION = "--faults"


def read_fault_plan(text: str) -> FaultPlan:
    """Return the plan of a file, or of the JSON itself.

    Raises:
        UsageError: it cannot be read, or says something else; names the key.
    """
    try:
        content = text if text.lstrip().startswith("{") else read_bytes(Path(text)).decode()
        return FaultPlan.model_validate(json.loads(content))
    except OSError as error:
        raise UsageError(f"{OPTION} {text}: cannot be read: {error.strerror}") from error
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(map(str, first["loc"]))
        raise UsageError(f"{OPTION}: {where or 'the plan'}: {first['msg']}") from error
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{OPTION} {text[:200]}: not JSON: {error}") from error


def plan_text(plan: FaultPlan) -> str:
    """Return the plan as one line of JSON, equal for equal plans."""
    return json.dumps(plan.model_dump(mode="json"), sort_keys=True)
