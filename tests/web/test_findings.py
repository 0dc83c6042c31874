"""Findings of fits: complete, ready for JSON, and as the learners say."""

import json

import numpy as np
import pytest

from modicum import CrowdClustering, CrowdFactorization
from modicum.crowd.answers import Answers
from modicum.datasets import crowd_answers
from modicum.web.findings import _in_square, findings_of


@pytest.fixture(scope="module")
def answers():
    return crowd_answers(40, 8, n_answers=40, task_size=12, random_state=0)[0]


@pytest.fixture(scope="module", params=["clustering", "factorization"])
def learner(request, answers):
    made = (
        CrowdClustering(2, workers="matrix", n_init=1, random_state=0)
        if request.param == "clustering"
        else CrowdFactorization(4, random_state=0)
    )
    return made.fit_groupings(answers)


@pytest.fixture(scope="module")
def findings(learner):
    return findings_of(learner)


def test_findings_survive_json(findings):
    assert json.loads(json.dumps(findings, allow_nan=False)) == findings


def test_items(learner, findings):
    items = findings["items"]
    assert [item["name"] for item in items] == [str(name) for name in learner.items_.tolist()]
    assert [item["cluster"] for item in items] == learner.clusters_.tolist()
    places = np.array([[item["x"], item["y"]] for item in items])
    assert places.min() >= 0
    assert places.max() <= 1
    assert np.ptp(places, axis=0).max() == pytest.approx(1, abs=1e-3)
    assert all(0 <= item["sure"] <= 1 for item in items)
    assert len(findings["hues"]) == findings["n_clusters"] == learner.n_clusters_


def test_workers(learner, findings):
    k = learner.n_clusters_
    for own, name in zip(findings["workers"], learner.workers_.tolist(), strict=True):
        assert own["name"] == str(name)
        assert np.shape(own["confusion"]) == (k, k)
        assert np.allclose(own["confusion"], learner.confusion_[name][:k, :k], atol=1e-3)
        assert own["kind"] == "usual"
        assert all(own["confusion"][a][b] > 0.499 for a, b in own["lumps"])


def test_a_summary_is_that_of_the_learner(answers):
    learner = CrowdClustering(2, workers="matrix", n_init=1, random_state=0).fit_groupings(answers)
    summary = learner.worker_summary()
    found = findings_of(learner)
    assert [own["n_answers"] for own in found["workers"]] == summary["n_answers"].tolist()
    assert np.allclose([own["reliability"] for own in found["workers"]], summary["reliability"], atol=1e-3)
    assert found["model"] == {
        "kind": "CrowdClustering",
        "n_labels": learner.n_seen_,
        "n_dims": 2,
        "workers": "matrix",
        "slip_rate": learner.slip_rate_,
    }


def test_schools_are_those_of_the_simulation(answers):
    learner = CrowdClustering(2, workers="matrix", n_init=1, random_state=0).fit_groupings(answers)
    agreement = findings_of(learner)["agreement"]
    assert (
        len({(int(name) % 2, school) for name, school in zip(agreement["workers"], agreement["schools"], strict=True)})
        == 2
    )
    assert np.shape(agreement["matrix"]) == (8, 8)


def test_a_far_item_does_not_squash_the_map():
    places = np.random.default_rng(0).normal(size=(200, 2))
    places[0] = 1e6, 0
    found = _in_square(places)
    assert np.ptp(found[1:], axis=0).min() > 0.4
    assert found[0, 0] == found[:, 0].max()


@pytest.mark.filterwarnings("ignore::modicum.exceptions.DataWarning")
def test_two_items_and_one_worker():
    tiny = Answers(*np.array([["w", "t", "a", "1"], ["w", "t", "b", "2"]]).T)
    found = findings_of(CrowdClustering(1, workers="reliability", n_init=1, random_state=0).fit_groupings(tiny))
    assert len(found["items"]) == 2
    json.dumps(found, allow_nan=False)
