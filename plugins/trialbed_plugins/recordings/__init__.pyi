from ._cache import KeptAnswer as KeptAnswer
from ._cache import ModelCache as ModelCache
from ._cache import cache_there as cache_there
from ._cached import CachedModel as CachedModel
from ._cassette import read_cassette as read_cassette
from ._cassette import write_cassette as write_cassette
from ._of_run import recording_of as recording_of
