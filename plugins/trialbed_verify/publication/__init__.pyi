from ._commands import verify_command as verify_command
from ._evidence import differences as differences
from ._evidence import examples_of_faults as examples_of_faults
from ._page import comparison_parts as comparison_parts
from ._page import different_first as different_first
from ._page import page as page
from ._sources import Source as Source
from ._sources import read_source as read_source
