from ._remote import serve_stdio as serve_stdio
from ._server import OfferedTools as OfferedTools
from ._server import load_sdk as load_sdk
from ._server import serve_request as serve_request
