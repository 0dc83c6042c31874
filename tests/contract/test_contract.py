"""Every public learner passes the checks of the contract and those of scikit-learn."""

import numpy as np
import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

import modicum
from learners import EXPECTED_FAILURES, LEARNERS, seeded
from modicum.checks import check_learner, checks_for


def is_exhaustive(variant, check):
    """Whether a check is left to `make test-all`: most of second variants, and all of further ones."""
    return variant > 1 or (variant > 0 and not check.startswith(("budget", "resume")))


CASES = [
    pytest.param(
        learner,
        check,
        id=f"{type(learner).__name__}{i}-{name}",
        marks=[pytest.mark.slow] if is_exhaustive(i, name) else [],
    )
    for learners in LEARNERS.values()
    for i, learner in enumerate(learners)
    for name, check in checks_for(learner)
]


def test_every_public_learner_is_checked():
    own = set(modicum.CROWD)  # they learn pairs of items: see tests/crowd
    assert set(LEARNERS) == set(modicum.load_all_learners()) - own


@pytest.mark.parametrize(("learner", "check"), CASES)
def test_contract(learner, check):
    check(learner)


VARIANTS = [  # parameters that lead to other code, for scikit-learn's checks
    modicum.MemoryBoundedMixture(),
    modicum.MemoryBoundedTopicModel(),
    modicum.MemoryBoundedTopicModel("multinomial", method="clumps"),
    modicum.SparseGPRegressor(20),
    modicum.StreamSVC(1.0, ellipsoid=None),
    modicum.StreamSVC(1.0, kernel="rbf"),
]


def expected_failures(estimator):
    return EXPECTED_FAILURES.get(type(estimator).__name__, {})


@parametrize_with_checks(
    [seeded(learners[0]) for learners in LEARNERS.values()], expected_failed_checks=expected_failures
)
def test_scikit_learn(estimator, check):
    check(estimator)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*are not consecutive:modicum.exceptions.DataWarning")  # y is a label of rows
@parametrize_with_checks([seeded(learner) for learner in VARIANTS], expected_failed_checks=expected_failures)
def test_scikit_learn_on_variants(estimator, check):
    check(estimator)


class Forgetful(modicum.OnlineKMeans):
    """Breaks the contract: predicting moves the centers.

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


def test_the_check_that_fails_is_named():
    with pytest.raises(AssertionError, match="Forgetful fails stream/answering_changes_nothing"):
        check_learner(Forgetful(3))


class Hoarder(modicum.OnlineKMeans):
    """Breaks the contract: keeps every row."""

    def _learn(self, X, y, weight, row_ids):
        super()._learn(X, y, weight, row_ids)
        self._rows = np.concatenate([getattr(self, "_rows", X[:0]), X])


def test_growth_is_detected():
    from modicum.checks.budget import state_is_flat_over_a_long_stream

    with pytest.raises(AssertionError, match="held"):
        state_is_flat_over_a_long_stream(Hoarder(3))
