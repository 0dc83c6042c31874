"""CrowdClustering: what it finds, what it says of workers, and the contract of learners."""

import itertools

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.metrics import adjusted_rand_score

import modicum
from modicum import CrowdClustering
from modicum.checks.forge import forgeries
from modicum.crowd import Answers
from modicum.crowd.activity import expected_activities
from modicum.crowd.choice import hold_out
from modicum.crowd.clusters import find_clusters
from modicum.crowd.confusion import confusions
from modicum.crowd.labels import PairLabels
from modicum.crowd.posterior import CrowdPosterior
from modicum.datasets import crowd_answers
from modicum.exceptions import DataError, DataWarning, StateError


@pytest.fixture(scope="module")
def answers():
    return crowd_answers(80, 12, n_answers=72, task_size=12, random_state=1)


@pytest.fixture(scope="module")
def crowd(answers):
    return CrowdClustering(random_state=0).fit_groupings(answers[0])


def small(**more):
    return CrowdClustering(2, workers="reliability", max_iter=15, random_state=0, **more)


class TestSchools:
    def test_clusters_are_found_with_their_number(self, crowd, answers):
        assert crowd.workers_model_ == "matrix"
        assert crowd.n_clusters_ == 4
        assert adjusted_rand_score(answers[1][crowd.items_], crowd.clusters_) > 0.95

    def test_confusions_show_the_schools(self, crowd, answers):
        """Each worker sees one attribute: every cluster is lumped with the one that differs in the other attribute."""
        _, truth = answers
        names = [int(np.bincount(truth[crowd.items_][crowd.clusters_ == k]).argmax()) for k in range(4)]
        for worker, confusion in crowd.confusion_.items():
            attribute = worker % 2
            same = np.array([[(a >> attribute) & 1 == (b >> attribute) & 1 for a in names] for b in names])
            assert (confusion[same] > 0.8).all()
            assert (confusion[~same] < 0.2).all()

    def test_one_school_with_few_answers_is_reliability(self):
        answers, truth = crowd_answers(60, 60, n_attributes=1, n_seen=1, task_size=6, n_answers=120, slip_rate=0.2)
        model = CrowdClustering(random_state=0).fit_groupings(answers)
        assert model.workers_model_ == "reliability"
        assert adjusted_rand_score(truth[model.items_], model.set_params(n_clusters=2).clusters_) > 0.9

    def test_summary_tells_random_and_adversarial_workers(self):
        answers, _ = crowd_answers(60, 12, n_attributes=1, n_answers=72, task_size=12, random_state=3)
        rng, group = np.random.default_rng(0), answers.group.copy()
        group[answers.worker == 3] = rng.integers(2, size=(answers.worker == 3).sum())
        rows = np.flatnonzero(answers.worker == 5)  # puts together what is different, and splits what is alike
        first = group[rows] == 0
        group[rows] = np.where(np.arange(len(rows)) % 2 == 0, first, ~first)
        told = Answers(answers.worker, answers.task, answers.item, group)
        model = CrowdClustering(2, workers="reliability", n_clusters=2, random_state=0).fit_groupings(told)
        summary = model.worker_summary()
        assert {len(column) for column in summary.values()} == {12}
        kinds = dict(zip(summary["worker"], summary["kind"], strict=True))
        assert kinds[3] == "random"
        assert [kinds[worker] for worker in (0, 1, 2, 4, 6)] == ["usual"] * 5
        assert summary["n_answers"].tolist() == [6] * 12
        assert summary["reliability"][5] < summary["reliability"][0] - 0.3

    def test_an_adversarial_worker_is_told(self):
        """One who always puts a few items with those of the other class."""
        truth = np.arange(20) % 2
        a, b = np.triu_indices(20, 1)
        rows, labels = [], []
        for worker in range(6):
            rows += [(x, y, worker) for x, y in zip(a, b, strict=True)]
            sign = np.where(truth[a] == truth[b], 1, -1)
            labels += (-sign if worker == 4 else sign).tolist()
        model = CrowdClustering(2, workers="reliability", n_clusters=2, slips=False, random_state=0).fit(rows, labels)
        assert [k for k in model.worker_summary()["kind"] if k != "usual"] == ["adversarial"]
        assert model.worker_summary()["kind"][4] == "adversarial"
        assert adjusted_rand_score(truth, model.clusters_) == 1

    def test_lumps_and_splits(self, crowd):
        summary = crowd.worker_summary()
        for worker, lumps, splits in zip(summary["worker"], summary["lumps"], summary["splits"], strict=True):
            confusion = crowd.confusion_[worker]
            assert lumps == [[k, m] for k in range(4) for m in range(k + 1, 4) if confusion[k, m] > 0.5]
            assert splits == [k for k in range(4) if confusion[k, k] < 0.5]


