"""What is refused before anything is learned, and that it leaves no trace."""

import threading

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse

import modicum
from modicum.exceptions import DataError, StateError
from modicum.validation import LARGEST_VALUE, WEIGHTS, largest_value

X = np.random.default_rng(0).normal(size=(100, 3))
z = X[:, 0]


def refused(call, match):
    with pytest.raises(DataError, match=match):
        call()


def test_masks_are_not_ignored():
    masked = np.ma.masked_greater(np.where(X > 1.5, 999.0, X), 900)
    refused(lambda: modicum.OnlineKMeans(2).fit(masked), "masked")
    refused(lambda: modicum.KRLS().fit(X, np.ma.masked_array(z, z > 0)), "targets are masked in part")
    refused(
        lambda: modicum.OnlineKMeans(2).fit(X, sample_weight=np.ma.masked_array(z**2, z > 0)),
        "weights are masked in part",
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
    for selector in (modicum.OnlineGreedy("16 KiB"), modicum.BlockGreedy("48 KiB")):
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


class TestColumns:
    def frame(self, *names):
        return pd.DataFrame(X[:, : len(names)], columns=list(names))

    def test_merge_holds_to_the_names_of_columns(self):
        one = modicum.OnlineKMeans(2).fit(self.frame("a", "b", "c"))
        with pytest.raises(StateError, match="only here: c; only there: d"):
            one.merge(modicum.OnlineKMeans(2).fit(self.frame("a", "b", "d")))
        with pytest.raises(StateError, match="another order: a, b, c here, b, a, c there"):
            one.merge(modicum.OnlineKMeans(2).fit(self.frame("b", "a", "c")))
        assert one.merge(modicum.OnlineKMeans(2).fit(self.frame("a", "b", "c"))).n_seen_ == 200
        assert one.merge(modicum.OnlineKMeans(2).fit(X)).n_seen_ == 300  # names that are not known do not differ

    def test_merge_holds_to_names_of_streams(self, tmp_path):
        self.frame("a", "b", "c").to_csv(tmp_path / "one.csv", index=False)
        self.frame("a", "c", "b").to_csv(tmp_path / "two.csv", index=False)
        one, two = (
            modicum.OnlineKMeans(2).fit(modicum.stream(str(tmp_path / f"{name}.csv"))) for name in ("one", "two")
        )
        with pytest.raises(StateError, match="another order"):
            one.merge(two)
        with pytest.raises(StateError, match="another order"):
            one.learn(str(tmp_path / "two.csv"))
        assert one.n_seen_ == 100


class Failing(modicum.OnlineKMeans):
    """Fails at the end of a chunk when told to, with or without a copy of its state."""

    fails = careful = False

    def _learn(self, X, y, weight, row_ids):
        super()._learn(X, y, weight, row_ids)
        if Failing.fails:
            raise MemoryError

    def _may_fail_midway(self):
        return Failing.careful


@pytest.mark.parametrize("careful", [True, False])
def test_a_failure_midway_is_undone_or_said(monkeypatch, careful):
    monkeypatch.setattr(Failing, "careful", careful)
    model = Failing(2, random_state=0).fit(X)
    before = model.to_bytes()
    with monkeypatch.context() as patched:
        patched.setattr(Failing, "fails", True)
        with pytest.raises(MemoryError):
            model.partial_fit(X + 5)
    if careful:
        assert model.to_bytes() == before
        return
    for use in (lambda: model.predict(X), lambda: model.partial_fit(X), model.to_bytes):
        with pytest.raises(StateError, match="half changed"):
            use()
    assert model.fit(X).to_bytes() == before


def test_two_learners_that_merge_each_other_do_not_wait_for_ever():
    one, two = (modicum.OnlineKMeans(2).fit(rows) for rows in (X, X + 1))
    threads = [
        threading.Thread(target=lambda a=a, b=b: [a.merge(b) for _ in range(20)], daemon=True)
        for a, b in ((one, two), (two, one))
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert one.n_seen_ > 100
