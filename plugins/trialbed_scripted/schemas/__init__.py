"""Values for JSON Schemas: some that they allow, some that they forbid."""

from trialbed_scripted.schemas._filled import filled_json, filled_with
from trialbed_scripted.schemas._values import least_values, list_at, minimal_arguments, valid_json
from trialbed_scripted.schemas._violations import first_problem, wrong_arguments

__all__ = [
    "filled_json",
    "filled_with",
    "first_problem",
    "least_values",
    "list_at",
    "minimal_arguments",
    "valid_json",
    "wrong_arguments",
]
