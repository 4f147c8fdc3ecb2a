from ._comparison import comparison_records as comparison_records
from ._comparison import comparison_tables as comparison_tables
from ._ranking import ranking_records as ranking_records
from ._ranking import ranking_tables as ranking_tables
from ._reporter import VerificationReporter as VerificationReporter
from ._verification import verification_records as verification_records
from ._verification import verification_tables as verification_tables
from ._verified import verified_tables as verified_tables
