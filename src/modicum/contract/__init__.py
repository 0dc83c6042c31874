"""The contract of learners: base classes, checkpoints, guarantees, picks and loading."""

from modicum.contract.checkpoint import Checkpoint
from modicum.contract.clusterer import Clusterer
from modicum.contract.forgetting import Forgetting
from modicum.contract.guarantee import Guarantee
from modicum.contract.learner import Learner, Traits
from modicum.contract.loading import load
from modicum.contract.picks import Picks
from modicum.contract.watchful import Watchful

__all__ = ["Checkpoint", "Clusterer", "Forgetting", "Guarantee", "Learner", "Picks", "Traits", "Watchful", "load"]
