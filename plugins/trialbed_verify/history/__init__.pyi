from ._following import HistoryOptions as HistoryOptions
from ._following import follow as follow
from ._points import Point as Point
from ._points import history_file as history_file
from ._points import known_vendors as known_vendors
from ._points import points as points
from ._points import points_of_files as points_of_files
from ._points import record as record
