from ._app import create_app as create_app
from ._options import ServerOptions as ServerOptions
from ._process import serve as serve
from .cache_files import cache_folder as cache_folder
from .cache_files import import_cache as import_cache
