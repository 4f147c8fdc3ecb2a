from ._schemas import CallFields as CallFields
from ._schemas import CallVerdict as CallVerdict
from ._schemas import SchemaChecker as SchemaChecker
from ._schemas import all_valid as all_valid
from ._schemas import declared_schemas as declared_schemas
from ._test_set import BadLine as BadLine
from ._test_set import Case as Case
from ._test_set import TestSet as TestSet
