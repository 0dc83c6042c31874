"""What RIM has learned: the features of rows, and a model of their categories."""

from typing import Any

import numpy as np

from modicum.cluster.information.diffusion import Diffusion
from modicum.cluster.information.features import ScaledRows
from modicum.cluster.information.fitting import Found
from modicum.cluster.information.kernel_features import KernelFeatures
from modicum.cluster.information.multilogit import Multilogit
from modicum.cluster.information.stochastic import FIRST_RATE
from modicum.rules.invariants import Array, Is, Keyed, Real, Whole
from modicum.rules.params import NULL
from modicum.state.part import Part

SWEPT = {
    "regularization": Array("float64", "n_path", above=0.0),
    "n_clusters": Array("int64", "n_path", low=1),
}


class Solution(Part):
    """A feature map, a multilogit model on it, and what they were fitted with."""

    _invariants = {
        "features": [
            Is(ScaledRows, n_inputs="n_inputs", also={"mean": Array("float64", "n_features")}),
            Is(Diffusion, n_inputs="n_inputs"),
            Is(KernelFeatures, n_inputs="n_inputs"),
        ],
        "model": Is(Multilogit, n_inputs="n_inputs", n_categories="n_categories"),
        "regularization": Real(0.0),
        "tau": Real(0.0),
        "choice": [
            NULL,
            Keyed(**SWEPT),
            Keyed(**SWEPT, **dict.fromkeys(("stability", "null", "score"), Array("float64", "n_path"))),
        ],
        "n_seen": Whole(1),
        "chosen_at": Whole(1),
        "n_iter": Whole(),
        "rate": Real(above=0.0),
    }

    def __init__(self, features: Any, found: Found, n_seen: int, last: "Solution | None" = None):
        """`last` is the solution whose regularisation was used again."""
        self.features = features
        self.model = found.model
        self.regularization = found.settings.regularization
        self.tau = found.settings.tau
        self.choice: dict[str, np.ndarray] | None = None if found.choice is None else found.choice.table()
        self.chosen_at: int = n_seen  # rows of the stream when the regularisation was chosen
        if last is not None:
            self.choice, self.chosen_at = last.choice, last.chosen_at
        self.n_seen = n_seen  # rows of the stream when it was fitted
        self.n_iter = found.n_iter
        self.rate = FIRST_RATE  # of stochastic steps

    def log_proba(self, X: Any) -> np.ndarray:
        """Logarithms of the probabilities of clusters."""
        return self.model.log_proba(self.features(X))
