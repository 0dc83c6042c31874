"""Plans that depend on answers so far: items of which least is known, or those of one cluster (gomes2011, 7.4, 7.5.3).

The worth of an item is the entropy of its cluster, given where it may be; that of a task is the sum over its items. An
item that is in a task already counts half in the next ones, so that tasks of one round differ.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.special import entr, log_softmax, softmax

from modicum.crowd.clustering import CrowdClustering
from modicum.crowd.names import as_names
from modicum.crowd.tasks import Plan, check_task_size
from modicum.exceptions import DataError
from modicum.rules.params import Int
from modicum.state.rng import RandomState, as_generator

AGAIN = 0.5  # what an item counts in later tasks of a round, for each task it is in
LEAST = 0.02  # worth of items of which all seems to be known
PRIOR_ITEMS = 2.0  # of the spread of all clusters, in that of each


def uncertain(
    model: CrowdClustering,
    task_size: int = 20,
    n_tasks: int = 10,
    *,
    items: Any = None,
    random_state: RandomState = None,
) -> Plan:
    """Tasks of items of whose cluster least is known.

    Parameters
    ----------
    model : CrowdClustering
        Fitted to the answers so far.
    task_size, n_tasks : int
    items : names, default=None
        All items that are to be sorted; those that nobody has seen yet are worth most. By default those of the model.
    random_state : int, Generator or None, default=None

    Examples
    --------
    >>> from modicum import CrowdClustering
    >>> from modicum.crowd import uncertain
    >>> from modicum.datasets import crowd_answers
    >>> crowd = CrowdClustering(random_state=0).fit_groupings(crowd_answers(60, n_answers=30)[0])
    >>> len(uncertain(crowd, task_size=10, n_tasks=5, random_state=0).tasks[0])
    10
    """
    names, worth = _worth(model, items)
    _check(task_size, n_tasks, len(names))
    rng, tasks = as_generator(random_state), []
    for _ in range(n_tasks):
        chosen = rng.choice(len(names), task_size, replace=False, p=worth / worth.sum())
        worth[chosen] *= AGAIN
        tasks.append(names[chosen])
    return Plan(tuple(tasks))


def coarse_to_fine(
    model: CrowdClustering, task_size: int = 20, n_tasks: int = 10, *, random_state: RandomState = None
) -> Plan:
    """Tasks of items of one cluster, so that workers draw finer distinctions: what they see depends on the context.

    Clusters get tasks by the worth of their items. A cluster with fewer items than `task_size` makes smaller tasks;
    one with a single item makes none.
    """
    names, worth = _worth(model, None)
    _check(task_size, n_tasks, len(names))
    rng, tasks = as_generator(random_state), []
    sizes = np.bincount(model.clusters_)
    for _ in range(n_tasks):
        total = np.where(sizes > 1, np.bincount(model.clusters_, worth), 0.0)
        if not total.any():
            raise DataError("coarse_to_fine: no cluster has two items. Use another plan.")
        members = np.flatnonzero(model.clusters_ == rng.choice(len(sizes), p=total / total.sum()))
        share = worth[members] / worth[members].sum()
        chosen = rng.choice(members, min(task_size, len(members)), replace=False, p=share)
        worth[chosen] *= AGAIN
        tasks.append(names[chosen])
    return Plan(tuple(tasks))


def task_worth(model: CrowdClustering, tasks: Sequence[Any]) -> np.ndarray:
    """What each task is worth: the sum over its items of the entropy of their cluster, in nats."""
    names, worth = _worth(model, np.unique(np.concatenate([as_names(task, "an item") for task in tasks])))
    place = {name: at for at, name in enumerate(names.tolist())}
    return np.array([worth[[place[name] for name in as_names(task, "an item").tolist()]].sum() for task in tasks])


def _worth(model: CrowdClustering, items: Any) -> tuple[np.ndarray, np.ndarray]:
    """Names of items, and what is to be learned of each."""
    known = dict(zip(model.items_.tolist(), LEAST + entr(memberships(model)).sum(axis=1), strict=True))
    names = model.items_ if items is None else as_names(items, "an item")
    unseen = LEAST + float(np.log(model.n_clusters_ + 1))  # more than that of any item with answers
    return names, np.array([known.get(name, unseen) for name in names.tolist()])


def memberships(model: CrowdClustering) -> np.ndarray:
    """The probability of each cluster for each item, whose position is uncertain: (n_items, n_clusters)."""
    X, z = model.embedding_, model.clusters_
    sizes = np.bincount(z)
    means = np.array([X[z == k].mean(axis=0) for k in range(len(sizes))])
    around = (X - means[z]) ** 2
    own = np.array([around[z == k].sum(axis=0) for k in range(len(sizes))])
    spread = (own + PRIOR_ITEMS * around.mean(axis=0)) / (sizes + PRIOR_ITEMS)[:, None] + 1e-9
    variance = spread + model.embedding_variance_[:, None]  # (n_items, n_clusters, n_dims)
    log_density = -0.5 * ((X[:, None] - means) ** 2 / variance + np.log(variance)).sum(axis=2)
    return softmax(log_density + log_softmax(np.log(sizes)), axis=1)


def _check(task_size: int, n_tasks: int, n_items: int) -> None:
    check_task_size("a plan", task_size, n_items)
    if not Int(1).accepts(n_tasks):
        raise ValueError(f"a plan: n_tasks must be {Int(1)}; got {n_tasks!r}.")
