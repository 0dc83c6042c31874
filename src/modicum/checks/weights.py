"""Weights: a row of weight 2 counts twice, a row of weight 0 is absent."""

import numpy as np

from modicum.checks.common import assert_same, fresh, learned, outputs, rows, targets, when
from modicum.contract.learner import Learner


@when(lambda traits: traits.weights)
def weight_one_is_no_weight(learner: Learner) -> None:
    X = rows(learner, 60)
    plain, weighted = learned(learner, X), learned(learner, X, sample_weight=np.ones(len(X)))
    assert_same(outputs(weighted, X), outputs(plain, X), "weights of 1")


@when(lambda traits: traits.weights)
def weight_zero_is_absent(learner: Learner) -> None:
    X, noise = rows(learner, 60), rows(learner, 20, seed=1) * 50
    y = targets(learner, np.concatenate([X, noise]))
    plain = fresh(learner).partial_fit(X, None if y is None else y[:60])
    weight = np.concatenate([np.ones(60), np.zeros(20)])
    with_noise = fresh(learner).partial_fit(np.concatenate([X, noise]), y, weight)
    assert_same(outputs(with_noise, X), outputs(plain, X), "rows of weight 0")


@when(lambda traits: traits.weights)
def doubling_all_weights_changes_no_prediction(learner: Learner) -> None:
    X = rows(learner, 60)
    once, twice = learned(learner, X), learned(learner, X, sample_weight=np.full(len(X), 2.0))
    if hasattr(once, "predict"):
        assert_same(twice.predict(X), once.predict(X), "predictions with all weights doubled")


CHECKS = [weight_one_is_no_weight, weight_zero_is_absent, doubling_all_weights_changes_no_prediction]
