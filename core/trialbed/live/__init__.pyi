from ._agents import LiveExecutor as LiveExecutor
from ._callbacks import CallbackServer as CallbackServer
