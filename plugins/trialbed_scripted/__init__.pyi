from .faults import ANSWERS as ANSWERS
from .faults import FAULTS as FAULTS
from .faults import Fault as Fault
from .faults import FaultDescription as FaultDescription
from .faults import FaultScript as FaultScript
from .faults import FaultServer as FaultServer
from .policies.policies import POLICIES as POLICIES
from .policies.policies import policy_names as policy_names
