"""Bayesian crowd clustering: items as points, workers as classifiers of pairs (gomes2011, section 7.3.1)."""

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from scipy.special import logit
from sklearn.base import ClusterMixin

from modicum.crowd.activity import expected_activities, probability
from modicum.crowd.choice import DIMS, Choice, choose
from modicum.crowd.clusters import Clusters, find_clusters
from modicum.crowd.confusion import confusions
from modicum.crowd.labels import PairLabels
from modicum.crowd.learner import CrowdLearner
from modicum.crowd.posterior import CrowdPosterior
from modicum.crowd.progress import FITTED, part, report
from modicum.crowd.start import spectral_start
from modicum.crowd.variational import Inference
from modicum.crowd.views import Views
from modicum.crowd.worker_models import MODELS
from modicum.crowd.workers import summary
from modicum.exceptions import DataError
from modicum.families import FAMILY, Family
from modicum.rules.invariants import Is, Whole
from modicum.rules.params import NULL, POSITIVE, RANDOM_STATE, TRUTH, Constraint, Int, OneOf

TRIAL_SWEEPS = 12  # of each start; the one with the highest bound goes on
CHOICE_SWEEPS = 30  # of each model that is tried on held-out answers
CHOOSING = 0.6  # of the time of a fit, about, if there is a choice: for reports of progress
TYPICAL = 50  # workers that stand for all
AGAIN = 1.5  # the choice is made again, and items start anew, when there are this many times the labels


