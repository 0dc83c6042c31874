"""How documents are given to a topic model: lists, y, chunks, empty ones, and what is refused."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import NotFittedError

from modicum import Learner, MemoryBoundedMixture, MemoryBoundedTopicModel
from modicum.checks.common import assert_within_budget
from modicum.exceptions import BudgetError, DataError, DataWarning, StateError
from modicum.families import Multinomial

METHODS = {  # of learning words
    "sweeps": {"budget": 60},
    "sweeps in bytes": {"budget": "24 KiB"},
    "clumps": {"budget": "64 KiB", "method": "clumps", "max_document_groups": 9},
}


def pictures(count=60, seed=0, dtype=np.float64):
    """Documents of up to 30 items around one of three points; some are empty, some have one item."""
    rng = np.random.default_rng(seed)
    return [
        (rng.normal(size=(rng.integers(0, 30), 3)) + 8 * rng.integers(-1, 2)).astype(dtype) for _ in range(count - 2)
    ] + [np.empty((0, 3), dtype), rng.normal(size=(1, 3)).astype(dtype)]


def gaussian(**params):
    return MemoryBoundedTopicModel(**{"budget": 300, "random_state": 0} | params)


def words(method, **params):
    return MemoryBoundedTopicModel("multinomial", random_state=0, **METHODS[method] | params)


@pytest.fixture(scope="module")
def fitted():
    return gaussian().fit(pictures())


class TestLists:
    def test_one_by_one_or_all_at_once(self):
        whole, single = gaussian().partial_fit(pictures()), gaussian()
        for picture in pictures():
            single.partial_fit([picture])
        assert whole.to_bytes() == single.to_bytes()

    @pytest.mark.parametrize("chunk", [1, 7, 100, 10**4])
    def test_they_are_rows_with_y(self, chunk):
        full = [picture for picture in pictures() if len(picture)]
        lengths = [len(picture) for picture in full]
        X, ids = np.concatenate(full), np.repeat(np.arange(len(full)), lengths)
        y = np.array([f"picture {at}" for at in ids])
        model = gaussian()
        for at in (slice(first, first + chunk) for first in range(0, len(X), chunk)):
            model.partial_fit(X[at], y[at], row_ids=ids[at])
        model._last_document = None
        assert model.to_bytes() == gaussian().partial_fit(pictures()).to_bytes()

    def test_a_cube_is_a_list(self):
        cube = np.random.default_rng(0).normal(size=(6, 20, 3))
        assert gaussian().partial_fit(cube).to_bytes() == gaussian().partial_fit(list(cube)).to_bytes()

    def test_documents_end_where_their_name_changes(self):
        picture = np.random.default_rng(0).normal(size=(5, 3))
        model = gaussian().partial_fit([picture] * 3)
        for y, more in (([2] * 5, 1), ([2.0] * 5, 0), (None, 5), ([2] * 5, 1), (["2"] * 4 + ["b"], 1)):
            before = model.n_documents_
            model.partial_fit(picture, y)
            assert model.n_documents_ == before + more

    def test_empty_documents_are_not_learned(self, fitted):
        empty = [np.empty((0, 3))] * 2
        assert not gaussian().partial_fit(empty)._is_fitted()
        before = fitted.to_bytes()
        assert fitted.partial_fit(empty).to_bytes() == before


class TestAnswers:
    def test_for_empty_documents(self, fitted):
        asked = [np.empty((0, 3)), pictures()[0]]
        for documents in (asked, asked[:1]):
            assert np.allclose(fitted.transform(documents).sum(axis=1), 1.0)
            assert np.isfinite(fitted.score_samples(documents)).all()
            assert np.isfinite(fitted.retrieve(documents)[1]).all()
            assert [len(labels) for labels in fitted.predict_items(documents)] == [len(each) for each in documents]

    def test_for_no_documents(self, fitted):
        none = np.empty((0, 3))
        assert fitted.transform(none).shape == (0, fitted.n_topics_)
        assert fitted.predict_items(none) == []

    def test_no_more_is_retrieved_than_is_held(self, fitted):
        ids, scores = fitted.retrieve(pictures()[:2], k=10**6)
        assert ids.shape == scores.shape == (2, len(fitted._snapshot().held[0]))

    def test_an_index_of_other_topics_is_refused(self, fitted):
        index, other = fitted.index(pictures()), gaussian().fit(pictures(seed=1))
        again = Learner.from_bytes(fitted.to_bytes())
        assert np.array_equal(again.retrieve(pictures(), index=index)[0], fitted.retrieve(pictures(), index=index)[0])
        with pytest.raises(StateError, match="made with other topics"):
            other.retrieve(pictures(), index=index)

    @pytest.mark.parametrize("ask", ["transform", "predict_items", "retrieve", "index", "perplexity", "score"])
    def test_before_any_data(self, ask):
        with pytest.raises(NotFittedError):
            getattr(gaussian(), ask)(pictures())

    @pytest.mark.parametrize("k", [0, 1.5, "x"])
    def test_how_many_to_retrieve(self, fitted, k):
        with pytest.raises(ValueError, match="k must be a positive int"):
            fitted.retrieve(pictures(), k)


@pytest.mark.parametrize(
    ("chunk", "message"),
    [
        (
            {"X": [np.ones((2, 3)), np.array([[1.0, 1, 1], [1, np.nan, 1]])]},
            "row 1, column 1 of document 1 of this list",
        ),
        ({"X": [np.ones((2, 3)), np.ones((2, 4))]}, r"document 1 of this list has shape \(2, 4\)"),
        ({"X": [np.ones((2, 3)), None]}, "document 1 of this list"),
        ({"X": [np.ones((2, 4))]}, "X has 4 features"),
        ({"X": [np.ones((2, 3))], "y": [1]}, "takes no y"),
        ({"X": [np.ones((2, 3))], "row_ids": [1, 2]}, "row_ids"),
        ({"X": np.ones((2, 3)), "y": [1]}, "2 rows came with 1 targets"),
        ({"X": np.ones((2, 3)), "sample_weight": [1, 1]}, "takes no sample_weight"),
    ],
)
def test_refused_documents(chunk, message):
    model = gaussian().fit(pictures())
    before = model.to_bytes()
    with pytest.raises(ValueError, match=message):
        model.partial_fit(**chunk)
    assert model.to_bytes() == before
    if not {"row_ids", "sample_weight"} & chunk.keys():
        with pytest.raises(ValueError, match=message):
            model.transform(**chunk)


@pytest.mark.parametrize("method", METHODS)
class TestWords:
    @pytest.mark.parametrize(
        "X",
        [
            np.zeros((30, 5)),
            np.ones((200, 5)),
            np.eye(5).repeat(40, axis=0),
            np.full((60, 5), 1e8),
            np.full((60, 1), 0.3),
        ],
        ids=["empty", "the same", "one word", "huge", "one column"],
    )
    def test_odd_documents(self, method, X):
        whole, single = words(method).partial_fit(X), words(method)
        for row in X:
            single.partial_fit(sparse.csr_matrix(row[None]))
        assert whole.to_bytes() == single.to_bytes()
        for model in (whole, words(method).fit(X), single.merge(whole)):
            assert_within_budget(model)
            assert np.isfinite(model.transform(X)).all()
            assert np.isfinite(model.score_samples(X)).all()
            assert np.isfinite(model.weights_).all()

    def test_zeros_of_a_sparse_matrix_are_no_words(self, method):
        X = sparse.csr_matrix(np.ones((20, 4)))
        X.data[::3] = 0.0
        assert words(method).fit(X).to_bytes() == words(method).fit(X.toarray()).to_bytes()
        assert np.array_equal(words(method).fit(X).transform(X), words(method).fit(X).transform(X.toarray()))

    def test_no_counts(self, method):
        for X in (np.full((3, 2), -1.0), np.array([[1.0, 2e9]])):
            with pytest.raises(DataError, match="row 0, column"):
                words(method).fit(X)
        with pytest.raises(DataError, match="rows of counts"):
            words(method).fit([np.ones((2, 3))])

    def test_history(self, method):
        X = np.random.default_rng(0).poisson(1.0, size=(300, 8)) + 1.0  # no document is empty
        history = words(method).fit(X).history_
        assert history["n_seen"][-1] == history["documents"][-1] == 300
        assert len(history["topics"]) > 3
        if method != "clumps":
            assert np.isinf(history["perplexity"][0])
            assert (history["perplexity"][1:] < 9).all()

    def test_too_small_a_budget(self, method):
        with pytest.raises(BudgetError, match="needs a budget of at least"):
            words(method, budget="7 KiB").fit(np.ones((3, 2)))


@pytest.mark.parametrize("dtype", [np.float32, pytest.param(np.float64, marks=pytest.mark.slow)])
@pytest.mark.parametrize("max_groups", [pytest.param(None, marks=pytest.mark.slow), 2])
@pytest.mark.parametrize("length", [1, 2, 40, 10**4], ids=["rows", "tiny", "pictures", "endless"])
@pytest.mark.parametrize("budget", [300, "40 KiB"])
def test_budgets(budget, length, max_groups, dtype):
    rng = np.random.default_rng(0)
    X = (rng.normal(size=(1500, 3)) + 8 * rng.integers(-3, 4, (1500, 1))).astype(dtype)
    y = np.arange(len(X)) // length
    model = gaussian(family="diagonal", budget=budget, max_document_groups=max_groups, max_topics=5)
    for at in (slice(first, first + 97) for first in range(0, len(X), 97)):
        assert_within_budget(model.partial_fit(X[at], y[at]))
        assert model.n_topics_ <= 5


@pytest.mark.parametrize("budget", [300, "64 KiB"])
@pytest.mark.parametrize(("here", "there"), [(60, 60), (60, 3), (3, 60), (3, 3)])
def test_merges(here, there, budget):
    one, two = (gaussian(budget=budget, max_topics=3).fit(pictures(n, seed=n)) for n in (here, there))
    documents, before = one.n_documents_ + two.n_documents_, two.to_bytes()
    assert_within_budget(one.merge(two))
    assert two.to_bytes() == before
    assert one.n_documents_ == documents
    assert one.n_topics_ <= 3
    assert_within_budget(one.partial_fit(pictures(seed=9)))


class TestForgedStates:
    def test_parts_that_disagree(self):
        def groups(engine):
            engine.by_group = np.concatenate([engine.by_group, np.ones((10**4, engine.by_group.shape[1]))])

        def topics(engine):
            engine.by_group = engine.by_group[:, :-1]

        def documents(engine):
            engine.memory.of_rows[:] = 2**31 - 1

        def members(engine):
            engine.memory.sizes = engine.memory.sizes[:-1]

        for forge in (groups, topics, documents, members):
            model = gaussian().fit(pictures())
            forge(model._engine)
            with pytest.raises(StateError, match="_engine"):
                model.to_bytes()

    def test_an_engine_of_another_method(self):
        model, other = words("sweeps").fit(np.ones((30, 5))), words("clumps").fit(np.ones((30, 5)))
        model._engine = other._engine
        with pytest.raises(StateError, match="_engine must be a SweptTopics"):
            model.to_bytes()


def test_parameters_set_later():
    model = gaussian().fit(pictures())
    model.set_params(max_topics=2).partial_fit(pictures(seed=1)).partial_fit(pictures(seed=2))
    assert model.n_topics_ <= 2
    with pytest.raises(ValueError, match="is for words"):
        model.set_params(method="sweeps")
    with pytest.raises(ValueError, match="do not match the state"):
        model.set_params(family="diagonal").partial_fit(pictures())


class TestMessyDocuments:
    @pytest.mark.parametrize("y", [np.array([0.0, np.nan]), np.array(["a", None], dtype=object)])
    def test_an_item_without_a_document_is_refused(self, y):
        with pytest.raises(DataError, match="row 1 of this chunk has no document"):
            gaussian().fit(np.zeros((2, 3)), y)

    def test_interleaved_documents_are_told(self):
        X = np.concatenate(pictures())[:40]
        with pytest.warns(DataWarning, match="rows of document 0 are not consecutive"):
            model = gaussian().fit(X, np.arange(40) % 2)
        assert model.n_documents_ == 40

    def test_a_long_name_takes_no_memory(self):
        X, y = np.concatenate(pictures())[:40], np.array(["x" * 10**5 + str(i // 4) for i in range(40)], dtype=object)
        model = gaussian(budget="16 KiB")
        for i in range(40):
            model.partial_fit(X[i : i + 1], y[i : i + 1])
        assert_within_budget(model)
        assert model.n_documents_ == 10

    def test_names_of_any_type_of_float_go_on(self):
        X = np.ones((2, 3))
        model = gaussian().partial_fit(X, np.ones(2, np.float32)).partial_fit(X, np.ones(2, int))
        assert model.n_documents_ == 1

    def test_a_prior_of_too_many_columns_for_the_budget_is_never_made(self):
        with pytest.raises(BudgetError, match="needs a budget of at least"):
            MemoryBoundedTopicModel().fit(np.ones((2, 100_000)))
        with pytest.raises(BudgetError, match="needs a budget of at least"):
            MemoryBoundedMixture(budget="16 MiB").fit(np.ones((2, 100_000)))

    @pytest.mark.parametrize("method", METHODS)
    def test_answers_refuse_what_is_no_count(self, method):
        model = words(method).fit(np.ones((9, 4)))
        with pytest.raises(DataError, match="row 0, column 0 of this chunk is 1e\\+20, which is no count"):
            model.perplexity(np.full((1, 4), 1e20))

    def test_the_perplexity_of_items_far_from_all_topics_is_infinite(self, fitted):
        assert fitted.perplexity([np.full((9, 3), 1e20)]) == np.inf


def test_sweeps_take_one_number_of_pseudocounts():
    with pytest.raises(ValueError, match="one number of pseudocounts"):
        MemoryBoundedTopicModel(Multinomial(np.ones(3))).fit(np.ones((5, 3)))
