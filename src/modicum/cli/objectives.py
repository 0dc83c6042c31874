"""What `modicum select` can aim for: each objective with its learner."""

from collections.abc import Mapping

from modicum.cli.aims import Aim, Aims
from modicum.cluster import ExemplarClustering
from modicum.contract.learner import Learner
from modicum.select import OnlineGreedy, StreamGreedy
from modicum.select.objectives.named import NAMED

AIMS = {
    "exemplar": Aim(ExemplarClustering),
    "logdet": Aim(OnlineGreedy),
    **{name: Aim(StreamGreedy, objective) for name, objective in NAMED.items() if name != "logdet"},
}
OBJECTIVES = Aims("--objective", "n_exemplars", "rows", AIMS)


def make_learner(objective: str, texts: Mapping[str, str | None], target: str | None) -> Learner:
    """The learner for an objective, from the options that were given."""
    if getattr(OBJECTIVES[objective].objective, "needs_targets", False) and target is None:
        raise ValueError(f"--objective {objective} needs --target, the column with the targets.")
    return OBJECTIVES.make(objective, texts)