class CrowdClustering(ClusterMixin, CrowdLearner):
    """Clusters of items, a map of them, and a model of each worker, from how people sort small parts of them.

    Many workers each sort a few items into groups, by their own lights. Item i is a point x_i. A worker with matrix W_j
    and bias tau_j puts items a and b in one group with probability 1 / (1 + exp(-A)), A = x_a^T W_j x_b + tau_j. So
    workers may look at different things: one at height, another at colour. Clusters are those of the points, and tell
    apart what any of the workers tells apart; `confusion_` says which clusters a worker lumps together. Workers are
    pooled: one who gave a few answers is taken for a typical worker. A worker may slip with an item now and then.

    Guarantee: the bound of the log-evidence rises with every update, to a local maximum.
    Cost: O(labels D^2 + (items in answers + workers) D^4) per sweep. All labels are kept: about 24 bytes each.

    Parameters
    ----------
    n_dims : int or "auto", default="auto"
        Dimensions of the points. "auto" tries 2, 3, 4, 6 and 8 on held-out answers.
    workers : {"auto", "matrix", "reliability"}, default="auto"
        "matrix": each worker has a matrix of their own. "reliability": workers see the same, and differ in how reliably
        they say so and in how readily they put items together; better for few answers per worker. "auto": whatever
        predicts held-out answers better.
    n_clusters : int or None, default=None
        By default a Dirichlet-process mixture of the points finds the number. Clusters are read out of the points when
        they are asked for: `set_params(n_clusters=6)` needs no other fit.
    family : {"diagonal", "gaussian"} or Family, default="diagonal"
        Distribution of the points of a cluster, if their number is to be found.
    pooled : bool, default=True
        Whether workers share a prior that is learned. Without it, all prior variances are 1 and W_j is around 0, as in
        the thesis.
    slips : bool, default=True
        Whether a worker may put an item in a random group, so that all labels of that item in that answer say nothing.
    n_init : int, default=2
        Starts: the first from the spectrum of the labels, others at random. The one with the highest bound goes on.
    max_iter : int, default=100
        Most sweeps over items and workers.
    tol : float, default=0.005
        Sweeps end when the bound rises by less than this per item, in nats.
    random_state : int, Generator or None, default=None

    Attributes
    ----------
    items_, workers_ : ndarray
        Names, in the order of all other arrays.
    embedding_ : ndarray of shape (n_items, n_dims_)
        Mean positions of items. Dimensions are in no particular order.
    embedding_variance_ : ndarray of shape (n_items, n_dims_)
    clusters_ : ndarray of shape (n_items,)
        The cluster of each item, from 0; the largest first.
    cluster_proba_ : ndarray of shape (n_items, n_clusters_)
    n_clusters_ : int
    confusion_ : dict of ndarray of shape (n_clusters_, n_clusters_)
        By worker: the probability that they put an item of one cluster with one of another (or the same).
    n_dims_, workers_model_ : int, str
        What was chosen or given.
    bound_, bounds_ : float, ndarray
        The bound of the log-evidence, at the end and after every sweep of the last fit.
    slip_rate_ : float

    Examples
    --------
    >>> from modicum import CrowdClustering
    >>> from modicum.datasets import crowd_answers
    >>> answers, truth = crowd_answers(n_items=60, n_attributes=2, random_state=0)
    >>> crowd = CrowdClustering(random_state=0).fit_groupings(answers)
    >>> crowd.n_clusters_, crowd.workers_model_
    (4, 'matrix')
    >>> crowd.confusion_[0].round().astype(int).sum(axis=1)  # this worker lumps clusters in pairs
    array([2, 2, 2, 2])

    References
    ----------
    gomes2011, section 7.3.1 of the thesis. Departures: see `modicum.crowd.variational`. Probabilities are E[1 / (1 +
    exp(-A))] rather than its lower bound, eq. 7.3.11. The mixture is fitted without isolated items, and clusters that
    no worker tells apart are united.
    """

    _constraints: ClassVar[Mapping[str, list[Constraint]]] = {
        "n_dims": [OneOf("auto"), Int(1)],
        "workers": [OneOf("auto", *MODELS)],
        "n_clusters": [Int(1), NULL],
        "family": FAMILY,
        "pooled": [TRUTH],
        "slips": [TRUTH],
        "n_init": [Int(1)],
        "max_iter": [Int(1)],
        "tol": [POSITIVE],
        "random_state": [RANDOM_STATE],
    }
    _invariants = {
        "_posterior": Is(
            CrowdPosterior,
            n_items=lambda its: len(its.owner._labels.items),
            n_workers=lambda its: len(its.owner._labels.workers),
        ),
        "_n_chosen": Whole(1),
    }
    _posterior: CrowdPosterior
    _n_chosen: int  # labels when model and dimensions were chosen

    def __init__(
        self,
        n_dims: int | str = "auto",
        *,
        workers: str = "auto",
        n_clusters: int | None = None,
        family: str | Family = "diagonal",
        pooled: bool = True,
        slips: bool = True,
        n_init: int = 2,
        max_iter: int = 100,
        tol: float = 0.005,
        random_state: Any = None,
    ):
        self.n_dims = n_dims
        self.workers = workers
        self.n_clusters = n_clusters
        self.family = family
        self.pooled = pooled
        self.slips = slips
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state

    # ---- learning --------------------------------------------------------------------------------

    def _solve(self, *, anew: bool) -> None:
        labels, views = self._labels, Views(self._labels)
        if anew or len(labels) >= AGAIN * self._n_chosen:
            chosen = CHOOSING if "auto" in (self.n_dims, self.workers) else 0.0
            with part(0, chosen, of=1):
                choice = self._choose(labels)
            with part(chosen, 1, of=1):
                self._posterior = self._fit(views, choice.model, choice.n_dims, self.n_init, self.max_iter)
            self._n_chosen = len(labels)
            return
        known = self._posterior
        noise = 0.01 * self._rng.normal(size=(views.n_items - len(known.mean), known.n_dims))
        known.grown(noise, views.n_workers)
        with np.errstate(over="raise", invalid="raise", divide="raise"):
            self._infer(views, known).run(self.max_iter, self.tol, warm=True)

    def _choose(self, labels: PairLabels) -> Choice:
        dims = DIMS if self.n_dims == "auto" else [int(self.n_dims)]
        models = MODELS if self.workers == "auto" else [self.workers]

        def fit(views: Views, model: str, n_dims: int) -> CrowdPosterior:
            return self._fit(views, model, n_dims, 1, CHOICE_SWEEPS)

        return choose(labels, models, dims, fit, self._rng)

    def _fit(self, views: Views, model: str, n_dims: int, n_init: int, max_iter: int) -> CrowdPosterior:
        """The posterior from the start whose bound is highest after a few sweeps."""
        trial = min(TRIAL_SWEEPS, max_iter) if n_init > 1 else 0
        total = (n_init - 1) * trial + max_iter
        tries = []
        for number in range(n_init):
            random = self._rng.normal(size=(views.n_items, n_dims))
            start = random if number else spectral_start(views, n_dims, self._rng)
            bias = float(logit(views.share_together()))
            made = CrowdPosterior(model, start, views.n_workers, bias, pooled=self.pooled, slips=self.slips)
            tries.append(self._infer(views, made))
            if n_init > 1:
                words = f"fitting, start {number + 1} of {n_init}"
                with part(number * trial, (number + 1) * trial, of=total, words=words):
                    tries[-1].run(trial, self.tol)
        best = max(tries, key=lambda made: made.posterior.bounds[-1:].sum())
        with part(n_init * trial, total, of=total):
            best.run(max_iter - len(best.posterior.bounds), self.tol)
        return best.posterior

    def _infer(self, views: Views, posterior: CrowdPosterior) -> Inference:
        return Inference(views, posterior, pooled=self.pooled, slips=self.slips)

    # ---- answers ---------------------------------------------------------------------------------

    @property
    def embedding_(self) -> np.ndarray:
        """Mean positions of items."""
        return self._posterior.mean

    @property
    def embedding_variance_(self) -> np.ndarray:
        """Variances of the positions of items, by dimension."""
        return np.diagonal(self._posterior.covariance, axis1=1, axis2=2)

    @property
    def n_dims_(self) -> int:
        """Dimensions of the points."""
        return self._posterior.n_dims

    @property
    def workers_model_(self) -> str:
        """The model of workers: "matrix" or "reliability"."""
        return self._posterior.model

    @property
    def bounds_(self) -> np.ndarray:
        """The bound of the log-evidence after every sweep of the last fit."""
        return self._posterior.bounds

    @property
    def bound_(self) -> float:
        """The bound of the log-evidence."""
        return float(self._posterior.bounds[-1])

    @property
    def slip_rate_(self) -> float:
        """The share of items that workers put in a random group."""
        return self._posterior.slip_rate

    @property
    def clusters_(self) -> np.ndarray:
        """The cluster of each item."""
        return self._clusters().label

    @property
    def labels_(self) -> np.ndarray:
        """The cluster of each item, under scikit-learn's name."""
        return self._clusters().label

    @property
    def cluster_proba_(self) -> np.ndarray:
        """The probability of each cluster, by item."""
        return self._clusters().proba

    @property
    def n_clusters_(self) -> int:
        """Number of clusters."""
        return len(self._clusters().means)

    @property
    def confusion_(self) -> dict[Any, np.ndarray]:
        """By worker: the probability that they put items of two clusters in one group."""
        return dict(zip(self._labels.workers.tolist(), self._confusions(), strict=True))

    def _pair_probability(self, first: np.ndarray, second: np.ndarray, worker: np.ndarray | None) -> np.ndarray:
        if worker is not None:
            return probability(*expected_activities(self._posterior, first, second, worker))
        crowd = np.linspace(0, len(self._labels.workers) - 1, min(len(self._labels.workers), TYPICAL)).astype(np.intp)
        together = np.zeros(len(first))
        for j in crowd:
            together += probability(*expected_activities(self._posterior, first, second, np.full(len(first), j)))
        return together / len(crowd)

    def worker_summary(self) -> dict[str, Any]:
        """What is known of each worker, as columns of equal length.

        - worker; n_labels; n_answers
        - share_together: the share of pairs put in one group
        - reliability: how much likelier two items of one cluster are put in one group than two of different clusters,
          from -1 to 1
        - kind: "usual"; "random" (a reliability near 0) or "adversarial" (below 0)
        - lumps: clusters that the worker puts together; splits: clusters that the worker splits
        """
        return summary(self._labels, self._confusions(), self._clusters().label)

    def _clusters(self) -> Clusters:
        def make() -> Clusters:
            p = self._posterior
            if (self.n_clusters or 0) > len(p.mean):
                raise DataError(f"CrowdClustering: n_clusters is {self.n_clusters}, but there are {len(p.mean)} items.")
            report(FITTED, "finding clusters")
            return find_clusters(p, self.n_clusters, self.family, np.random.default_rng(0))

        return self._derive("clusters", make)

    def _confusions(self) -> np.ndarray:
        found = self._clusters()
        return self._derive("confusions", lambda: confusions(self._posterior, found.means, found.covariances))
