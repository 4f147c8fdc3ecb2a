from ._examination import examine as examine
from ._examination import findings as findings
from ._findings import Finding as Finding
from ._kinds import GATES as GATES
from ._kinds import KINDS as KINDS
from ._kinds import Gate as Gate
from ._kinds import Kind as Kind
from ._kinds import Severity as Severity
