"""What RIM and KernelRIM share: samples of the stream, a solution that is fitted to them, and its answers."""

import time
from collections.abc import Iterator
from copy import deepcopy
from dataclasses import replace
from typing import Any

import numpy as np
from scipy import sparse

from modicum.clumps.rounds import MAX_ROUNDS, Rounds
from modicum.cluster.information.answers import InformationAnswers, mutual_information, shares_from
from modicum.cluster.information.fitting import Request, find
from modicum.cluster.information.labels import as_labels, is_labelled
from modicum.cluster.information.objective import Labelled
from modicum.cluster.information.priors import PRIOR, Prior
from modicum.cluster.information.semi_supervised import ClassSizes
from modicum.cluster.information.solution import Solution
from modicum.cluster.information.solve import Problem, Settings, maximize
from modicum.cluster.information.stochastic import step
from modicum.contract.labels import Labels
from modicum.contract.learner import Traits
from modicum.exceptions import BudgetError, DataError
from modicum.rows import TARGET_BYTES, average_bytes, is_sparse, n_rows, take
from modicum.rules.budget import Plan, as_budget, format_bytes
from modicum.rules.invariants import Is, Whole
from modicum.rules.params import BUDGET, NULL, RANDOM_STATE, TRUTH, Int, Number, OneOf
from modicum.select.reservoir import Reservoir

COLUMNS = ("n_seen", "clusters", "regularization", "information", "seconds")  # of the history
BATCH = 1000  # rows of a stochastic step
GROWTH = 2  # the stream has grown by this factor when the next fit from scratch is due
CHOICE_GROWTH = 4  # and by this one when the regularisation is chosen again, which takes longer than a fit
LAST_GROWTH = 1.5  # the same at the end of a stream
LABELLED = 10  # one row in so many is reserved for labelled rows
FEWEST = 20  # rows of a budget
LARGEST = 1e6  # regularisation: far beyond those that leave one cluster
KEY_BYTES = 24  # of a sampled row: key, weight and id
NAME_BYTES = 80  # reserved for the name of a class: 20 characters
FIXED_BYTES = MAX_ROUNDS * len(COLUMNS) * 8 + 4096  # the history and all scalars


CONSTRAINTS: dict[str, list[Any]] = {
    "max_clusters": [Int(1)],
    "n_clusters": [Int(1), NULL],
    "regularization": [OneOf("auto"), Number(0.0, LARGEST, open_ends=True)],
    "prior": [PRIOR],
    "tau": [OneOf("auto"), Number(0.0)],
    "new_clusters": [TRUTH],
    "budget": [BUDGET],
    "n_init": [Int(1)],
    "tol": [Number(0.0, 1.0, open_ends=True)],
    "max_iter": [Int(1)],
    "random_state": [RANDOM_STATE],
}


