"""Random features: rows as numbers whose dot products are near a Gaussian kernel."""

from typing import Any

import numpy as np

from modicum.contract.learner import Traits
from modicum.pipeline.preparation import Preparation
from modicum.rules.invariants import Array
from modicum.rules.params import NULL, POSITIVE, RANDOM_STATE, Int
from modicum.state.rng import as_generator


class RandomFeatures(Preparation):
    """sqrt(2 / m) cos(W x + b), with m random directions W and angles b: dot products are near a Gaussian kernel.

    A linear learner on these features is nearly a kernel learner, in time and memory that do not grow with its rows.

    Cost: O(d m) per row, O(d m) memory.

    Parameters
    ----------
    n_components : int, default=256
        The number of features, m.
    width : float, default=1.0
        The width of the kernel exp(-|x - z|^2 / (2 width^2)).
    random_state : int, default=0
        Two pipelines can be merged only if it is the same.

    Attributes
    ----------
    is_decided_ : bool
        Whether a row has come.

    Examples
    --------
    >>> import numpy as np
    >>> from modicum.pipeline import RandomFeatures
    >>> X = np.random.default_rng(0).normal(size=(100, 3))
    >>> Z = RandomFeatures(4096).fit(X).transform(X)
    >>> bool(abs(Z[0] @ Z[1] - np.exp(-((X[0] - X[1]) ** 2).sum() / 2)) < 0.1)
    True

    References
    ----------
    rahimi2007, section 3.
    """

    traits = Traits(chunk_exact=True, merge="exact", weights=True, sparse=True)
    _constraints = {"n_components": [Int(1)], "width": [POSITIVE], "random_state": [RANDOM_STATE]}
    _invariants = {
        "_directions": [NULL, Array("float64", "n_features", "m")],
        "_angles": [NULL, Array("float64", "m")],
    }
    n_first = 1  # nothing depends on the rows but their number of columns

    _directions: Any
    _angles: Any

    def __init__(self, n_components: int = 256, *, width: float = 1.0, random_state: Any = 0):
        self.n_components = n_components
        self.width = width
        self.random_state = random_state

    def _check_rows(self, X: Any, *, reset: bool) -> Any:
        X = super()._check_rows(X, reset=reset)
        if reset:
            self._directions = self._angles = None
        return X

    def _decide(self, X: Any) -> None:
        rng = as_generator(self.random_state)
        self._directions = rng.normal(scale=1 / self.width, size=(X.shape[1], self.n_components))
        self._angles = rng.uniform(0.0, 2 * np.pi, self.n_components)

    def _encode(self, X: Any) -> np.ndarray:
        features = np.cos(np.asarray(X @ self._directions) + self._angles) * np.sqrt(2 / self.n_components)
        return features.astype(X.dtype, copy=False)

    def _decided(self) -> Any:
        return [self._directions, self._angles]
