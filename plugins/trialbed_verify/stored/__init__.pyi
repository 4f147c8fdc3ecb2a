from ._report import lines as lines
from ._report import page_parts as page_parts
from ._report import show_run as show_run
from ._rows import named_rows as named_rows
