from ._access import ModelAccess as ModelAccess
from ._budget import ModelBudget as ModelBudget
from ._cache import CompletionCache as CompletionCache
from ._relayed import RelayedModel as RelayedModel
from ._replies import Unreadable as Unreadable
from ._replies import read_object as read_object
