from ._cache import KeptAnswer as KeptAnswer
from ._cache import ModelCache as ModelCache
from ._cached import CachedModel as CachedModel
