"""What every vendor is asked, and when a call fits what was declared.

The test set, line by line, with an identity for each that does not depend on its place; the JSON Schemas of the tools
that a line declares, and the verdict on a call's arguments.

Not here: what is changed in a line for a model or a vendor (``targets``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from trialbed import _lazy

if TYPE_CHECKING:
    from trialbed.verification.cases._schemas import CallVerdict, SchemaChecker, all_valid, declared_schemas
    from trialbed.verification.cases._test_set import BadLine, Case, TestSet

_HOMES = {
    "_schemas": ("CallVerdict", "SchemaChecker", "all_valid", "declared_schemas"),
    "_test_set": ("BadLine", "Case", "TestSet"),
}

__all__ = [
    "BadLine",
    "CallVerdict",
    "Case",
    "SchemaChecker",
    "TestSet",
    "all_valid",
    "declared_schemas",
]

__getattr__, __dir__ = _lazy.names(__name__, _HOMES)
