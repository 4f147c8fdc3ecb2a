from ._chat import ControlledChat as ControlledChat
from ._chat import assistant_message as assistant_message
from ._client import BlockingTrialClient as BlockingTrialClient
from ._client import ControlledProfile as ControlledProfile
from ._client import TrialClient as TrialClient
