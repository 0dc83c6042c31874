"""RIM: clusters that a regularised multilogit regression tells apart (gomes2010rim)."""

from typing import Any

import numpy as np

from modicum.cluster.information.answers import shares_of
from modicum.cluster.information.diffusion import DIMENSION, DIMENSIONS_PER_CLUSTER, Diffusion, n_eigenvectors
from modicum.cluster.information.features import ScaledRows
from modicum.cluster.information.learner import CONSTRAINTS, InformationClusterer
from modicum.cluster.information.rule import Source
from modicum.contract.learner import Traits
from modicum.rules.params import OneOf


class RIM(InformationClusterer):
    """Clusters that a classifier tells apart with a wide margin: regularised information maximisation.

    Learns the weights w_k and biases b_k of a multilogit model p(y = k | x) without labels, so that

        I(y; x) - regularization * sum_k |w_k|^2

    is as large as possible: rows should be assigned with certainty, clusters should be of similar size, and the
    boundaries between them simple. The search starts from `max_clusters` pieces of k-means. Those that do not pay for
    their weights lose their rows, and `n_clusters_` remain. Labels of some rows may be given: see `tau`.

    A uniform sample of the stream is held. The model is fitted to it by L-BFGS at first and whenever the stream has
    doubled, and improved by stochastic steps on the rows in between. Rows that `fit` has in memory are all used.

    Cost: O(n k d) per step of L-BFGS on n rows, about a hundred of them; that of `regularization="auto"` is about
    seventeen paths of some 2,000 rows. O(budget * d) memory; a fit needs O(n k) more while it runs.

    Parameters
    ----------
    max_clusters : int, default=50
        Clusters to start with; the most that can be found.
    features : {"linear", "diffusion"}, default="linear"
        What boundaries are linear in: the columns, or coordinates of a diffusion on the graph of nearest neighbours
        of the held rows, for clusters of any shape. "diffusion" takes no sparse rows.
    n_clusters : int or None, default=None
        The number of clusters, if it is known. With labels it only limits new clusters.
    regularization : float or "auto", default="auto"
        Weight of the penalty per row, for rows scaled to total variance 1: it has no unit, and means the same for a
        sample as for all rows. The thesis' lambda is this divided by the total variance. A larger one leaves fewer
        clusters. "auto" takes the one whose clusters are found again in other halves of the sample, see `path`.
    prior : {"auto", "uniform", "power law"} or array of proportions, default="auto"
        Expected sizes of clusters, by rank; one per cluster if `n_clusters` is given. "auto": equal, or those of the
        labels, if there are labels.
    tau : float or "auto", default="auto"
        With labels, the weight of the information of all rows against the mean log-likelihood of a label; 0 learns from
        labels alone. "auto" chooses by held-out labels.
    new_clusters : bool, default=False
        With labels, whether rows that belong to no class may form clusters of their own; few labels make that a risk.
    budget : int or str, default=20000
        Rows that may be held, or a size such as "64 MiB". A tenth is reserved for labelled rows.
    n_init : int, default=1
        Starting points; the result of the largest objective is kept.
    tol : float, default=1e-6
        Relative change of the objective at which a fit ends.
    max_iter : int, default=500
        Iterations of L-BFGS at most.
    random_state : int, Generator or None, default=None

    Attributes
    ----------
    n_clusters_ : int
    classes_ : ndarray of shape (k,)
        What `predict` returns for each cluster: numbers from 0, or labels of classes and then names of new clusters.
    weights_ : ndarray of shape (k,)
        Shares of the clusters.
    coef_ : ndarray of shape (k, d)
        The weights w_k, for rows as they are given; `intercept_` are the biases. Of linear features only.
    mutual_information_ : float
        I(y; x) of the held rows, in nats.
    regularization_ : float
    choice_ : dict of arrays or None
        How "auto" chose: `n_clusters`, `stability`, that of the `null`, and `score` by `regularization`.
    history_ : dict of arrays
        For each fit to the sample: `n_seen`, `clusters`, `regularization`, `information` and `seconds`.

    Examples
    --------
    >>> import numpy as np
    >>> from modicum import RIM
    >>> rng = np.random.default_rng(0)
    >>> X = rng.choice([0.0, 6.0, 12.0], (600, 1)) + rng.normal(size=(600, 1))
    >>> model = RIM(20, regularization=0.003, random_state=0).fit(X)
    >>> model.n_clusters_, model.weights_.round(1)
    (3, array([0.4, 0.3, 0.3]))
    >>> bool(model.conditional_entropy([[3.0]])[0] > model.conditional_entropy([[6.0]])[0])  # between two clusters
    True

    References
    ----------
    gomes2010rim, sections 5.3 to 5.6. Departures: rows are scaled, so that the regularisation has no unit; information
    is that of all rows, labelled or not; given sizes take effect by half (see `modicum.cluster.information.priors`);
    the sample, stochastic steps, the choice of the regularisation and diffusion features are ours.
    """

    _adds_up_columns = True
    _constraints = {**CONSTRAINTS, "features": [OneOf("linear", "diffusion")]}

    def __init__(
        self,
        max_clusters: int = 50,
        *,
        features: str = "linear",
        n_clusters: int | None = None,
        regularization: float | str = "auto",
        prior: Any = "auto",
        tau: float | str = "auto",
        new_clusters: bool = False,
        budget: int | str = 20_000,
        n_init: int = 1,
        tol: float = 1e-6,
        max_iter: int = 500,
        random_state: Any = None,
    ):
        self.max_clusters = max_clusters
        self.features = features
        self.n_clusters = n_clusters
        self.regularization = regularization
        self.prior = prior
        self.tau = tau
        self.new_clusters = new_clusters
        self.budget = budget
        self.n_init = n_init
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state

    @property
    def traits(self) -> Traits:  # type: ignore[override]
        return Traits(merge="approximate", weights=True, sparse=self.features == "linear")

    def _new_features(self) -> tuple[ScaledRows | Diffusion, Any]:
        rows, shares = self._sample.points_, shares_of(self._sample)
        if self.features == "diffusion":
            return Diffusion.with_features(rows, shares, self._dimension)
        features = ScaledRows.of(rows, shares)
        return features, features(rows)

    def _source_of_features(self) -> Source | None:
        if self.features == "linear":
            return None
        return Source(self._sample.points_, lambda rows, shares: Diffusion.of(rows, shares, self._dimension))

    @property
    def _dimension(self) -> float:
        """The effective dimension of a diffusion."""
        return DIMENSION if self.n_clusters is None else DIMENSIONS_PER_CLUSTER * self.n_clusters

    # ---- what was learned ------------------------------------------------------------------------

    @property
    def coef_(self) -> np.ndarray:
        return self._raw_coefficients()[0]

    @property
    def intercept_(self) -> np.ndarray:
        return self._raw_coefficients()[1]

    def _raw_coefficients(self) -> tuple[Any, Any]:
        """Weights and biases for rows as they are given."""
        features, model = self._solution.features, self._solution.model
        if not isinstance(features, ScaledRows):
            raise AttributeError('coef_ and intercept_ are those of features="linear".')
        coef = model.weights / features.scale
        shift = 0.0 if self._kind == "sparse" else features.mean @ coef  # sparse rows are not centered
        return coef.T, model.biases - shift

    # ---- memory ----------------------------------------------------------------------------------

    def _divided(self, rows: int) -> tuple[int, int]:
        """A graph holds a copy of the sample."""
        sample, labelled = super()._divided(rows)
        return (sample if self.features == "linear" else sample // 2), labelled

    def _feature_sizes(self, rows: int, n_features: int, row_bytes: int) -> tuple[int, int]:
        if self.features == "linear":
            return n_features, n_features * 8
        n = n_eigenvectors(self._dimension)
        each = row_bytes + 8 + n * (row_bytes // max(1, n_features))
        return n, self._divided(rows)[0] * each + 8 * (n_features + 2 * n)

    def _n_retained(self) -> int:
        points = getattr(self._solution.features, "points", ())
        return super()._n_retained() + len(points)
