"""The models of a run: found by name, or objects of the calling program, and opened."""

from trialbed.models._find import (
    FoundModel,
    close_scheme,
    find_model,
    installed_model,
    list_models,
    listing_advice,
    unknown_model,
)
from trialbed.models._objects import ObjectModel

__all__ = [
    "FoundModel",
    "ObjectModel",
    "close_scheme",
    "find_model",
    "installed_model",
    "list_models",
    "listing_advice",
    "unknown_model",
]
