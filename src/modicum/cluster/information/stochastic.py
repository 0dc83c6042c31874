"""Stochastic ascent: steps along the gradient of the objective on minibatches of a stream.

The label distribution is that of the minibatch. A longer running average lags behind the weights and can drive all rows
into one category. A step is shortened until the objective of its minibatch rises as much as a smooth function would, so
that its length needs no tuning (vaswani2019).
"""

from modicum.cluster.information.multilogit import Multilogit
from modicum.cluster.information.solve import Problem, Settings, log_prior_of, objective_of

FIRST_RATE = 10.0
GROWTH = 1.2  # of the rate after a step that was not shortened
MOST_HALVINGS = 20


def step(problem: Problem, settings: Settings, model: Multilogit, rate: float) -> tuple[Multilogit, float]:
    """The model after one step, and the rate for the next; the model as it was if no step raises the objective."""
    objective = objective_of(problem, settings, log_prior_of(settings.prior, model, problem))
    start = objective.pack(model.weights, model.biases)
    loss, gradient = objective(start)
    slope = float(gradient @ gradient)
    for _ in range(MOST_HALVINGS):
        params = start - rate * gradient
        if objective(params)[0] <= loss - 0.5 * rate * slope:
            return Multilogit(*objective.unpack(params)), GROWTH * rate
        rate /= 2.0
    return model, rate
