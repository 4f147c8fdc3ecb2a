from ._following import HistoryOptions as HistoryOptions
from ._following import follow as follow
from ._points import Point as Point
from ._points import points_of_files as points_of_files
