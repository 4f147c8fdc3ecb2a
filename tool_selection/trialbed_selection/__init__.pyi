from .names import safe_name as safe_name
from .names import tool_names as tool_names
from .stage import Stage as Stage
from .stage import open_selection as open_selection
from .toolselector import ToolSelector as ToolSelector
