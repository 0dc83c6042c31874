"""How many dimensions items have, and what workers can be: whatever predicts held-out answers best."""

import warnings
from collections.abc import Callable, Iterable
from typing import NamedTuple

import numpy as np

from modicum.crowd.activity import expected_activities, probability
from modicum.crowd.labels import PairLabels
from modicum.crowd.posterior import CrowdPosterior
from modicum.crowd.progress import part
from modicum.crowd.views import Views
from modicum.exceptions import DataWarning

DIMS = 2, 3, 4, 6, 8
HELD_OUT = 0.1  # of the answers of workers who gave several
HELD_ITEMS = 0.4  # of the items of an answer, where it is its worker's only one: the pairs among them are held out
FEWEST = 50  # held-out labels that a choice may be based on
MOST, MOST_PER_ITEM = 200_000, 100  # labels that models are fitted to; with more, the choice would hardly differ


class Choice(NamedTuple):
    """A model of workers, a number of dimensions, and what both predict of held-out answers."""

    model: str
    n_dims: int
    scores: np.ndarray  # (n_workers,): log-likelihood of held-out labels, by worker

    def excess(self, other: "Choice") -> tuple[float, float]:
        """By how much this predicts better than another one, and the standard error over workers."""
        gain = self.scores - other.scores
        return float(gain.sum()), float(np.sqrt(len(gain)) * gain.std())


Fit = Callable[[Views, str, int], CrowdPosterior]


def choose(
    labels: PairLabels, models: Iterable[str], dims: Iterable[int], fit: Fit, rng: np.random.Generator
) -> Choice:
    """The choice that predicts held-out answers best; the first model unless another is better by a standard error.

    Of numbers of dimensions that predict within a standard error of the best, the largest is taken: it does no harm
    there, and more clusters fit in. `fit(views, model, n_dims)` fits a model to some of the labels.
    """
    models, dims = [*models], [*dims]
    held = hold_out(labels, rng)
    if len(models) * len(dims) == 1 or held.sum() < FEWEST or held.all():
        return Choice(models[0], dims[0], np.empty(0))
    some = _some_answers(labels, rng)
    views, rest = (Views(labels, np.flatnonzero(chosen & some)) for chosen in (held, ~held))

    def attempt(model: str, n_dims: int) -> Choice:
        number = models.index(model) * len(dims) + dims.index(n_dims)
        words = f"comparing models: {model}, {n_dims} dimensions"
        with part(number, number + 1, of=len(models) * len(dims), words=words):
            posterior = fit(rest, model, n_dims)
        fitted = log_likelihood(posterior, views, rest.shares_together()[views.worker])
        return Choice(model, n_dims, np.bincount(views.worker, fitted, views.n_workers))

    best, *others = (_best_size(model, dims, attempt) for model in models)
    for other in others:
        gain, error = other.excess(best)
        best = other if gain > error else best
    if best.scores.sum() <= _chance(views, rest):
        warnings.warn(
            "held-out answers are not predicted better than by chance: workers do not agree, or there are too few "
            "answers. Do not rely on the clusters.",
            DataWarning,
            stacklevel=2,
        )
    return best


def _chance(views: Views, rest: Views) -> float:
    """The log-likelihood of labels if each worker puts any two items in one group equally often."""
    share = rest.shares_together()[views.worker]
    return float(np.abs(views.label) @ np.log(np.where(views.label > 0, share, 1 - share)))


def _best_size(model: str, dims: list[int], attempt: Callable[[str, int], Choice]) -> Choice:
    """The largest number of dimensions that is as good as the best; tried until one is no better than a smaller one."""
    tried = [attempt(model, dims[0])]
    best = tried[0]
    for n_dims in dims[1:]:
        tried.append(attempt(model, n_dims))
        gain, error = tried[-1].excess(best)
        best = tried[-1] if gain > 0 else best
        if gain <= error:
            break
    return [made for made in tried if best.excess(made)[0] <= best.excess(made)[1]][-1]


def _some_answers(labels: PairLabels, rng: np.random.Generator) -> np.ndarray:
    """Which labels a choice is based on: all, or those of random answers if there are many."""
    most = max(MOST, MOST_PER_ITEM * len(labels.items))
    return (rng.random(labels.n_answers) < most / len(labels))[labels.answer]


def hold_out(labels: PairLabels, rng: np.random.Generator) -> np.ndarray:
    """Which labels are held out: whole answers, or for workers with a single one, the pairs among some of its items.

    Pairs of one answer follow from each other: one that is held out alone could be read off the rest.
    """
    owner = np.zeros(labels.n_answers, np.intp)
    owner[labels.answer] = labels.worker
    count = np.bincount(owner[np.unique(labels.answer)], minlength=len(labels.workers))
    has_more = count[labels.worker] > 1
    held = (rng.random(labels.n_answers) < HELD_OUT)[labels.answer] & has_more
    place = labels.answer.astype(np.int64) * len(labels.items)
    places, which = np.unique(np.concatenate([place + labels.first, place + labels.second]), return_inverse=True)
    is_apart = (rng.random(len(places)) < HELD_ITEMS)[which]
    return held | (~has_more & is_apart[: len(labels)] & is_apart[len(labels) :])


def log_likelihood(posterior: CrowdPosterior, views: Views, share: np.ndarray) -> np.ndarray:
    """The log-probability of each label; with a slip it is +1 by the worker's share of pairs in one group."""
    together = probability(*expected_activities(posterior, views.first, views.second, views.worker))
    steady = (1 - posterior.slip_rate) ** 2
    together = np.clip(steady * together + (1 - steady) * share, 1e-6, 1 - 1e-6)
    return np.abs(views.label) * np.log(np.where(views.label > 0, together, 1 - together))
