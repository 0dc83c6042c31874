"""Every public learner keeps the contract, ours and scikit-learn's."""

import numpy as np
import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

import modicum
from learners import LEARNERS, seeded
from modicum.checks import check_learner, checks_for

CASES = [
    pytest.param(learner, check, id=f"{type(learner).__name__}{i}-{name}")
    for learners in LEARNERS.values()
    for i, learner in enumerate(learners)
    for name, check in checks_for(learner)
]


def test_every_public_learner_is_checked():
    assert set(LEARNERS) == set(modicum.load_all_learners())


@pytest.mark.parametrize(("learner", "check"), CASES)
def test_contract(learner, check):
    check(learner)


NO_LABELS = "labels_ of a plain list can't be found again: rows are not kept, and lists can't be weakly referenced"
TWO_PROTOTYPES = "a row given twice may become two prototypes, a row of weight 2 only one"
NO_WEIGHTS = {
    f"check_{name}": "it takes no weights: rows seen twice make a Gaussian process surer"
    for name in (
        "sample_weights_pandas_series",
        "sample_weights_not_an_array",
        "sample_weights_list",
        "all_zero_sample_weights_error",
        "sample_weights_shape",
        "sample_weights_not_overwritten",
        "sample_weight_equivalence_on_dense_data",
        "sample_weight_equivalence_on_sparse_data",
    )
}
FIRST_ROWS = "the first rows set the width and the scale of weights, and the check shuffles them"
EQUIVALENCE = ("check_sample_weight_equivalence_on_dense_data", "check_sample_weight_equivalence_on_sparse_data")
SEEDS = "seeds are drawn from the rows, and the check shuffles them"
SELECTORS = ("BlockGreedy", "OnlineGreedy", "SieveStreaming", "SieveStreamingPlusPlus", "StreamGreedy", "ThreeSieves")
EXPECTED_FAILURES = {
    **{name: dict.fromkeys(EQUIVALENCE, TWO_PROTOTYPES) for name in (*SELECTORS, "PrototypeRegressor")},
    "KRLS": dict.fromkeys(EQUIVALENCE, FIRST_ROWS),
    "StreamSVC": dict.fromkeys(EQUIVALENCE, "the order of rows matters, and the check shuffles them"),
    "SparseGPRegressor": NO_WEIGHTS,
    "ExemplarClustering": {"check_clustering": NO_LABELS},
    "StreamGaussianMixture": {EQUIVALENCE[0]: SEEDS},
    "StreamKMeans": {"check_clustering": NO_LABELS, EQUIVALENCE[0]: SEEDS},
    "OnlineKMeans": {
        "check_clustering": NO_LABELS,
        "check_sample_weight_equivalence_on_dense_data": "the order of rows matters, and the check shuffles them",
    },
}


VARIANTS = [  # learners whose other parameters lead to other code: scikit-learn's checks see them too
    modicum.MemoryBoundedMixture(),
    modicum.SparseGPRegressor(20),
    modicum.StreamSVC(1.0, ellipsoid=None),
    modicum.StreamSVC(1.0, kernel="rbf"),
]


@parametrize_with_checks(
    [seeded(learner) for learner in [*(learners[0] for learners in LEARNERS.values()), *VARIANTS]],
    expected_failed_checks=lambda estimator: EXPECTED_FAILURES.get(type(estimator).__name__, {}),
)
def test_scikit_learn(estimator, check):
    check(estimator)


class Forgetful(modicum.OnlineKMeans):
    """Breaks a promise: predicting moves the centers.

    Cost: none. See nobody2000.

    Parameters
    ----------
    n_clusters : int
    random_state : int

    Attributes
    ----------
    Examples
    --------
    References
    ----------
    """

    def predict(self, X):
        labels = super().predict(X)
        self.cluster_centers_ = self.cluster_centers_ + 1
        return labels


def test_a_broken_promise_is_named():
    with pytest.raises(AssertionError, match="Forgetful breaks stream/predicting_teaches_nothing"):
        check_learner(Forgetful(3))


class Hoarder(modicum.OnlineKMeans):
    """Breaks a promise: keeps every row."""

    def _learn(self, X, y, weight, row_ids):
        super()._learn(X, y, weight, row_ids)
        self._rows = np.concatenate([getattr(self, "_rows", X[:0]), X])


def test_growth_is_noticed():
    from modicum.checks.budget import state_is_flat_over_a_long_stream

    with pytest.raises(AssertionError, match="held"):
        state_is_flat_over_a_long_stream(Hoarder(3))
