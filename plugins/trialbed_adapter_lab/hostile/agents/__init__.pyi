from ._base import NAP as NAP
from ._base import Base as Base
from ._base import done as done
from ._cheating import Cheating as Cheating
from ._hostile import Hostile as Hostile
from ._output import write_everywhere as write_everywhere
from ._snooping import Snooping as Snooping
