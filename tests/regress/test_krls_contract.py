"""KRLS keeps the contract, ours and scikit-learn's."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from modicum import KRLS
from modicum.checks import checks_for
from modicum.kernels import RBF

LEARNERS = [KRLS(20), KRLS("32 KiB", kernel="matern32", ald_threshold=0.3), KRLS(10, kernel=RBF(0.5), ridge=0.0)]
CASES = [
    pytest.param(learner, check, id=f"{i}-{name}")
    for i, learner in enumerate(LEARNERS)
    for name, check in checks_for(learner)
]


@pytest.mark.parametrize(("learner", "check"), CASES)
def test_contract(learner, check):
    check(learner)


NO_WEIGHTS = "it takes no weights"
EXPECTED_FAILURES = {
    f"check_{name}": NO_WEIGHTS
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


@parametrize_with_checks([KRLS(20), KRLS()], expected_failed_checks=lambda estimator: EXPECTED_FAILURES)
def test_scikit_learn(estimator, check):
    check(estimator)
