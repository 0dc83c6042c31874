"""Exemplar clustering of a stream by StreamGreedy (gomes2010, sections 3, 4 and 6, Appendix II)."""

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from modicum.cluster.answers import dissimilarities, nearest_exemplars, within_dissimilarity
from modicum.cluster.bounds import SampleBounds
from modicum.cluster.cluster_means import ClusterMeans
from modicum.cluster.held_out import HeldOutSample, n_held_out
from modicum.cluster.offers import Offers, SwapRules, best_swap_gain
from modicum.cluster.phantoms import NAMES, FixedPhantom, Phantom, named_phantom
from modicum.cluster.rules import DissimilarityAsGiven, MeansOfDenseRows, PhantomAsGiven, SizeAsGiven
from modicum.cluster.sizes import HISTORY_BYTES, Sizes
from modicum.cluster.validation import ValidationSample
from modicum.contract.clusterer import Clusterer
from modicum.contract.history import History
from modicum.contract.learner import Traits, fits_one_chunk
from modicum.contract.picks import Picks
from modicum.contract.watchful import Watchful
from modicum.exceptions import DataError
from modicum.kernels import Dissimilarity, as_dissimilarity
from modicum.kernels.dissimilarity import METRIC, NAMED
from modicum.numeric.hoeffding import hoeffding_size, log_of_doubt
from modicum.numeric.nearest import nearest
from modicum.rows import are_objects, average_bytes, equal_rows, is_sparse, n_rows, take
from modicum.rules.budget import Plan, as_budget
from modicum.rules.invariants import AbsentWhile, Array, Is, Scope, Whole
from modicum.rules.params import BUDGET, CALLABLE, NULL, RANDOM_STATE, ROWS, Int, Number, OneOf
from modicum.select.apart import Close, within
from modicum.select.certificates import Certificate, Certifies, largest_gains
from modicum.select.guarantees import SwapGuarantee, check_uniform
from modicum.select.objectives.exemplar import ExemplarObjective, leave_out
from modicum.select.swaps import grow
from modicum.streams import Chunk, Stream, stream

MOST_REFINEMENTS = 5  # times `refine` offers the kept rows; after two or three nothing changes


def _n_held_out(its: Scope) -> int:
    return n_held_out(its.owner._sample.size)


ROWS_BESIDE_MEANS = 8  # validation rows per exemplar; in budgets without room for them, means are not followed
HISTORY = ("n_seen", "candidates", "utility", "loss", "swaps", "evaluations")


