"""The models of a run: named by its settings or objects of the calling program; found, checked, kept and opened."""

from trialbed.models._find import (
    FoundModel,
    close_scheme,
    find_model,
    installed_model,
    list_models,
    listing_advice,
    unknown_model,
)
from trialbed.models._helpers import Helper, HelperModels, direct_endpoint, helper_endpoint, helpers_of
from trialbed.models._objects import ObjectModel
from trialbed.models._settings import (
    CacheChoice,
    check_endpoint_keys,
    check_standing,
    choose_cache,
    idle_settings,
    is_at_endpoint,
    judge_choice,
    judge_drivers,
    judge_endpoint,
    key_hint,
    model_info,
    run_model,
    with_endpoint,
)

__all__ = [
    "CacheChoice",
    "FoundModel",
    "Helper",
    "HelperModels",
    "ObjectModel",
    "check_endpoint_keys",
    "check_standing",
    "choose_cache",
    "close_scheme",
    "direct_endpoint",
    "find_model",
    "helper_endpoint",
    "helpers_of",
    "idle_settings",
    "installed_model",
    "is_at_endpoint",
    "judge_choice",
    "judge_drivers",
    "judge_endpoint",
    "key_hint",
    "list_models",
    "listing_advice",
    "model_info",
    "run_model",
    "unknown_model",
    "with_endpoint",
]
