from ._access import CompletionCache as CompletionCache
from ._access import ModelAccess as ModelAccess
from ._access import ModelBudget as ModelBudget
from ._access import RelayedModel as RelayedModel
from ._replies import Unreadable as Unreadable
from ._replies import read_object as read_object
