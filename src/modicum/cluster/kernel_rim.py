"""KernelRIM: RIM in the space of a kernel, on prototypes of the stream (gomes2010rim, section 5.5; schlegel2017)."""

from typing import Any

import numpy as np

from modicum.cluster.information.answers import shares_of
from modicum.cluster.information.kernel_features import KernelFeatures
from modicum.cluster.information.learner import CONSTRAINTS, LABELLED, InformationClusterer, join
from modicum.contract.learner import Traits
from modicum.kernels import KERNEL, fitted_kernel, may_fail, takes_objects
from modicum.rules.invariants import Is
from modicum.rules.params import NULL, Int
from modicum.select.block_greedy import BlockGreedy
from modicum.select.online_greedy import OnlineGreedy
from modicum.state.packing import held_bytes, missing_functions

FEW = 200  # prototypes up to which OnlineGreedy is fast enough; it chooses slightly better ones than BlockGreedy


class KernelRIM(InformationClusterer):
    """RIM whose boundaries are functions in the space of a kernel, for rows of any kind.

    As `RIM`, with p(y = k | x) proportional to exp(sum_j alpha_kj k(b_j, x) + b_k), and with the norms of these
    functions as the penalty. The basis rows b_j are prototypes that `OnlineGreedy` (up to 200) or `BlockGreedy` choose
    from the stream, so that memory and time do not grow with the square of the rows. With `n_prototypes=None` all rows
    of the sample are basis rows: the exact form of the thesis, for a few thousand rows.

    Cost: that of the selector per row, and O(n k b) per step of L-BFGS on n rows and b basis rows. O(budget * d + b^2)
    memory; a fit needs O(n (b + k)) more while it runs.

    Parameters
    ----------
    max_clusters : int, default=50
        Clusters to start with; the most that can be found.
    kernel : str, Kernel or callable, default="rbf"
        Any kernel of `modicum.kernels`, its name, or a function of two rows; `Precomputed(K)` for a matrix.
    n_prototypes : int or None, default=500
        Basis rows, at most a quarter of the budget. None: all rows of the sample.
    n_clusters : int or None, default=None
        The number of clusters, if it is known. With labels it only limits new clusters.
    regularization : float or "auto", default="auto"
        Weight of the penalty per row, for a kernel scaled so that rows have total variance 1; see `RIM`.
    prior : {"auto", "uniform", "power law"} or array of proportions, default="auto"
        Expected sizes of clusters, by rank. "auto": equal, or those of the labels, if there are labels.
    tau : float or "auto", default="auto"
        With labels, the weight of the information of all rows against the mean log-likelihood of a label.
    new_clusters : bool, default=False
        With labels, whether rows that belong to no class may form clusters of their own; few labels make that a risk.
    budget : int or str, default=10000
        Rows that may be held, prototypes included, or a size such as "64 MiB".
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
        What `predict` returns for each cluster; see `RIM`.
    weights_ : ndarray of shape (k,)
        Shares of the clusters.
    prototypes_ : ndarray of shape (b, d), sparse matrix or list
        The basis rows of the present model.
    dual_coef_ : ndarray of shape (k, b)
        The coefficients alpha; `intercept_` are the biases.
    kernel_ : Kernel
        The kernel in use, its parameters filled in.
    mutual_information_ : float
        I(y; x) of the held rows, in nats.
    regularization_ : float
    choice_ : dict of arrays or None
        How "auto" chose; see `RIM`.
    history_ : dict of arrays
        For each fit to the sample: `n_seen`, `clusters`, `regularization`, `information` and `seconds`.

    Examples
    --------
    >>> import numpy as np
    >>> from modicum import KernelRIM
    >>> from modicum.kernels import RBF
    >>> rng = np.random.default_rng(0)
    >>> angle, radius = rng.uniform(0, 2 * np.pi, 600), rng.choice([0.5, 4.0], 600) + 0.1 * rng.normal(size=600)
    >>> X = np.column_stack([radius * np.cos(angle), radius * np.sin(angle)])
    >>> labels = KernelRIM(n_clusters=2, kernel=RBF(2.0), regularization=0.01, random_state=0).fit_predict(X)
    >>> [len(np.unique(labels[ring])) for ring in (radius < 2, radius > 2)]  # the ring around the disc is one cluster
    [1, 1]

    References
    ----------
    gomes2010rim, section 5.5, eq. 5.5.1. schlegel2017 for the prototypes. Departures: those of `RIM`; the model is
    linear in coordinates of the basis rows, in which the penalty is that of eq. 5.5.1 and L-BFGS needs fewer steps.
    """

    traits = Traits(merge="approximate", weights=True, sparse=True, objects=True)
    _constraints = {**CONSTRAINTS, "kernel": [KERNEL], "n_prototypes": [Int(1), NULL]}
    _invariants = {"_selector": [NULL, Is(OnlineGreedy)]}

    def __init__(
        self,
        max_clusters: int = 50,
        *,
        kernel: Any = "rbf",
        n_prototypes: int | None = 500,
        n_clusters: int | None = None,
        regularization: float | str = "auto",
        prior: Any = "auto",
        tau: float | str = "auto",
        new_clusters: bool = False,
        budget: int | str = 10_000,
        n_init: int = 1,
        tol: float = 1e-6,
        max_iter: int = 500,
        random_state: Any = None,
    ):
        self.max_clusters = max_clusters
        self.kernel = kernel
        self.n_prototypes = n_prototypes
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

    # ---- features --------------------------------------------------------------------------------

    def _set_up(self, X: Any) -> None:
        super()._set_up(X)
        n = self._n_basis(self._n_rows(X))
        self._selector = None if self.n_prototypes is None else self._new_selector(n, int(self._rng.integers(2**31)))

    def _new_selector(self, n_prototypes: int, seed: int = 0) -> OnlineGreedy:
        if (self.n_prototypes or 0) <= FEW:  # by the parameter: learners that agree in it can be merged
            return OnlineGreedy(n_prototypes, kernel=self.kernel)
        return BlockGreedy(n_prototypes, kernel=self.kernel, random_state=seed)

    def _watch(self, X: Any, row_ids: np.ndarray) -> None:
        if self._selector is not None:
            self._selector.partial_fit(X, row_ids=row_ids)

    def _new_features(self) -> tuple[KernelFeatures, np.ndarray]:
        rows, shares = self._sample.points_, shares_of(self._sample)
        if self._selector is None:
            return KernelFeatures.with_features(fitted_kernel(self.kernel, rows), rows, rows, shares)
        return KernelFeatures.with_features(self._selector.kernel_, self._selector.prototypes_, rows, shares)

    def _takes_objects(self, X: Any) -> bool:
        return takes_objects(self.kernel, X)

    def _may_fail_midway(self) -> bool:
        return super()._may_fail_midway() or may_fail(self.kernel)

    def _restored(self) -> None:
        if not self._is_fitted():
            return
        if self._selector is not None:  # a file can't hold functions: take the one among the parameters
            self._selector.set_params(kernel=self.kernel)
            self._selector._restored()
        features = self._solution.features
        if missing_functions(features.kernel):
            features.kernel = fitted_kernel(self.kernel, features.basis.values)

    # ---- what was learned ------------------------------------------------------------------------

    @property
    def prototypes_(self) -> Any:
        return self._solution.features.basis.values

    @property
    def dual_coef_(self) -> np.ndarray:
        return self._solution.features.dual(self._solution.model)[0].T

    @property
    def intercept_(self) -> np.ndarray:
        return self._solution.features.dual(self._solution.model)[1]

    @property
    def kernel_(self) -> Any:
        return self._solution.features.kernel

    # ---- memory ----------------------------------------------------------------------------------

    def _n_basis(self, rows: int) -> int:
        """Prototypes, if so many rows may be held: at most a quarter of them."""
        return rows // 4 if self.n_prototypes is None else min(self.n_prototypes, rows // 4)

    def _divided(self, rows: int) -> tuple[int, int]:
        """The prototypes are held twice: those of the present features, and those being chosen."""
        if self.n_prototypes is None:
            labelled = rows // LABELLED
            return (rows - labelled) // 2, labelled
        return super()._divided(rows - 2 * self._n_basis(rows))

    def _feature_sizes(self, rows: int, n_features: int, row_bytes: int) -> tuple[int, int]:
        n = self._divided(rows)[0] if self.n_prototypes is None else self._n_basis(rows)
        held = n * (row_bytes + 8 * (n + 1)) + held_bytes(self.kernel) + 2 * row_bytes
        if self.n_prototypes is not None:
            held += self._new_selector(n)._plan(n, 0, row_bytes).nbytes
        return n, held

    def _n_retained(self) -> int:
        selected = 0 if self._selector is None else self._selector.n_retained_
        return super()._n_retained() + selected + len(self._solution.features.coefficients)

    def _merge(self, other: "KernelRIM") -> None:
        if self._selector is not None and other._selector is not None:
            join(self._selector, other._selector, "n_prototypes")
        super()._merge(other)
