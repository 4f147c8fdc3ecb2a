from ._chat import ControlledChat as ControlledChat
from ._client import BlockingTrialClient as BlockingTrialClient
from ._client import TrialClient as TrialClient
from ._messages import assistant_message as assistant_message
from ._profile import ControlledProfile as ControlledProfile
