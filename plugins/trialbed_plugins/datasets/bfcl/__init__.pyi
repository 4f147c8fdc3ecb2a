from ._checker import problem_of as problem_of
from ._driver import BfclDriver as BfclDriver
from ._driver import BfclSimulator as BfclSimulator
from ._objects import problem_of_turns as problem_of_turns
from ._scorer import describe_scores as describe_scores
from ._scorer import score_trial as score_trial
