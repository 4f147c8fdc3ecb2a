from ._test_set import BadLine as BadLine
from ._test_set import Case as Case
from ._test_set import TestSet as TestSet