class ExemplarClustering(Watchful, Clusterer, Certifies):
    """The rows of a stream that represent all of it best.

    Chooses exemplars A among the rows so that rows are close to their nearest exemplar, measured by any
    dissimilarity d and against a phantom exemplar x0 that is always there:

        maximise F(A) = L({x0}) - L(A + {x0}),    L(S) = mean over rows x of  min over c in S of d(c, x)

    Every row is offered once as a candidate. F is evaluated on a validation sample, a reservoir of the stream that
    stays uniform along the stream. A candidate is added while there are too few exemplars; later it replaces
    the exemplar whose replacement raises F most, if it raises F by `min_gain`.

    For squared Euclidean distances of dense rows, the means of clusters are followed along the stream, with a row near
    each. At its end these rows become the exemplars, if held-out rows are nearer to them: a mean of all rows is known
    better than one of the validation rows.

    Guarantee: about half the best possible F on the validation sample, once no swap gains more; see `guarantee`.
    Cost: O(W d) time per row and O(W (d + k)) memory for W validation rows and a quarter as many held-out ones; within
    a call, scratch of 24 MiB and three copies of the validation rows.

    Parameters
    ----------
    n_exemplars : int, default=100
        How many rows to choose.
    budget : int, str or None, default="64 MiB"
        A bound on everything held: a number of rows (exemplars, validation and held-out rows together), or a size in
        bytes, which covers the means of clusters too.
    n_validation : int or None, default=None
        Validation rows to keep. None: 80 per exemplar (or 3,000 if that is more), or what the budget allows;
        further ones would cost time in proportion and change little. A quarter as many rows, at most 2,000, are held
        out for `loss_`.
    dissimilarity : str, callable or Dissimilarity, default="sqeuclidean"
        "sqeuclidean", "euclidean", "cosine", any metric name of scikit-learn; "edit-distance" of strings; a function of
        two chunks, of two rows, or, when the rows are Python objects, of two objects. The first argument is the
        exemplar.
    phantom : str, row or float, default="far"
        The phantom exemplar: "far" (farther from every row than any exemplar, so that only the mean dissimilarity
        to the nearest exemplar matters), the "mean" of the stream, the "origin", "random" (a random vector of the
        data's spread), a row, or a number, its dissimilarity to every row. Objects: "far" or a number.
    swaps : {"eager", "one"}, default="eager"
        "eager" takes every swap of a block of candidates that gains enough, best first; "one" only one, as in the
        paper.
    min_gain : float, default=1e-5
        The paper's eta: what a swap must gain, relative to the present loss.
    patience : int or None, default=None
        The paper's rho: `fit` repeats passes over the data until this many consecutive candidates brought no
        swap. None: one pass.
    confidence : float or None, default=None
        Decide swaps on a subset of the validation sample as soon as a bound on errors allows it with this
        probability over the whole stream. None: always use the whole sample.
    initial : rows or None, default=None
        Initial exemplars; they may be replaced.
    locked : rows or None, default=None
        Exemplars that are never replaced; they count towards `n_exemplars`.
    min_distance : float or None, default=None
        No two exemplars are within this of each other: 0 leaves out duplicates, more near duplicates. It is the
        distance if the dissimilarity is (squared) Euclidean, otherwise the dissimilarity.
    half_life : int, "auto" or None, default=None
        Represent recent rows: rows after which the weight of a row in the means above has halved. "auto": forget where
        dissimilarities to the exemplars rise. None: rows of all times weigh the same.
    random_state : int, Generator or None, default=None

    Attributes
    ----------
    exemplars_ : ndarray of shape (k, d), sparse matrix or list
    exemplar_ids_ : ndarray of shape (k,)
        Row ids of the exemplars: positions in the stream unless `row_ids` was given; -1 for `initial` and `locked`.
    loss_ : float
        Mean dissimilarity of all rows seen to their nearest exemplar: exact while `is_exact_`, afterwards estimated
        from held-out rows, on which no swap is evaluated: nearly without bias, as they only decide whether exemplars
        are centered. Its standard error is 1 to 2% with thousands of validation rows.
    utility_ : float
        F on the validation sample. The exemplars were chosen on this very sample, so F on other rows is a little lower;
        `score` is for any rows.
    cluster_sizes_ : ndarray of shape (k,)
        Rows of the stream that each exemplar represents, estimated from the validation sample; with `half_life`, by
        their weight now.
    history_ : dict of arrays
        Rows seen, candidates offered, utility and loss (phantom included) on the validation sample, swaps and
        evaluations so far. Rows that are offered again, by `refine` or with `patience`, count as candidates again but
        not as rows seen.
    n_candidates_, n_swaps_, n_evaluations_, n_evaluations_saved_ : int
        Candidates offered; swaps taken; dissimilarities of candidates to validation rows computed, and those that
        racing saved.
    changes_ : list of Change
        Where the stream changed, for `half_life="auto"`.

    Examples
    --------
    >>> import numpy as np
    >>> from modicum import ExemplarClustering
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(3000, 2)) + rng.choice([-9, 0, 9], size=(3000, 1))
    >>> model = ExemplarClustering(3, random_state=0).fit(X)
    >>> np.sort(np.round(model.exemplars_[:, 0] / 9).astype(int))
    array([-1,  0,  1])
    >>> np.array_equal(X[model.exemplar_ids_], model.exemplars_)
    True

    References
    ----------
    gomes2010, Algorithm 1, eq. 3.6, Corollary 1, Theorem 4, Appendix II. schubert2021 (all swaps of a candidate from
    one scan). Departures: several swaps per block by default; a phantom that is far by default; `min_gain` is relative;
    the validation sample is updated along the stream instead of being drawn beforehand; its rows do not
    represent themselves, and are offered once more at the end of a stream (`refine`); `loss_` is that of other rows;
    with 4,000 validation rows or more, eager swaps are first estimated on an eighth of them, and only the best fifth of
    a block is scored in full; exemplars are centered at the end (macqueen1967), with eager swaps, phantom="far" and no
    `min_distance`.
    """

    _adds_up_columns = True
    traits = Traits(merge="approximate", weights=True, sparse=True, objects=True, forgets=True)
    _count_param = "n_exemplars"
    _constraints = {
        "n_exemplars": [Int(1)],
        "budget": [NULL, BUDGET],
        "n_validation": [NULL, Int(1)],
        "dissimilarity": [METRIC, CALLABLE],
        "phantom": [NAMES, Number(0.0, open_ends=True), ROWS],
        "swaps": [OneOf("eager", "one")],
        "min_gain": [Number(0.0)],
        "patience": [NULL, Int(1)],
        "confidence": [NULL, Number(0.0, 1.0, open_ends=True)],
        "initial": [NULL, ROWS],
        "locked": [NULL, ROWS],
        "min_distance": [NULL, Number(0.0)],
        "half_life": [NULL, Int(1), OneOf("auto")],
        "random_state": [RANDOM_STATE],
    }

    _invariants = {
        "_sample": Is(ValidationSample, n="n_sample", also={"size": SizeAsGiven()}),
        "_held_out": Is(HeldOutSample, n="n_held_out", also={"size": Whole(_n_held_out, _n_held_out)}),
        "_phantom": PhantomAsGiven(Phantom),
        "_objective": Is(
            ExemplarObjective,
            n_validation="n_sample",
            n_exemplars="n_exemplars",
            also={"dissimilarity": DissimilarityAsGiven()},
        ),
        "_means": [AbsentWhile(lambda its: True), MeansOfDenseRows(ClusterMeans, n_means="n_exemplars")],
        "_offers": Is(Offers),
        "_ids": Array("int64", "n_exemplars"),
        "_history": Is(History, width=len(HISTORY)),
        "_n_chunks": Whole(),
    }

    _sample: ValidationSample
    _held_out: HeldOutSample
    _phantom: Phantom
    _means: ClusterMeans
    _objective: ExemplarObjective
    _offers: Offers
    _ids: np.ndarray
    _history: History
    _n_chunks: int

    def __init__(
        self,
        n_exemplars: int = 100,
        *,
        budget: int | str | None = "64 MiB",
        n_validation: int | None = None,
        dissimilarity: Any = "sqeuclidean",
        phantom: Any = "far",
        swaps: str = "eager",
        min_gain: float = 1e-5,
        patience: int | None = None,
        confidence: float | None = None,
        initial: Any = None,
        locked: Any = None,
        min_distance: float | None = None,
        half_life: int | str | None = None,
        random_state: Any = None,
    ):
        self.n_exemplars = n_exemplars
        self.budget = budget
        self.n_validation = n_validation
        self.dissimilarity = dissimilarity
        self.phantom = phantom
        self.swaps = swaps
        self.min_gain = min_gain
        self.patience = patience
        self.confidence = confidence
        self.initial = initial
        self.locked = locked
        self.min_distance = min_distance
        self.half_life = half_life
        self.random_state = random_state

    # ---- learning --------------------------------------------------------------------------------

    def _check_params(self) -> None:
        super()._check_params()
        if self.min_distance is not None and self.confidence is not None:
            raise ValueError(f"{type(self).__name__}: min_distance can't be combined with confidence. Leave one out.")

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> "ExemplarClustering":
        """Forget, then learn from X; with `patience`, repeat passes over X until swaps no longer gain enough."""
        super().fit(X, y, sample_weight)
        if self.patience is not None and fits_one_chunk(X):  # otherwise `learn` was called
            self._repeat_passes(stream(X, target=y, weight=sample_weight))
        return self

    def learn(
        self, source: Any, on_chunk: Callable[["ExemplarClustering"], object] | None = None
    ) -> "ExemplarClustering":
        """Learn all of a source on top of the present state; with `patience`, repeat passes over it as `fit` does."""
        rows = stream(source)
        if self.patience is not None and not rows.rereadable:
            raise DataError(f"ExemplarClustering: patience needs a source to read again; {rows.name} can't be.")
        super().learn(rows, on_chunk)
        self._repeat_passes(rows)
        return self

    def _repeat_passes(self, rows: Stream) -> None:
        """Offer all rows again until `patience` candidates in a row brought no swap, or a whole pass did not."""
        while self.patience is not None and self._offers.n_without_swap < self.patience:
            swaps = self.n_swaps_
            for chunk in rows:
                self._guard().run(self._offer_again, chunk)
                if self._offers.n_without_swap >= self.patience:
                    break
            if self.n_swaps_ == swaps:
                break
        if self.patience is not None:
            self._center()

    def _offer_again(self, chunk: Chunk) -> None:
        X, row_ids = self._check_rows(chunk.X, reset=False), chunk.row_ids
        if chunk.sample_weight is not None:
            present = np.flatnonzero(chunk.sample_weight)  # weight 0 is absent
            X, row_ids = take(X, present), row_ids[present]
        self._offer(X, row_ids, self._sample.slots_of(row_ids))

    def refine(self) -> "ExemplarClustering":
        """Offer the validation rows as candidates again, until no swap gains enough; then center the exemplars.

        `fit` does so at its end.
        """
        self._check_fitted()
        self._refine()
        self._center()
        return self

    def _refine(self, n_merged: int = 0) -> None:
        for _ in range(MOST_REFINEMENTS):
            swaps = self.n_swaps_
            own = np.arange(len(self._sample))
            self._offer(self._objective.rows.values, self._sample.row_ids, own, n_merged=n_merged)
            if self.n_swaps_ == swaps:
                break

    def _learn(self, X: Any, y: Any, weight: np.ndarray | None, row_ids: np.ndarray) -> None:
        first = not hasattr(self, "_sample")
        if first:
            self._initialize(X, weight)
        else:
            self._phantom.learn(X, weight)
        was_everything = self._sample.is_everything
        own = self._sample.learn(self._objective, self._held_out, X, weight, row_ids, self._rng)
        if first:
            self._put_given_exemplars()
        elif was_everything:
            self._objective.leave_out_own(self._sample.excluded(self._sample.slots_of(self.exemplar_ids_)))
        self._phantom.update(self._objective)
        self._offer(X, row_ids, own, are_new=True)
        if self._follows():
            self._means.learn(X, weight, row_ids)
        self._n_chunks += 1
        self._stay_within_budget()

    def _fade(self, factor: float) -> None:
        self._sample.fade(factor)
        self._held_out.fade(factor)
        self._phantom.fade(factor)
        if hasattr(self, "_means"):
            self._means.fade(factor)

    def _surprise(self, X: Any, y: np.ndarray | None) -> np.ndarray:
        """Dissimilarities to the nearest exemplars."""
        return nearest_exemplars(self._objective, X)[1]

    def _offer(self, X: Any, row_ids: np.ndarray, own: np.ndarray, *, are_new: bool = False, n_merged: int = 0) -> None:
        """Offer rows as candidates; `own` are their slots in the validation sample, -1 for none.

        `n_seen_` does not count yet: rows of this chunk (`are_new`), and `n_merged` rows of a learner being merged.
        """
        self._derived = {}
        F, excluded = self._objective, self._sample.excluded(own)
        for block, changes in self._offers.offer(F, X, excluded, self._rules(), self._rng):
            for candidate, slot in changes:
                self._ids[slot] = row_ids[block][candidate]
            if changes and hasattr(self, "_means"):
                slots = np.unique([slot for _, slot in changes])
                self._means.follow(slots, self.exemplars_[slots], self._ids[slots])
            n_seen = self.n_seen_ + n_merged + (block.stop if are_new else 0)
            self._record(n_seen)

    def _record(self, n_seen: int) -> None:
        F, offers = self._objective, self._offers
        self._history.record(n_seen, offers.n_candidates, F.value, F.loss, offers.n_swaps, offers.n_evaluations)

    def _rules(self) -> SwapRules:
        return SwapRules(self.swaps, self.min_gain, self.confidence, self._close())

    def _close(self) -> Close | None:
        """Whether rows are too close to be exemplars both."""
        if self.min_distance is None:
            return None
        if self._kind != "objects" and self.dissimilarity in ("sqeuclidean", "euclidean"):
            return within(self.min_distance)
        return within_dissimilarity(self._dissimilarity(), self.min_distance)

    def _end_of_stream(self) -> None:
        judged_all = self._n_chunks == 1  # every candidate, by the present validation sample
        if not judged_all or self._objective.n_missing:
            self._refine()
        self._center()

    # ---- means of clusters -----------------------------------------------------------------------

    def _means_are_centers(self) -> bool:
        """Whether the best exemplar of a cluster is the row nearest to its mean."""
        squared = isinstance(self.dissimilarity, str) and self.dissimilarity == "sqeuclidean"
        return squared and isinstance(self.phantom, str) and self.phantom == "far"  # rows count with full distances

    def _centers(self) -> bool:
        """Whether exemplars are centered, as far as parameters tell."""
        return self._means_are_centers() and self.swaps == "eager" and self.min_distance is None

    def _follows(self) -> bool:
        """Whether means are followed by now: not as long as all rows are held, or exemplars are missing."""
        if self._kind != "dense" or not self._centers() or self.is_exact_ or self._objective.n_missing:
            return False
        if not hasattr(self, "_means"):
            rows = self._objective.rows.values
            if not self._means_bytes(average_bytes(rows), rows.itemsize):
                return False
            sizes = self._sizes(average_bytes(rows), rows.itemsize)
            self._shrink(sizes.n_validation(self.budget, self.n_validation))  # older states left no room for means
            self._means = ClusterMeans(self.exemplars_, self._ids)
        return True

    def _center(self) -> None:
        """Replace exemplars by rows near the means of their clusters, if held-out rows are nearer to those.

        The means are wrong where the stream was sorted or has changed. Held-out rows are a uniform sample even then.
        They decide between two sets only, so that `loss_` stays nearly unbiased.
        """
        if not self._follows() or not len(self._held_out):
            return
        F, held_out = self._objective, self._held_out
        rows, ids = self.exemplars_.copy(), self._ids.copy()
        near, near_ids = self._means.nearest_rows(F.rows.values, self._sample.row_ids)
        for slot in np.flatnonzero(~F.fixed):
            if near_ids[slot] not in ids:  # a row may be the nearest to two means
                rows[slot], ids[slot] = near[slot], near_ids[slot]
        present, centered = (nearest(held_out.rows.values, A)[1] for A in (self.exemplars_, rows))
        if held_out.shares() @ centered >= held_out.shares() @ present:
            return
        D = F.dissimilarity(rows, F.rows.values)
        leave_out(D, self._sample.excluded(self._sample.slots_of(ids)))
        for slot in np.flatnonzero(ids != self._ids):
            F.fill(int(slot), rows[slot : slot + 1], D[slot])
        self._ids, self._derived = ids, {}
        self._record(self.n_seen_)

    # ---- initialisation --------------------------------------------------------------------------

    def _initialize(self, X: Any, weight: np.ndarray | None) -> None:
        dissimilarity = self._dissimilarity()
        itemsize = getattr(X, "dtype", np.dtype(float)).itemsize
        sizes = self._sizes(average_bytes(X), itemsize, self._kind)
        self._sample = ValidationSample(sizes.n_validation(self.budget, self.n_validation))
        self._held_out = HeldOutSample(n_held_out(self._sample.size), X)
        self._phantom, phantom = self._first_phantom(X, weight, dissimilarity)
        self._objective = ExemplarObjective(dissimilarity, phantom, X, self.n_exemplars, self._sample.size)
        self._ids = np.full(self.n_exemplars, -1)
        self._history = History(*HISTORY, limit=HISTORY_BYTES // (8 * len(HISTORY)))
        self._offers = Offers()
        self._n_chunks = 0

    def _dissimilarity(self) -> Dissimilarity:
        return as_dissimilarity(self.dissimilarity, objects=self._kind == "objects")

    def _first_phantom(
        self, X: Any, weight: np.ndarray | None, dissimilarity: Dissimilarity
    ) -> tuple[Phantom, float | Any]:
        """The phantom, and its first value: a row like those of X, or a number."""
        if isinstance(self.phantom, str):
            return named_phantom(self.phantom, X, weight, dissimilarity, self._rng)
        if isinstance(self.phantom, int | float | np.number):
            return FixedPhantom(), float(self.phantom)
        as_is = self._kind == "objects" or is_sparse(self.phantom)
        return FixedPhantom(), self._given_rows(self.phantom if as_is else np.atleast_2d(self.phantom), "phantom")[:1]

    def _given_rows(self, rows: Any, name: str) -> Any:
        try:
            return self._check_rows(rows, reset=False)
        except ValueError as error:
            raise ValueError(f"{type(self).__name__}: {name} does not fit the data. {error}") from None

    def _put_given_exemplars(self) -> None:
        """Make `locked` and `initial` rows exemplars."""
        F = self._objective
        for name, rows in (("locked", self.locked), ("initial", self.initial)):
            if rows is None:
                continue
            rows, free = self._given_rows(rows, name), F.n_missing
            if n_rows(rows) > free:
                raise ValueError(
                    f"{type(self).__name__}: {n_rows(rows)} {name} rows, but only {free} of {self.n_exemplars} slots "
                    "are free. Raise n_exemplars or give fewer rows."
                )
            D = F.dissimilarity(rows, F.rows.values)
            for i in range(n_rows(rows)):
                F.fill(F.n_chosen, take(rows, slice(i, i + 1)), D[i], fixed=name == "locked")

    # ---- budget ----------------------------------------------------------------------------------

    def plan(self, n_features: int, dtype: Any = np.float64) -> Plan:
        """What will be held for dense rows of `n_features` columns, in bytes, before any data is seen."""
        itemsize = np.dtype(dtype).itemsize
        sizes = self._sizes(n_features * itemsize, itemsize)
        return sizes.plan(sizes.n_validation(self.budget, self.n_validation))

    def _sizes(self, row_bytes: int, itemsize: int, kind: str = "dense") -> Sizes:
        means = self._means_bytes(row_bytes, itemsize) if kind == "dense" else 0
        return Sizes(self.n_exemplars, row_bytes, itemsize, self._watch_bytes() + means)

    def _means_bytes(self, row_bytes: int, itemsize: int) -> int:
        """Bytes of the means of clusters; 0 if none are followed, as in a budget that is too small for them."""
        nbytes = ClusterMeans.nbytes_for(self.n_exemplars, row_bytes, itemsize)
        beside = self.n_validation or ROWS_BESIDE_MEANS * self.n_exemplars
        needed = Sizes(self.n_exemplars, row_bytes, itemsize, self._watch_bytes() + nbytes).plan(beside).nbytes
        limit = as_budget(self.budget).nbytes
        return nbytes if self._centers() and (limit is None or needed <= limit) else 0

    def _stay_within_budget(self) -> None:
        """Sparse rows and objects differ in size; of dense rows no more are kept than fit."""
        if self._kind != "dense":
            self._hold_budget(len(self._sample), self.n_exemplars, self._shrink)

    def _shrink(self, n_validation: int) -> None:
        self._sample.shrink(self._objective, self._held_out, n_validation, self._rng)

    # ---- what was learned ------------------------------------------------------------------------

    @property
    def exemplars_(self) -> Any:
        return self._objective.chosen.values

    @property
    def exemplar_ids_(self) -> np.ndarray:
        return self._ids[: self._objective.n_chosen]

    def picks(self) -> Picks:
        """The exemplars, with their estimated cluster sizes as weights."""
        return Picks("exemplar", self.exemplars_, self.exemplar_ids_, weights=self.cluster_sizes_)

    @property
    def utility_(self) -> float:
        return self._objective.value

    @property
    def loss_(self) -> float:
        return self._derive("loss", lambda: self._held_out.mean_loss(self._objective, self._sample.weights))

    @property
    def cluster_sizes_(self) -> np.ndarray:
        shares = np.bincount(self.validation_labels_, self._objective.shares, minlength=self._objective.n_chosen)
        return shares * self._sample.total_weight / self._unit()

    @property
    def validation_rows_(self) -> Any:
        """The validation sample."""
        return self._objective.rows.values

    @property
    def held_out_rows_(self) -> Any:
        """Rows of the stream on which no swap is evaluated; none while `is_exact_`."""
        return self._held_out.rows.values

    @property
    def validation_labels_(self) -> np.ndarray:
        """The exemplar (0 .. k - 1) that represents each validation row."""
        return self._objective.to_exemplars.argmin(axis=1)

    @property
    def n_candidates_(self) -> int:
        return self._offers.n_candidates

    @property
    def n_swaps_(self) -> int:
        return self._offers.n_swaps

    @property
    def n_evaluations_(self) -> int:
        return self._offers.n_evaluations

    @property
    def n_evaluations_saved_(self) -> int:
        return self._offers.n_evaluations_saved

    @property
    def history_(self) -> dict[str, np.ndarray]:
        return self._history.columns_as_arrays()

    @property
    def is_exact_(self) -> bool:
        """Whether the validation sample still holds every row seen."""
        return self._sample.is_everything

    # ---- answers ---------------------------------------------------------------------------------

    def predict(self, X: Any) -> np.ndarray:
        """The exemplar (0 .. k - 1) that represents each row."""
        X = self._check_input(X)
        return nearest_exemplars(self._objective, X)[0]

    def transform(self, X: Any) -> np.ndarray:
        """Dissimilarities of every exemplar to every row, rows x exemplars."""
        X = self._check_input(X)
        return dissimilarities(self._objective, X)

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """The utility F of the exemplars on these rows."""
        X = self._check_input(X)
        _, distance = nearest_exemplars(self._objective, X)
        phantom = np.broadcast_to(self._objective.phantom_to(X), len(distance)).astype(np.float64)
        return float(np.average(np.maximum(phantom - distance, 0), weights=sample_weight))

    def table(self, X: Any) -> dict[str, np.ndarray]:
        """The cluster of each row as its prediction, the row id of its exemplar and the dissimilarity to it."""
        X = self._check_input(X)
        label, distance = nearest_exemplars(self._objective, X)
        return {"prediction": label, "exemplar": self.exemplar_ids_[label], "dissimilarity": distance}

    # ---- how good it is --------------------------------------------------------------------------

    def error_bound(self, confidence: float = 0.95) -> float:
        """With this confidence, `utility_` of a fixed set is within this bound of its utility on the whole stream.

        Corollary 1 of gomes2010, for rows of equal weight. Unless the phantom is a number, it assumes that no row is
        farther from it than the farthest validation row.
        """
        self._check_fitted()
        if self.half_life is not None and not self.is_exact_:
            check_uniform(self._sample, self.n_seen_, type(self).__name__)
        return self._bounds().error_of_one_set(confidence)

    @classmethod
    def n_validation_for(
        cls, *, error: float, value_range: float = 1.0, confidence: float = 0.95, n_rows: float = np.inf
    ) -> int:
        """Validation rows for an `error_bound` of at most `error`, if dissimilarities are within `value_range`."""
        return hoeffding_size(error, value_range, log_of_doubt(confidence), population=n_rows)

    def guarantee(self, confidence: float = 0.95) -> SwapGuarantee:
        """Theorem 4 of gomes2010 with the present numbers.

        That no swap gains more than `eta` is checked for the rows of the validation sample; for other rows it is a
        condition. Cost: O(W^2 d) time for W validation rows, once until more is learned, and scratch of 16 MiB.
        """
        self._check_fitted()
        bounds = self._bounds()
        excluded = self._sample.excluded(np.arange(len(self._sample)))
        best_swap = self._derive("best swap", lambda: best_swap_gain(self._objective, excluded))
        eta = max(self._offers.least_gain(self._objective, self._rules()), best_swap)
        locked = () if self.locked is None else ("only sets with the locked exemplars are compared",)
        terms = self._terms(confidence, *locked, *bounds.conditions(eta))
        return SwapGuarantee(
            **terms, n_chosen=self._objective.n_chosen, least_loss=self._objective.least_loss(), eta=eta
        )

    def _certify(self, chunks: Iterable[Chunk], confidence: float) -> Certificate:
        F = self._objective
        prepared = F.prepare()

        def gains_of(X: Any, ids: np.ndarray) -> np.ndarray:
            own = self._sample.excluded(self._sample.slots_of(ids))
            known = np.flatnonzero(own >= 0)  # where an id is that of another row, it may represent itself
            if len(known):
                alike = equal_rows(take(X, known), take(F.rows.values, own[known]))
                own[known[~alike]] = -1
            size = F.block_size()
            parts = range(0, n_rows(X), size)
            return np.concatenate(
                [F.look(take(X, slice(i, i + size)), prepared, own[i : i + size]).gains() for i in parts]
            )

        gains, count = largest_gains(self, chunks, self.n_exemplars, gains_of)
        terms = self._terms(confidence)
        terms["conditions"] += self._same_rows(count, terms["epsilon"])
        return Certificate(**terms, n_chosen=self.n_exemplars, gains=gains, n_rows=count)

    def _terms(self, confidence: float, *conditions: str) -> dict[str, Any]:
        """Terms of a guarantee that depend on the validation sample."""
        bounds = self._bounds()
        epsilon = bounds.error_of_all_sets(confidence, type(self).__name__)
        return {
            "value": self.utility_,
            "ceiling": min(self._objective.phantom_loss + epsilon, bounds.largest_utility),
            "epsilon": epsilon,
            "confidence": confidence,
            "assumptions": bounds.assumptions(),
            "conditions": (*bounds.assumptions(), *conditions),
        }

    def _bounds(self) -> SampleBounds:
        return SampleBounds(self._objective, self._sample, self.n_seen_)

    # ---- contract --------------------------------------------------------------------------------

    def _takes_objects(self, X: Any) -> bool:
        return are_objects(X) and (callable(self.dissimilarity) or as_dissimilarity(self.dissimilarity).takes_objects)

    def _may_fail_midway(self) -> bool:
        named = NAMED.get(self.dissimilarity) if isinstance(self.dissimilarity, str) else None
        return named is None or named.takes_objects or self._rows_differ_in_size()

    def _resize(self, count: int, budget: Any) -> None:
        """Keep the best `count` exemplars from now on, within another budget; not for learners with `locked` rows."""
        self.n_exemplars, self.budget = count, budget
        if not self._is_fitted():
            return
        old = self._objective
        sizes = self._sizes(average_bytes(old.rows.values), old.near.itemsize, self._kind)
        self._shrink(min(self._sample.size, sizes.n_validation(budget, self.n_validation)))
        self._choose_again(old.chosen.values, None, self.exemplar_ids_)

    def _choose_again(self, candidates: Any, targets: None, row_ids: np.ndarray) -> None:
        """Choose greedily among these rows alone."""
        old, count = self._objective, self.n_exemplars
        rows = old.rows.values
        new = ExemplarObjective(old.dissimilarity, old.phantom, rows, count, self._sample.size)
        new.put_rows(np.arange(n_rows(rows)), rows, self._sample.shares())
        self._objective, self._ids = new, np.full(count, -1)
        self.__dict__.pop("_means", None)  # those of other clusters
        own = self._sample.excluded(self._sample.slots_of(row_ids))
        for i, slot in grow(new.look(candidates, own=own), count, -np.inf):
            self._ids[slot] = row_ids[i]
        self._derived = {}

    def _merge(self, other: "ExemplarClustering") -> None:
        """Merge the validation samples, then offer the other's exemplars and the merged sample as candidates."""
        theirs = other._objective.rows.values
        moved = self._sample.absorb(self._objective, self._held_out, other._sample, theirs, self._rng)
        self._held_out.absorb(other._held_out)
        self._phantom.merge(other._phantom)
        self._phantom.update(self._objective)
        self._offers.add_counts(other._offers)
        self._n_chunks += other._n_chunks
        own = moved[other._sample.slots_of(other.exemplar_ids_)]
        self._offer(other._objective.chosen.values, other.exemplar_ids_, own, n_merged=other.n_seen_)
        if self._follows() and hasattr(other, "_means"):
            self._means.absorb(other._means)
        self._refine(n_merged=other.n_seen_)
        self._center()
        self._stay_within_budget()

    def _n_retained(self) -> int:
        return len(self._sample) + len(self._held_out) + self._objective.n_chosen

    def _restored(self) -> None:
        if self._is_fitted():  # a file can't hold a function: take the one among the parameters
            self._objective.dissimilarity = self._dissimilarity()

    @property
    def _n_features_out(self) -> int:
        return self._objective.n_chosen
