"""Dirichlet-process mixture of rows in memory: variational inference (blei2006), search by splits (kurihara2007)."""

from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from modicum.clumps.items import Items
from modicum.contract.validation import check_sparse, check_values
from modicum.exceptions import DataError
from modicum.families import FAMILY, Family, as_family
from modicum.mixture.answers import MixtureAnswers
from modicum.mixture.components import Components
from modicum.mixture.search import Search
from modicum.rows import is_sparse, n_rows
from modicum.rules.params import NULL, POSITIVE, Constraint, Int, check_params

FIRST_ROWS = 5000  # of the first search; each later one has twice as many, until the last has all rows


class DirichletProcessMixture(MixtureAnswers, BaseEstimator):
    """Mixture whose number of components is learned, from rows that are all in memory.

    The search starts from one component. Components are split along their principal directions, and merged, as long as
    the free energy rises: a lower bound of the log-evidence, which penalizes the parameters of every component. The
    search is deterministic.

    For streams, and for data that do not fit in memory, see `MemoryBoundedMixture`.

    Cost: per step O(n K p) for p parameters of a component: d^2 / 2 for full, 2 d for diagonal Gaussians.

    Parameters
    ----------
    family : {"gaussian", "diagonal", "multinomial"} or Family, default="gaussian"
        Distribution of a component: a Gaussian with full or with diagonal covariance, or a multinomial for counts,
        which may be sparse. A `modicum.families` object sets the prior.
    concentration : float, default=1.0
        Concentration of the Dirichlet process: with a larger one, more small components are expected.
    max_components : int or None, default=None
    tol : float, default=3e-3
        Iterations stop, and splits and merges are rejected, when the free energy per row improves by less than this.

    Attributes
    ----------
    n_components_ : int
    weights_ : ndarray of shape (k,)
        Components are sorted by size.
    means_ : ndarray of shape (k, d)
    covariances_ : ndarray of shape (k, d, d) or (k, d)
    free_energy_ : float
        Lower bound of the log-evidence of all rows.

    Examples
    --------
    >>> import numpy as np
    >>> from modicum import DirichletProcessMixture
    >>> rng = np.random.default_rng(0)
    >>> X = rng.choice([10.0, 20.0, 30.0], (300, 1)) + rng.normal(size=(300, 1))
    >>> mixture = DirichletProcessMixture().fit(X)
    >>> mixture.n_components_, np.sort(mixture.means_.ravel()).round()
    (3, array([10., 20., 30.]))

    References
    ----------
    blei2006; kurihara2007, section 4 without the tree.
    """

    _constraints: ClassVar[Mapping[str, list[Constraint]]] = {
        "family": FAMILY,
        "concentration": [POSITIVE],
        "max_components": [Int(1), NULL],
        "tol": [POSITIVE],
    }

    def __init__(
        self,
        family: str | Family = "gaussian",
        *,
        concentration: float = 1.0,
        max_components: int | None = None,
        tol: float = 3e-3,
    ):
        self.family = family
        self.concentration = concentration
        self.max_components = max_components
        self.tol = tol

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit the mixture; a row of weight 2 counts as the row given twice."""
        check_params(self, self.get_params(deep=False), self._constraints)
        X = self._check_rows(X, reset=True)
        weight = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        if not weight.any():
            raise DataError(f"{type(self).__name__}: all rows have weight zero.")
        X, weight = X[weight > 0], weight[weight > 0]
        family = as_family(self.family).bind(X, weight)
        step = 2 ** max(0, int(np.log2(n_rows(X) / FIRST_ROWS)))
        fit = self._search(Items.of_rows(family, X[::step], weight[::step])).from_scratch(self.concentration)
        while step > 1:
            step //= 2
            items = Items.of_rows(family, X[::step], weight[::step])
            fit = self._search(items).run(fit.components.scaled_to(items.counts.sum()))
        self._components, self.free_energy_ = fit.components.sorted(), fit.free_energy
        return self

    def _search(self, items: Items) -> Search:
        return Search(items, self.tol, self.max_components or len(items))

    def fit_predict(self, X: Any, y: Any = None, sample_weight: Any = None) -> np.ndarray:
        """Fit, then predict the same rows."""
        return self.fit(X, y, sample_weight).predict(X)

    def _mixture(self) -> Components:
        check_is_fitted(self)
        return self._components

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self._takes_sparse()
        return tags

    def _check_input(self, X: Any) -> Any:
        check_is_fitted(self)
        return self._check_rows(X, reset=False)

    def _check_rows(self, X: Any, *, reset: bool) -> Any:
        as_family(self.family).check_kind(X, type(self).__name__)
        check_sparse(type(self).__name__, X)
        X = validate_data(self, X, reset=reset, accept_sparse="csr", dtype=[np.float64, np.float32], order="C")
        if is_sparse(X) and not X.has_canonical_format:
            X = X.copy()  # the caller's matrix must not change
            X.sum_duplicates()
        check_values(type(self).__name__, X)
        as_family(self.family).check(X, type(self).__name__)
        return X
