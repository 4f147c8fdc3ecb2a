from ._following import AnswerChange as AnswerChange
from ._following import FollowedPoint as FollowedPoint
from ._following import Point as Point
from ._following import VendorHistory as VendorHistory
from ._following import follow as follow
from ._following import points_of_files as points_of_files
from ._sequential import Assessment as Assessment
