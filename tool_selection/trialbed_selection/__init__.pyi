from .names import safe_name as safe_name
from .names import tool_names as tool_names
from .tools import open_selection as open_selection
from .toolselector import ToolSelector as ToolSelector