class TestAnswers:
    def test_shapes(self, crowd):
        n, D, K = len(crowd.items_), crowd.n_dims_, crowd.n_clusters_
        assert crowd.embedding_.shape == crowd.embedding_variance_.shape == (n, D)
        assert (crowd.embedding_variance_ > 0).all()
        assert crowd.cluster_proba_.shape == (n, K)
        np.testing.assert_allclose(crowd.cluster_proba_.sum(axis=1), 1)
        np.testing.assert_array_equal(crowd.cluster_proba_.argmax(axis=1), crowd.clusters_)
        assert (np.diff(np.bincount(crowd.clusters_)) <= 0).all()
        assert crowd.bound_ == crowd.bounds_[-1]

    def test_bounds_rise(self, crowd):
        rises = np.diff(crowd.bounds_)
        assert (
            np.delete(rises, 7) >= -1e-9 * abs(crowd.bound_)
        ).all()  # after 8 sweeps slips are allowed: another bound

    def test_predict_pair(self, crowd):
        a, b = crowd.items_[:2]
        one = crowd.predict_pair(0, a, b)
        assert isinstance(one, float)
        assert 0 < one < 1
        np.testing.assert_allclose(crowd.predict_pair(0, [a, b], [b, a]), one)
        np.testing.assert_allclose(
            crowd.predict_pair(None, a, b), np.mean([crowd.predict_pair(w, a, b) for w in crowd.workers_])
        )
        with pytest.raises(DataError, match="there is no item 'x'"):
            crowd.predict_pair(0, "x", b)
        with pytest.raises(DataError, match="2 and 3 names"):
            crowd.predict_pair(0, [a, b], [a, b, a])

    def test_confusion_is_that_of_draws(self, crowd):
        """Against draws of items, matrices and biases; and above the bound of eq. 7.3.11."""
        p, rng, n = crowd._posterior, np.random.default_rng(0), 20_000
        found = crowd._clusters()
        j = 1
        c = rng.multivariate_normal(p.coefficient[j], p.coefficient_covariance[j], n)
        W = np.tensordot(c[:, :-1], p.basis, 1)
        for k, m in ((0, 0), (0, 1), (2, 3)):
            x, y = (rng.multivariate_normal(found.means[q], found.covariances[q], n) for q in (k, m))
            A = np.einsum("nd,nde,ne->n", x, W, y) + c[:, -1]
            mean = (1 / (1 + np.exp(-A))).mean()
            confusion = confusions(p, found.means, found.covariances)[j, k, m]
            assert abs(confusion - mean) < 0.03
            delta = np.sqrt((A**2).mean())
            assert np.exp((A.mean() - delta) / 2) / (1 + np.exp(-delta)) < mean + 0.01

    def test_the_number_of_clusters_can_be_given_afterwards(self, crowd):
        other = modicum.Learner.from_bytes(crowd.to_bytes()).set_params(n_clusters=2)
        assert other.n_clusters_ == 2
        assert next(iter(other.confusion_.values())).shape == (2, 2)
        with pytest.raises(DataError, match="n_clusters is 1000, but there are"):
            _ = other.set_params(n_clusters=1000).clusters_

    def test_without_data(self):
        for name in ("clusters_", "embedding_", "confusion_", "bound_", "items_"):
            with pytest.raises(NotFittedError):
                getattr(CrowdClustering(), name)
        with pytest.raises(NotFittedError):
            CrowdClustering().predict_pair(0, 1, 2)
        with pytest.raises(DataError, match="no rows"):
            CrowdClustering().fit([], [])


