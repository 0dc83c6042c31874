"""The contract: what every learner can be asked, and what it promises."""

from modicum.contract.checkpoint import Checkpoint
from modicum.contract.guarantee import Guarantee
from modicum.contract.learner import Learner, Traits
from modicum.contract.loading import load
from modicum.contract.picks import Picks

__all__ = ["Checkpoint", "Guarantee", "Learner", "Picks", "Traits", "load"]
