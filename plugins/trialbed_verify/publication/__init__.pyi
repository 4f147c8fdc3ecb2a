from ._commands import verify_command as verify_command
from ._page import Publication as Publication
from ._page import write_page as write_page
from ._sources import Source as Source
from ._sources import read_source as read_source
