"""Checks of input and parameters: what is refused, and that it changes nothing."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse

import modicum
from modicum.contract.validation import LARGEST_VALUE, WEIGHTS, largest_value
from modicum.exceptions import DataError, StateError

X = np.random.default_rng(0).normal(size=(100, 3))
z = X[:, 0]


def refused(call, match):
    with pytest.raises(DataError, match=match):
        call()


def test_masks_are_not_ignored():
    masked = np.ma.masked_greater(np.where(X > 1.5, 999.0, X), 900)
    refused(lambda: modicum.OnlineKMeans(2).fit(masked), "masked")
    refused(lambda: modicum.KRLS().fit(X, np.ma.masked_array(z, z > 0)), "some targets are masked")
    refused(
        lambda: modicum.OnlineKMeans(2).fit(X, sample_weight=np.ma.masked_array(z**2, z > 0)),
        "some weights are masked",
    )
    whole = np.ma.masked_array(X, False)
    assert np.array_equal(
        modicum.OnlineKMeans(2).fit(whole).cluster_centers_, modicum.OnlineKMeans(2).fit(X).cluster_centers_
    )


@pytest.mark.parametrize(
    "times",
    [
        np.arange(100).astype("M8[D]")[:, None],
        np.arange(100).astype("m8[s]")[:, None],
        pd.DataFrame({"a": 1.0, "when": pd.date_range("2020-01-01", periods=100)}),
        pd.DataFrame({"a": 1.0, "when": pd.date_range("2020-01-01", periods=100, tz="UTC")}),
        pl.DataFrame({"a": [1.0] * 100, "when": pl.Series(range(100), dtype=pl.Date)}),
    ],
    ids=["dates", "durations", "pandas", "pandas with a zone", "polars"],
)
def test_dates_are_not_numbers(times):
    refused(lambda: modicum.OnlineKMeans(2).partial_fit(times), "dates or times")


@pytest.mark.parametrize("kind", ["float64", "float32"])
def test_values_whose_squares_overflow_are_named(kind):
    model = modicum.OnlineKMeans(2).fit(X.astype(kind))
    before = model.to_bytes()
    bad = X.astype(kind)
    bad[7, 2] = -2 * largest_value(bad.dtype, 3)
    refused(lambda: model.partial_fit(bad), "row 7, column 2 .* overflow")
    refused(lambda: model.predict(bad), "row 7, column 2")
    assert model.to_bytes() == before
    bad[7, 2] = 0.9 * largest_value(bad.dtype, 3)
    assert np.isfinite(model.partial_fit(bad).transform(bad)).all()


def test_sparse_values_are_named_too():
    bad = sparse.csr_matrix(X)
    bad.data[3 * 7 + 2] = 2 * LARGEST_VALUE
    refused(lambda: modicum.Reservoir(5).fit(bad), "row 7, column 2")


@pytest.mark.parametrize("change", [{"indices": 2**30}, {"indices": -1}, {"indptr": 10**6}])
def test_sparse_rows_with_indices_beyond_are_refused(change):
    for model in (modicum.Reservoir(5), modicum.Reservoir(5).fit(X), modicum.StreamSVC(1.0).fit(X, z > 0)):
        bad = sparse.csr_matrix(X)
        for name, value in change.items():
            getattr(bad, name)[-1] = value
        refused(lambda model=model, bad=bad: model.partial_fit(bad, z > 0), "valid sparse matrix")


@pytest.mark.parametrize("value", [5e-324, WEIGHTS[0] / 2, 2 * WEIGHTS[1], 1e305])
def test_weights_beyond_sums_are_named(value):
    weight = np.ones(100)
    weight[4] = value
    for model in (modicum.KMeansCoreset(20, 3), modicum.MemoryBoundedMixture(), modicum.StreamKMeans(3)):
        refused(lambda model=model: model.partial_fit(X, sample_weight=weight), "row 4 has")


def test_a_byte_budget_of_a_selector_within_holds_for_later_chunks():
    for selector in (modicum.OnlineGreedy(None, budget="16 KiB"), modicum.BlockGreedy(None, budget="48 KiB")):
        model = modicum.PrototypeRegressor(selector, random_state=0)
        assert model.partial_fit(X, z).partial_fit(X, z).n_seen_ == 200


def test_weights_of_many_sizes_change_nothing_if_refused():
    model = modicum.StreamSVC(1.0).fit(X, z > 0)
    before = model.to_bytes()
    refused(lambda: model.partial_fit(X, z > 0, np.append([1e200, 1e-200], np.ones(98))), "row 0 has 1e.200")
    assert model.to_bytes() == before


def test_a_refused_first_chunk_leaves_nothing():
    for model in (modicum.KRLS(), modicum.StreamSVC(), modicum.MemoryBoundedMixture(), modicum.Reservoir(5)):
        with pytest.raises(ValueError):
            model.partial_fit(np.full((3, 2), np.nan), [0, 1, 0])
        assert not hasattr(model, "n_features_in_")
        assert model.partial_fit(X, z > 0).n_features_in_ == 3


@pytest.mark.parametrize(
    "ids",
    [np.full(100, np.nan), np.arange(100) + 0.5, np.arange(100, dtype="u8") + 2**63, np.arange(100).astype("M8[s]")],
)
def test_ids_are_whole_numbers(ids):
    refused(lambda: modicum.Reservoir(5).partial_fit(X, row_ids=ids), "row_ids")


@pytest.mark.parametrize("factor", [1e-153, 1e-158, 1e-162, 1e-200, 5e-324])
def test_values_whose_squares_vanish(factor):
    tiny = np.column_stack([X[:, :2], X[:, 2] * factor])
    for model in (modicum.StreamSVC(random_state=0), modicum.MemoryBoundedMixture(), modicum.SparseGPRegressor(5)):
        for rows in (tiny, X * factor):
            model.fit(rows, z > 0).partial_fit(rows, z > 0)
            assert np.isfinite(model.predict(rows)).all()
            assert modicum.Learner.from_bytes(model.to_bytes()).n_seen_ == 200


class TestParameters:
    def test_refused_ones_change_nothing(self):
        model = modicum.OnlineKMeans(3).fit(X)
        for wrong in ({"n_clusters": -1}, {"n_clusters": 4, "nonsense": 1}):
            with pytest.raises(ValueError):
                model.set_params(**wrong)
            assert model.n_clusters == 3
        model.partial_fit(X)

    @pytest.mark.parametrize(
        ("model", "params"),
        [
            (modicum.ExemplarClustering(3, budget=60, random_state=0), {"n_exemplars": 9}),
            (modicum.ExemplarClustering(3, budget=60, random_state=0), {"dissimilarity": "euclidean"}),
            (modicum.Reservoir(20, random_state=0), {"budget": 5}),
            (modicum.OnlineGreedy(10), {"budget": "64 KiB"}),
            (modicum.OnlineGreedy(10), {"n_prototypes": 20}),
            (modicum.StreamGreedy(5, objective="variance", n_validation=20, random_state=0), {"n_validation": 40}),
        ],
    )
    def test_ones_that_do_not_fit_what_was_learned_need_a_fit(self, model, params):
        before = model.fit(X).to_bytes()
        old = {name: getattr(model, name) for name in params}
        with pytest.raises(ValueError, match=r"[Cc]all fit"):
            model.set_params(**params).partial_fit(X)
        assert model.set_params(**old).to_bytes() == before
        model.set_params(**params).fit(X).partial_fit(X)

    def test_others_may_change(self):
        model = modicum.ExemplarClustering(3, budget=60, random_state=0).fit(X)
        assert model.set_params(min_gain=0.1, swaps="one").partial_fit(X).n_seen_ == 200


class TestColumns:
    def frame(self, *names):
        return pd.DataFrame(X[:, : len(names)], columns=list(names))

    def test_merge_holds_to_the_names_of_columns(self):
        one = modicum.OnlineKMeans(2).fit(self.frame("a", "b", "c"))
        with pytest.raises(StateError, match="only here: c; only there: d"):
            one.merge(modicum.OnlineKMeans(2).fit(self.frame("a", "b", "d")))
        with pytest.raises(StateError, match="order of columns differs: a, b, c here, b, a, c there"):
            one.merge(modicum.OnlineKMeans(2).fit(self.frame("b", "a", "c")))
        assert one.merge(modicum.OnlineKMeans(2).fit(self.frame("a", "b", "c"))).n_seen_ == 200
        assert one.merge(modicum.OnlineKMeans(2).fit(X)).n_seen_ == 300  # names that are not known do not differ

    def test_merge_holds_to_names_of_streams(self, tmp_path):
        self.frame("a", "b", "c").to_csv(tmp_path / "one.csv", index=False)
        self.frame("a", "c", "b").to_csv(tmp_path / "two.csv", index=False)
        one, two = (
            modicum.OnlineKMeans(2).fit(modicum.stream(str(tmp_path / f"{name}.csv"))) for name in ("one", "two")
        )
        with pytest.raises(StateError, match="order of columns differs"):
            one.merge(two)
        with pytest.raises(StateError, match="order of columns differs"):
            one.learn(str(tmp_path / "two.csv"))
        assert one.n_seen_ == 100
