"""The contract: what every learner can be asked, and what it promises."""

from modicum.contract.checkpoint import Checkpoint
from modicum.contract.learner import Learner, Traits
from modicum.contract.loading import load

__all__ = ["Checkpoint", "Learner", "Traits", "load"]
