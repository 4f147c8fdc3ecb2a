"""Recordings of models: the answers of a run's model, kept in a file, and given to any framework."""

from trialbed_plugins.recordings._cache import KeptAnswer, ModelCache
from trialbed_plugins.recordings._cached import CachedModel

__all__ = ["CachedModel", "KeptAnswer", "ModelCache"]