class TestState:
    def test_save_and_load_in_between_changes_nothing(self, answers, tmp_path):
        told, _ = answers
        parts = [told.take(told.task % 3 == part) for part in range(3)]
        straight, resumed = small(), small()
        for part in parts:
            straight.partial_fit_groupings(part)
            resumed.partial_fit_groupings(part)
            resumed.save(tmp_path / "crowd.mcm")
            resumed = modicum.load(tmp_path / "crowd.mcm")
        assert straight.to_bytes() == resumed.to_bytes()
        np.testing.assert_array_equal(straight.clusters_, resumed.clusters_)

    def test_same_seed_same_bytes(self, answers):
        first, second = (CrowdClustering(random_state=5).fit_groupings(answers[0]) for _ in range(2))
        assert first.to_bytes() == second.to_bytes()

    def test_partial_fit_starts_from_what_is_known(self, answers):
        """Old and new labels are learned together, with new items and workers."""
        told, truth = answers
        is_new = told.task >= 60
        known = (told.item < 70) & (told.worker < 11)
        model = CrowdClustering(2, workers="matrix", random_state=0).fit_groupings(told.take(~is_new & known))
        chosen = model._n_chosen
        model.partial_fit_groupings(told.take(is_new & known))
        assert model._n_chosen == chosen
        assert adjusted_rand_score(truth[model.items_], model.clusters_) > 0.9
        model.partial_fit_groupings(told.take(~known))
        assert len(model.items_) == 80
        assert len(model._labels) == model.n_seen_
        assert adjusted_rand_score(truth[model.items_], model.clusters_) > 0.9

    def test_the_choice_is_made_again_with_more_labels(self, answers):
        told, truth = answers
        model = CrowdClustering(random_state=0).fit_groupings(told.take(told.task < 12))
        assert model._n_chosen == len(model._labels)
        model.partial_fit_groupings(told.take(told.task >= 12))
        assert model._n_chosen == len(model._labels)
        assert model.workers_model_ == "matrix"
        assert adjusted_rand_score(truth[model.items_], model.clusters_) > 0.95

    def test_merge_is_a_fit_of_all_labels(self, answers):
        told, _ = answers
        west, east = (small().fit_groupings(told.take(told.worker % 2 == side)) for side in (0, 1))
        before = east.to_bytes()
        west.merge(east)
        assert east.to_bytes() == before
        assert len(west._labels) == west.n_seen_ == west.n_retained_ == len(told.pairs())
        whole = small().fit_groupings(told)
        assert sorted(west.items_) == sorted(whole.items_)
        assert west.bound_ == pytest.approx(whole.bound_, rel=0.02)

    def test_a_refused_chunk_changes_nothing(self, answers):
        model = small().fit_groupings(answers[0])
        before = model.to_bytes()
        for rows, labels in (([(0, 0, 0)], [1]), ([(0, 1, 0)], [3]), ([("a", "b", 0)], [1]), ([(0, None, 1)], [1])):
            with pytest.raises(DataError):
                model.partial_fit(rows, labels)
            assert model.to_bytes() == before
        model.partial_fit([], [])
        assert model.to_bytes() == before

    @pytest.mark.parametrize("count", [50, pytest.param(1500, marks=pytest.mark.slow)])
    def test_forged_states_are_refused_or_harmless(self, count):
        model = small().fit_groupings(crowd_answers(12, 4, task_size=5, n_answers=8)[0])
        rng = np.random.default_rng(0)
        for what, forged in itertools.islice(forgeries(model.to_bytes(), rng), count):
            try:
                other = modicum.Learner.from_bytes(forged)
                _ = other.clusters_, other.confusion_, other.predict_pair(None, other.items_[0], other.items_[1])
                other.worker_summary()
                other.partial_fit([(0, 1, 0)], [1])
            except (StateError, DataError, NotFittedError):
                continue
            assert np.isfinite(other.embedding_).all(), what

    def test_parameters_are_checked(self):
        for wrong in ({"n_dims": 0}, {"workers": "some"}, {"n_clusters": 0}, {"tol": 0}, {"n_init": 0}, {"slips": 1}):
            with pytest.raises(ValueError, match=f"CrowdClustering: {next(iter(wrong))} must be"):
                CrowdClustering(**wrong).fit([(0, 1, 0)], [1])
        assert clone(CrowdClustering(4)).n_dims == 4


class TestOddAnswers:
    @pytest.mark.parametrize(
        ("rows", "labels"),
        [
            ([(0, 1, 0)], [1]),
            ([(0, 1, 0)], [-1]),
            ([(0, 1, 0), (0, 1, 0)], [1, -1]),
            ([(a, b, 0) for a in range(5) for b in range(a)], [1] * 10),  # all in one group
            ([(a, b, 0) for a in range(5) for b in range(a)], [-1] * 10),  # all apart
            ([(2 * i, 2 * i + 1, i) for i in range(30)], [1, -1] * 15),  # nothing in common
        ],
    )
    def test_few_or_uniform_labels(self, rows, labels):
        model = CrowdClustering(random_state=0).fit(rows, labels)
        assert np.isfinite(model.embedding_).all()
        assert len(model.clusters_) == len(model.items_)
        assert all(np.isfinite(matrix).all() for matrix in model.confusion_.values())

    def test_extreme_weights(self):
        rows = [(a, b, w) for w in range(3) for a in range(6) for b in range(a)]
        labels = [1 if (a % 2) == (b % 2) else -1 for _, (a, b, _) in enumerate(rows)]
        for weight in (1e-9, 1e6):
            model = CrowdClustering(2, random_state=0).fit(rows, labels, sample_weight=[weight] * len(rows))
            assert np.isfinite(model.embedding_).all()

    def test_workers_without_names_and_names_as_texts(self, answers):
        told, truth = answers
        texts = Answers(
            np.char.add("worker ", told.worker.astype(str)),
            told.task,
            np.char.add("ü", told.item.astype(str)),
            told.group,
        )
        model = CrowdClustering(random_state=0).fit_groupings(texts)
        order = [int(name[1:]) for name in model.items_]
        assert adjusted_rand_score(truth[order], model.clusters_) > 0.95
        assert "worker 3" in model.confusion_


