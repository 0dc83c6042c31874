"""Principal components of the first rows, for later ones too."""

from typing import Any

import numpy as np
from scipy import sparse

from modicum.contract.learner import Traits
from modicum.exceptions import DataError
from modicum.pipeline.preparation import Preparation
from modicum.rules.invariants import Array
from modicum.rules.params import NULL, Int


class PrincipalComponents(Preparation):
    """The coordinates of rows along the directions in which the first rows vary most.

    scikit-learn's IncrementalPCA goes on turning its axes, so that a learner behind it would compare rows of different
    axes. Here the first rows decide, and the axes stay.

    Cost: O(d) per row and component; a singular value decomposition of `n_first` rows once.

    Parameters
    ----------
    n_components : int, default=16
        Directions; fewer if the rows have fewer columns.
    n_first : int, default=4096
        Rows that decide.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, d)
    mean_ : ndarray of shape (d,)
    explained_variance_ratio_ : ndarray of shape (n_components,)

    Examples
    --------
    >>> import numpy as np
    >>> from modicum.pipeline import PrincipalComponents
    >>> X = np.random.default_rng(0).normal(size=(500, 8)) * [9, 4, 1, 1, 1, 1, 1, 1]
    >>> PrincipalComponents(2).fit(X).transform(X).shape
    (500, 2)

    References
    ----------
    halko2011 surveys the decompositions. Departure: the axes are those of the first rows, and stay.
    """

    traits = Traits(chunk_exact=True, merge="approximate")
    _constraints = {"n_components": [Int(1)], "n_first": [Int(1)]}
    _invariants = {
        "_mean": [NULL, Array("float64", "n_features")],
        "_axes": [NULL, Array("float64", None, "n_features")],
        "_ratio": [NULL, Array("float64", None)],
    }

    _mean: Any
    _axes: Any
    _ratio: Any

    def __init__(self, n_components: int = 16, *, n_first: int = 4096):
        self.n_components = n_components
        self.n_first = n_first

    @property
    def components_(self) -> np.ndarray:
        return self._ready()._axes

    @property
    def mean_(self) -> np.ndarray:
        return self._ready()._mean

    @property
    def explained_variance_ratio_(self) -> np.ndarray:
        return self._ready()._ratio

    def _check_rows(self, X: Any, *, reset: bool) -> Any:
        if sparse.issparse(X):
            raise DataError("PrincipalComponents: sparse rows would become dense. Take RandomFeatures instead.")
        X = super()._check_rows(X, reset=reset)
        if reset:
            self._mean = self._axes = self._ratio = None
        return X

    def _decide(self, X: np.ndarray) -> None:
        rows = X.astype(np.float64)
        self._mean = rows.mean(axis=0)
        _, lengths, axes = np.linalg.svd(rows - self._mean, full_matrices=False)
        # The largest entry of each axis is positive, so that the same rows always give the same signs.
        signs = np.sign(axes[np.arange(len(axes)), np.abs(axes).argmax(axis=1)])
        signs[signs == 0] = 1.0
        variances = lengths**2
        self._axes = np.ascontiguousarray((axes * signs[:, None])[: self.n_components])
        self._ratio = (variances / (variances.sum() or 1.0))[: self.n_components]

    def _encode(self, X: np.ndarray) -> np.ndarray:
        return ((X - self._mean) @ self._axes.T).astype(X.dtype, copy=False)

    def _decided(self) -> Any:
        return [self._mean, self._axes]