class InformationClusterer(InformationAnswers):
    """Base of RIM and KernelRIM. A subclass writes `_new_features` and what it holds for them."""

    traits = Traits(merge="approximate", weights=True, sparse=True)
    _takes_unlabelled = True
    _invariants = {
        "_sample": Is(Reservoir),
        "_labelled": [NULL, Is(Reservoir)],
        "_classes": Is(Labels),
        "_solution": Is(Solution),
        "_next_fit": Whole(1),
        "_n_waiting": Whole(0, BATCH),
        "_rounds": Is(Rounds, width=len(COLUMNS), limit=MAX_ROUNDS),
    }

    _labelled: Reservoir | None
    n_clusters: int | None
    regularization: float | str
    tau: float | str
    new_clusters: bool
    budget: int | str
    tol: float
    max_iter: int
    _next_fit: int  # rows of the stream at which the next fit from scratch is due
    _n_waiting: int  # rows since the last stochastic step

    # ---- learning --------------------------------------------------------------------------------

    def _learn(self, X: Any, y: np.ndarray | None, weight: np.ndarray | None, row_ids: np.ndarray) -> None:
        first = not hasattr(self, "_sample")
        if first:
            self._set_up(X)
        self._sample.partial_fit(X, None, weight, row_ids)
        self._watch(X, row_ids)
        codes = self._learn_labels(X, y, weight, row_ids)
        n_seen = self.n_seen_ + n_rows(X)
        if n_seen >= self._next_fit:
            self._refit(n_seen)
            if first and not self._sample.is_exact_:  # all rows are still in memory
                self._polish(self._problem_of(X, weight, codes))
        else:
            self._follow(X, weight)
        if self._rows_differ_in_size():
            self._hold_budget(self._sample.n_retained_, FEWEST, self._shrink)

    def _shrink(self, size: int) -> None:
        """Keep a sample of so many rows, and the same share of the labelled rows."""
        share = size / self._sample.n_retained_
        self._sample._shrink(size)
        if self._labelled is not None:
            self._labelled._shrink(max(1, int(share * self._labelled.n_retained_)))

    def _set_up(self, X: Any) -> None:
        self._sample = Reservoir(self._divided(self._n_rows(X))[0], random_state=int(self._rng.integers(2**31)))
        self._labelled = None
        self._classes = Labels()
        self._rounds = Rounds(*COLUMNS, limit=MAX_ROUNDS)
        self._next_fit, self._n_waiting = 1, 0

    def _learn_labels(
        self, X: Any, y: np.ndarray | None, weight: np.ndarray | None, row_ids: np.ndarray
    ) -> np.ndarray | None:
        """Keep labelled rows; returns the categories of all rows, -1 for those without a label."""
        if y is None or not (known := is_labelled(y)).any():
            return None
        labels = np.unique(y[known])
        for label in labels[self._classes.codes(labels) < 0]:
            self._classes.add(label)
            self._next_fit = 1  # a new class does not wait
        codes = np.where(known, self._classes.codes(y), -1)
        at = np.flatnonzero(known)
        if self._labelled is None:
            self._labelled = Reservoir(self._divided(self._n_rows(X))[1], random_state=int(self._rng.integers(2**31)))
        self._labelled.partial_fit(take(X, at), codes[at], None if weight is None else weight[at], row_ids[at])
        return codes

    def _refit(self, n_seen: int, choice_growth: float = CHOICE_GROWTH) -> None:
        """Fit to the sample from scratch. Clusters keep their numbers as far as they are still there.

        The regularisation is chosen again if the stream has grown by `choice_growth` since it was chosen.
        """
        started = time.perf_counter()
        features, rows = self._new_features()
        problem = self._problem(rows, self._sample.point_weights_, self._labelled_rows(features))
        earlier = None
        if hasattr(self, "_solution"):
            before = self._solution.features
            rows = self._problem(before(self._sample.points_), None, self._labelled_rows(before)).rows
            earlier = self._solution.model.labels(rows)
        request, last = self._request(), None
        if earlier is not None and self._keeps_choice(n_seen, choice_growth):
            last = self._solution
            request = replace(request, regularization=last.regularization)
        found = find(problem, request, earlier, self._source_of_features(), self._rng)
        self._solution = Solution(features, found, n_seen, last)
        self._next_fit, self._n_waiting = GROWTH * n_seen, 0
        self._derived = {}  # at the end of a stream, answers may have been asked for before
        information, _ = mutual_information(found.model.log_proba(problem.rows), problem.shares)
        size, seconds = len(found.model), time.perf_counter() - started
        self._rounds.record(n_seen, size, found.settings.regularization, information, seconds)

    def _keeps_choice(self, n_seen: int, growth: float) -> bool:
        """Whether the regularisation of the present solution was chosen for such clusters, and not long ago."""
        choice = self._solution.choice
        if choice is None or self.regularization != "auto" or self._labelled is not None:
            return False
        return ("score" in choice) == (self.n_clusters is None) and n_seen < growth * self._solution.chosen_at

    def _polish(self, problem: Problem) -> None:
        """Maximise further on all rows of a chunk."""
        settings = self._settings()
        fit = maximize(problem, settings, self._solution.model)
        self._solution.model = fit.model

    def _follow(self, X: Any, weight: np.ndarray | None) -> None:
        """Stochastic steps along new rows, or rows of the sample if chunks are small."""
        self._n_waiting += n_rows(X)
        if self._n_waiting < BATCH:
            return
        self._n_waiting = 0
        settings = self._settings()
        for problem in self._batches(X, weight):
            model, rate = step(problem, settings, self._solution.model, self._solution.rate)
            self._solution.model, self._solution.rate = model, rate

    def _batches(self, X: Any, weight: np.ndarray | None) -> Iterator[Problem]:
        """Minibatches of about the same size: a step along a few rows only would lead away from all others."""
        if n_rows(X) < BATCH:
            some = self._rng.choice(self._sample.n_retained_, min(BATCH, self._sample.n_retained_), replace=False)
            X, weight = take(self._sample.points_, np.sort(some)), self._sample.point_weights_[np.sort(some)]
        features = self._solution.features
        labelled = self._labelled_rows(features)
        bounds = np.linspace(0, n_rows(X), max(1, n_rows(X) // BATCH) + 1).astype(int)
        for tile in map(slice, bounds[:-1], bounds[1:]):
            yield self._problem(features(take(X, tile)), None if weight is None else weight[tile], labelled)

    def _end_of_stream(self) -> None:
        if self._solution.n_seen < self.n_seen_:
            self._refit(self.n_seen_, LAST_GROWTH)

    # ---- rows as problems ------------------------------------------------------------------------

    def _new_features(self) -> tuple[Any, Any]:
        """The feature map for the rows held, and the features of the sampled ones."""
        raise NotImplementedError(f"{type(self).__name__} must define _new_features")

    def _watch(self, X: Any, row_ids: np.ndarray) -> None:
        """Hook: see all rows, to choose prototypes among them."""

    def _labelled_rows(self, features: Any) -> Any:
        """Features of the labelled rows held; None if there are none."""
        return None if self._labelled is None else features(self._labelled.points_)

    def _problem(self, rows: Any, weight: np.ndarray | None, labelled: Any) -> Problem:
        """Features of rows to learn information from, and of all labelled rows held, which add none to it."""
        shares = shares_from(rows.shape[0], weight)
        if self._labelled is None:
            return Problem(rows, shares)
        rows = sparse.vstack([rows, labelled], "csr") if is_sparse(rows) else np.concatenate([rows, labelled])
        at = np.arange(len(shares), rows.shape[0])
        held = self._labelled
        labels = Labelled(at, np.asarray(held.targets_), held.point_weights_, len(self._classes))
        return Problem(rows, np.concatenate([shares, np.zeros(len(at))]), labels)

    def _problem_of(self, X: Any, weight: np.ndarray | None, codes: np.ndarray | None) -> Problem:
        """All rows of a chunk, with their labels."""
        labels = None
        if codes is not None:
            at = np.flatnonzero(codes >= 0)
            labels = Labelled(at, codes[at], None if weight is None else weight[at], len(self._classes))
        return Problem(self._solution.features(X), shares_from(n_rows(X), weight), labels)

    def _check_params(self) -> None:
        super()._check_params()
        if self.n_clusters is not None and not isinstance(self.prior, str) and len(self.prior) != self.n_clusters:
            raise ValueError(
                f"{type(self).__name__}: prior has {len(self.prior)} proportions, but n_clusters is {self.n_clusters}. "
                "Give one per cluster, or leave out n_clusters."
            )

    # ---- labels ----------------------------------------------------------------------------------

    def _check_target(self, y: Any, count: int) -> np.ndarray | None:
        labels = super()._check_target(y, count)
        return None if labels is None else as_labels(labels, type(self).__name__)

    def _check_chunk(self, X: Any, y: np.ndarray | None) -> None:
        if y is None or not (known := is_labelled(y)).any():
            return
        classes = self._classes if self._is_fitted() else Labels()
        classes.check(y[known])
        self._check_labels(np.union1d(classes.values if len(classes) else y[:0], y[known]))

    def _check_labels(self, labels: np.ndarray) -> None:
        """Refuse more classes than clusters, and names of classes too long for a budget in bytes."""
        name, most = type(self).__name__, self._request().most_categories
        if len(labels) > most:
            raise DataError(
                f"{name}: there are {len(labels)} classes, but at most {most} clusters. Raise max_clusters."
            )
        held, room = np.array(labels.tolist()).nbytes, NAME_BYTES * most
        if as_budget(self.budget).nbytes is not None and held > room:
            raise BudgetError(
                f"{name}: names of classes take {format_bytes(held)}, but {format_bytes(room)} of the budget are for "
                "them. Give shorter names, or raise max_clusters."
            )

    # ---- memory ----------------------------------------------------------------------------------

    def plan(self, n_features: int, dtype: Any = np.float64) -> Plan:
        """What will be held for dense rows of `n_features` columns, in bytes, before any data is seen."""
        self._check_params()
        row_bytes = n_features * np.dtype(dtype).itemsize
        return self._plan(self._rows_within(n_features, row_bytes), n_features, row_bytes)

    def _n_rows(self, X: Any) -> int:
        """How many rows such as X the budget allows."""
        return self._rows_within(self.n_features_in_, average_bytes(X))

    def _rows_within(self, n_features: int, row_bytes: int) -> int:
        """How many rows of such a size the budget allows."""
        budget = as_budget(self.budget)
        return budget.most_within(
            lambda rows: self._plan(rows, n_features, row_bytes).nbytes,
            at_least=FEWEST,
            what=f"{type(self).__name__} for rows of {format_bytes(row_bytes)}",
        )

    def _plan(self, rows: int, n_features: int, row_bytes: int) -> Plan:
        sample, labelled = self._divided(rows)
        n_inputs, feature_bytes = self._feature_sizes(rows, n_features, row_bytes)
        return Plan.of(
            rows,
            sample=sample * (row_bytes + KEY_BYTES),
            labelled_rows=labelled * (row_bytes + KEY_BYTES + TARGET_BYTES),
            features=feature_bytes,
            model=(n_inputs + 1) * self._request().most_categories * 8,
            classes=(NAME_BYTES + 8) * self._request().most_categories,
            history_and_scalars=FIXED_BYTES,
        )

    def _divided(self, rows: int) -> tuple[int, int]:
        """How many of the rows that may be held are for the sample, and how many for labelled rows."""
        labelled = rows // LABELLED
        return rows - labelled, labelled

    def _feature_sizes(self, rows: int, n_features: int, row_bytes: int) -> tuple[int, int]:
        """How many features a row has for the model, and the bytes that are held to compute them."""
        raise NotImplementedError(f"{type(self).__name__} must define _feature_sizes")

    # ---- contract --------------------------------------------------------------------------------

    def _merge(self, other: "InformationClusterer") -> None:
        join(self._sample, other._sample, "budget")
        self._merge_labels(other)
        self._refit(self.n_seen_ + other.n_seen_, LAST_GROWTH)
        if self._rows_differ_in_size():
            self._hold_budget(self._sample.n_retained_, FEWEST, self._shrink)

    def _merge_labels(self, other: "InformationClusterer") -> None:
        if other._labelled is None:
            return
        self._classes.check(other._classes.values)
        if len(self._classes):
            self._check_labels(np.union1d(self._classes.values, other._classes.values))
        for label in other._classes.values:
            if self._classes.codes(np.asarray(label)[None])[0] < 0:
                self._classes.add(label)
        theirs = deepcopy(other._labelled)
        theirs._targets = self._classes.codes(other._classes.values)[theirs._targets]
        if self._labelled is None:
            self._labelled = theirs
        else:
            join(self._labelled, theirs, "budget")

    def _request(self) -> Request:
        return Request(
            self.max_clusters,
            self.n_clusters,
            self.regularization,
            Prior(self.prior),
            self.tau,
            self.new_clusters,
            self.n_init,
            self.tol,
            self.max_iter,
        )

    def _settings(self) -> Settings:
        """What is maximised now."""
        prior = Prior(self.prior)
        if self._labelled is not None and prior.is_auto:
            weights = self._labelled.point_weights_
            prior = ClassSizes.of(np.bincount(np.asarray(self._labelled.targets_), weights, len(self._classes)))
        return Settings(self._solution.regularization, prior, self._solution.tau, self.tol, self.max_iter)

    def _may_fail_midway(self) -> bool:
        return self._rows_differ_in_size()

    def _check_reset(self) -> None:
        """Also refuse parameters that features and the division of the budget depend on."""
        fixed = {"features", "kernel", "n_prototypes"}
        if as_budget(self.budget).nbytes is not None:
            fixed |= {"max_clusters", "n_clusters"}
        if changed := fixed & getattr(self, "_reset", set()):
            raise ValueError(
                f"{type(self).__name__}: {', '.join(sorted(changed))} was set after rows had been learned. "
                "Call fit to start over."
            )
        super()._check_reset()

    def _n_retained(self) -> int:
        return self._sample.n_retained_ + (0 if self._labelled is None else self._labelled.n_retained_)


def join(ours: Any, theirs: Any, size: str) -> None:
    """Merge rows held, as many as the smaller side may hold: of larger rows, fewer fit in a budget in bytes."""
    least = min(getattr(ours, size), getattr(theirs, size))
    if getattr(theirs, size) > least:
        theirs = deepcopy(theirs)
        theirs._resize(least, theirs.budget)
    elif getattr(ours, size) > least:
        ours._resize(least, ours.budget)
    ours.merge(theirs)
