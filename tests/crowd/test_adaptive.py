"""Adaptive plans: what they choose, and that they pay."""

import numpy as np
import pytest

from modicum import CrowdClustering
from modicum.crowd import coarse_to_fine, task_worth, uncertain
from modicum.crowd.adaptive import AGAIN, memberships
from modicum.datasets import crowd_answers


@pytest.fixture(scope="module")
def model():
    """Few answers with many slips: of some items little is known."""
    answers, _ = crowd_answers(60, 10, n_attributes=1, task_size=8, n_answers=24, slip_rate=0.3, random_state=2)
    return CrowdClustering(2, workers="reliability", n_clusters=2, random_state=0).fit_groupings(answers)


def test_memberships_are_probabilities_of_clusters(model):
    proba = memberships(model)
    np.testing.assert_allclose(proba.sum(axis=1), 1)
    assert (proba.argmax(axis=1) == model.clusters_).mean() > 0.9


def test_worth_is_the_entropy_of_the_cluster(model):
    proba = memberships(model)
    entropy = -(proba * np.log(np.maximum(proba, 1e-300))).sum(axis=1)
    order = model.items_[np.argsort(-entropy)]
    worth = task_worth(model, [order[:5], order[-5:], [*order[:4], 999]])  # nobody has seen the item 999
    assert worth[2] > worth[0] > worth[1]
    np.testing.assert_allclose(worth[0] - worth[1], np.sort(entropy)[-5:].sum() - np.sort(entropy)[:5].sum())


def test_uncertain_tasks_have_items_that_are_worth_more(model):
    plan = uncertain(model, 6, 40, random_state=0)
    assert len(plan) == 40
    assert all(len(set(task.tolist())) == 6 for task in plan.tasks)
    rng = np.random.default_rng(0)
    others = [rng.choice(model.items_, 6, replace=False) for _ in range(40)]
    assert task_worth(model, plan.tasks[:3]).mean() > 1.2 * task_worth(model, others).mean()


def test_items_that_nobody_has_seen_come_first(model):
    plan = uncertain(model, 10, 6, items=[*model.items_, *range(100, 105)], random_state=0)
    count = np.bincount(np.concatenate(plan.tasks), minlength=105)
    assert count[100:].min() >= 1
    assert count[100:].mean() > count[model.items_].mean()


def test_tasks_of_a_round_differ(model):
    """An item in a task counts less in the next: none is in all of them."""
    assert AGAIN < 1
    plan = uncertain(model, 6, 12, random_state=0)
    assert np.bincount(np.concatenate(plan.tasks)).max() < 12


def test_coarse_to_fine_tasks_are_within_one_cluster(model):
    place = {name: at for at, name in enumerate(model.items_.tolist())}
    plan = coarse_to_fine(model, 8, 20, random_state=0)
    clusters = [{int(model.clusters_[place[name]]) for name in task.tolist()} for task in plan.tasks]
    assert all(len(own) == 1 for own in clusters)
    assert len(set.union(*clusters)) == 2


@pytest.mark.parametrize("plan", [uncertain, coarse_to_fine])
def test_same_seed_same_plan_and_errors(model, plan):
    first, second = (plan(model, 5, 3, random_state=7) for _ in range(2))
    assert [task.tolist() for task in first.tasks] == [task.tolist() for task in second.tasks]
    with pytest.raises(ValueError, match="task_size must be at most the number of items"):
        plan(model, 1000, 3)
    with pytest.raises(ValueError, match="n_tasks must be"):
        plan(model, 5, 0)