class TestHeldOut:
    def test_random_answers_are_warned_of(self):
        told, _ = crowd_answers(60, 12, n_answers=72, slip_rate=1.0)
        with pytest.warns(DataWarning, match="not predicted better than by chance"):
            CrowdClustering(random_state=0).fit_groupings(told)

    def test_whole_answers_are_held_out(self, answers):
        labels = PairLabels(answers[0].pairs())
        held = hold_out(labels, np.random.default_rng(0))
        share = np.bincount(labels.answer, held) / np.bincount(labels.answer)
        assert set(share) == {0.0, 1.0}
        assert 0.02 < share.mean() < 0.25

    def test_of_a_single_answer_pairs_among_some_items_are_held_out(self, answers):
        told, _ = answers
        labels = PairLabels(Answers(told.task, told.task, told.item, told.group).pairs())
        held = hold_out(labels, np.random.default_rng(0))
        assert 0.1 < held.mean() < 0.25
        for number in range(5):
            own = labels.answer == number
            apart = set(labels.first[own & held]) | set(labels.second[own & held])
            inside = [a in apart and b in apart for a, b in zip(labels.first[own], labels.second[own], strict=True)]
            np.testing.assert_array_equal(held[own], inside)


def points(mean):
    """A posterior of items at given positions, with three typical workers."""
    made = CrowdPosterior("reliability", np.asarray(mean, float), 3, -1.0, pooled=True, slips=True)
    made.covariance = np.tile(1e-4 * np.eye(made.n_dims), (len(mean), 1, 1))
    made.coefficient_covariance[:] *= 1e-4
    return made


def test_isolated_items_make_no_clusters(rng):
    """Three dense clusters, and a tenth of the items far from everything."""
    truth = np.repeat([0, 1, 2], 40)
    mean = np.array([[-3, -3], [4, 0], [0, 4]])[truth] + 0.2 * rng.normal(size=(120, 2))
    mean[::10] += rng.uniform(-3, 3, size=(12, 2))
    found = find_clusters(points(mean), None, "diagonal", rng)
    assert len(found.means) == 3
    dense = np.arange(120) % 10 != 0
    assert adjusted_rand_score(truth[dense], found.label[dense]) == 1


def test_clusters_that_no_worker_tells_apart_are_one(rng):
    """Two tight clouds on each side of the origin: workers whose answers are certain put those of one side together."""
    side, cloud = np.repeat([0, 1], 60), np.arange(120) % 2
    mean = np.column_stack([np.where(side, 2.0, -2.0), np.where(cloud, 1.0, -1.0)]) + 0.01 * rng.normal(size=(120, 2))
    crowd = points(mean)
    crowd.coefficient[:, 0] = 3.0
    assert adjusted_rand_score(side, find_clusters(crowd, None, "diagonal", rng).label) == 1
    crowd.coefficient[2] = 20.0, -80.0  # one worker, who tells the clouds of a side apart
    assert adjusted_rand_score(2 * side + cloud, find_clusters(crowd, None, "diagonal", rng).label) == 1


def test_activities_of_many_pairs_need_no_memory_for_matrices(crowd):
    first = np.zeros(50_000, np.intp)
    mean, _ = expected_activities(crowd._posterior, first, first + 1, first)
    assert len(np.unique(mean)) == 1


def test_a_search_that_ends_early_is_made_up_for():
    """In one rotation of these points, the search for a mixture ends with three clusters of eight."""
    answers, truth = crowd_answers(n_attributes=3, random_state=102)
    model = CrowdClustering(4, workers="matrix", random_state=0).fit_groupings(answers)
    assert model.n_clusters_ >= 7
    assert adjusted_rand_score(truth[model.items_], model.clusters_) > 0.8
