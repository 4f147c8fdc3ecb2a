from ._expectations import EXPECTATIONS as EXPECTATIONS
from ._expectations import misses as misses
from ._expectations import score as score
from ._registry import SUITES as SUITES
from ._registry import suite as suite
from ._registry import write_test_set as write_test_set
from ._suite import Suite as Suite
from ._tally import SuiteTally as SuiteTally
