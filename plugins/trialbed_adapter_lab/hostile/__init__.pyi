from ._attacks import ATTACKS as ATTACKS
from ._attacks import Attack as Attack
from ._suite import AttackResult as AttackResult
from ._suite import HostileReport as HostileReport
from ._suite import install_hostile_adapter as install_hostile_adapter
from ._suite import run_attacks as run_attacks
