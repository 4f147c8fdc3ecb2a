from .tools import open_selection as open_selection
from .tools import safe_name as safe_name
from .tools import tool_names as tool_names
from .toolselector import ToolSelector as ToolSelector
