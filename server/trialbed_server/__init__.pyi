from ._app import create_app as create_app
from ._options import ServerOptions as ServerOptions
from ._process import serve as serve
from .cache_import import import_cache as import_cache
from .faults import FaultScript as FaultScript
from .faults import serve_faults as serve_faults
from .gateway.scripted.policies import policy_names as policy_names
