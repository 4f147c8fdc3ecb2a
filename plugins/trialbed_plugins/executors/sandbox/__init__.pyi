from ._launch import Launch as Launch
from ._launch import launch as launch
from ._server import ServerAddress as ServerAddress
from ._trying import check_sandbox as check_sandbox
