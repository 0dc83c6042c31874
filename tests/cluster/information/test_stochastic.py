"""Stochastic steps: they raise the objective of their rows, and find a length by themselves."""

import numpy as np
import pytest

from modicum.cluster.information.multilogit import Multilogit
from modicum.cluster.information.priors import Prior
from modicum.cluster.information.solve import Problem, Settings, log_prior_of, objective_of
from modicum.cluster.information.stochastic import GROWTH, step

RNG = np.random.default_rng(0)
X = RNG.choice([-1.0, 1.0], (300, 2)) + 0.2 * RNG.normal(size=(300, 2))
PROBLEM = Problem(X, np.full(300, 1 / 300))
START = Multilogit(RNG.normal(size=(2, 4)), np.zeros(4))


def value(model, settings):
    objective = objective_of(PROBLEM, settings, log_prior_of(settings.prior, START, PROBLEM))
    return -objective(objective.pack(model.weights, model.biases))[0]


@pytest.mark.parametrize("prior", ["uniform", "power law"])
@pytest.mark.parametrize("rate", [1e-3, 1.0, 1e6])
def test_a_step_raises_the_objective(rate, prior):
    settings = Settings(1e-3, Prior(prior))
    model, after = step(PROBLEM, settings, START, rate)
    assert value(model, settings) > value(START, settings)
    assert after == pytest.approx(GROWTH * rate) if rate <= 1 else after < rate


def test_many_steps_come_near_a_maximum():
    settings, model, rate = Settings(1e-3, Prior()), START, 1.0
    for _ in range(200):
        model, rate = step(PROBLEM, settings, model, rate)
    objective = objective_of(PROBLEM, settings, np.zeros(4))
    slopes = objective(objective.pack(model.weights, model.biases))[1]
    assert np.abs(slopes).max() < 2e-3


def test_no_step_from_a_maximum():
    flat = Multilogit(np.zeros((2, 4)), np.zeros(4))  # all slopes are zero
    model, _ = step(PROBLEM, Settings(1e-3, Prior()), flat, 1.0)
    np.testing.assert_array_equal(model.weights, flat.weights)
