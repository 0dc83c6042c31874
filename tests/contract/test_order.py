"""Warnings of sorted rows: raised where rows are sorted, and hardly ever where chance or a slow change orders them."""

import pickle
import warnings

import numpy as np
import pytest
from scipy import sparse

import modicum
from modicum.contract.order import FEWEST_ROWS, ROWS, OrderWatch
from modicum.datasets import Generated, autocorrelated, hyperplane, linear
from modicum.exceptions import DataWarning, OrderWarning


def found(X, y=None, *, has_classes=False, chunk_size=700, **more):
    """What a watch finds over chunks and at the end of the stream."""
    watch = OrderWatch(has_classes=has_classes, **more)
    for first in range(0, len(X), chunk_size):
        rows = slice(first, first + chunk_size)
        if watch.is_done:
            return ""
        if told := watch.add(X[rows], None if y is None else y[rows]):
            return told
    return "" if watch.is_done else watch.judge()


def uniform(n=ROWS, columns=3, seed=0):
    return np.random.default_rng(seed).random((n, columns))


# ---- false alarms --------------------------------------------------------------------------------------------------


DRAWS = {
    "normal": lambda rng, shape: rng.normal(size=shape),
    "three values": lambda rng, shape: rng.integers(3, size=shape),
    "rare": lambda rng, shape: rng.random(shape) < 0.002,
    "counts": lambda rng, shape: rng.poisson(0.1, shape),
    "many ties": lambda rng, shape: rng.integers(40, size=shape),
    "constant": lambda rng, shape: np.zeros(shape),
}


@pytest.mark.parametrize("draw", DRAWS)
@pytest.mark.parametrize("n", [FEWEST_ROWS, 2000])
def test_rows_in_random_order_raise_no_alarm(draw, n):
    """None in 10,000 columns and 200 streams of classes; the law says one in 1e21 at most."""
    rng = np.random.default_rng(0)
    assert found(DRAWS[draw](rng, (n, 10_000)).astype(np.float32), chunk_size=n) == ""
    for _ in range(200):
        y = DRAWS[draw](rng, n)
        assert found(np.empty((n, 0)), np.abs(y.astype(int)), has_classes=True) == ""


def test_mixed_classes_that_come_one_by_one_raise_no_alarm():
    y = np.random.default_rng(0).integers(2, size=1000)
    assert found(np.empty((1000, 0)), y, has_classes=True, chunk_size=1) == ""


def slow_signals(rng, n):
    walk = np.cumsum(rng.normal(size=n))
    wave = np.sin(np.arange(n) / rng.uniform(100, 1000))
    return np.column_stack([walk, wave, wave + 0.1 * rng.normal(size=n), np.arange(n) + 3 * rng.normal(size=n)])


@pytest.mark.parametrize("decimals", [0, 1, 8])
def test_slow_signals_raise_no_alarm(decimals):
    """Rounded, they stay the same for long, but then change a little."""
    rng = np.random.default_rng(1)
    for _ in range(100):
        signals = np.round(slow_signals(rng, ROWS), decimals)[:, : 4 if decimals == 8 else 3]  # the last one rises
        assert found(signals) == ""
        assert found(signals, signals[:, 0]) == ""


@pytest.mark.parametrize("seed", range(20))
def test_streams_that_change_raise_no_alarm(seed):
    for world in (autocorrelated(same=0.95, turn=5.0), hyperplane(turn=20.0)):
        X, y = Generated(world, ROWS, random_state=seed).rows()
        assert found(X, y, has_classes=True) == ""
    assert found(*Generated(linear(turn=20.0), ROWS, random_state=seed).rows()) == ""


# ---- what is found -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [FEWEST_ROWS, ROWS, 3 * ROWS])
@pytest.mark.parametrize("direction", [1, -1])
@pytest.mark.parametrize("chunk_size", [1, 333, 10**6])
def test_sorted_rows_are_found_by_their_column(n, direction, chunk_size):
    X = uniform(n)
    X = X[np.argsort(direction * X[:, 1], kind="stable")]
    assert found(X, chunk_size=chunk_size) == "rows seem to be sorted by column 1"
    assert found(X, chunk_size=chunk_size, names=["a", "b", "c"]) == "rows seem to be sorted by column b"
    assert found(X, chunk_size=chunk_size, names=["a", "b", "c"], over_time={"b"}) == ""


def test_too_few_rows_tell_nothing():
    X = np.sort(uniform(FEWEST_ROWS - 1), axis=0)
    assert found(X) == ""


def test_rows_sorted_with_ties_and_a_few_exceptions_are_found():
    X = uniform(columns=2)
    X[:, 0] = np.sort(np.floor(300 * X[:, 0]))
    X[1234, 0] = 0
    assert found(X) == "rows seem to be sorted by column 0"
    X[::200, 0] = 0  # so that it falls in a fourteenth of its steps
    assert found(X) == ""


def test_subjects_one_after_the_other_are_found():
    X = uniform(columns=2)
    X[:, 0] = np.arange(ROWS) // 140
    assert found(X) == "rows seem to be sorted by column 0"


@pytest.mark.parametrize("chunk_size", [1, 333, 10**6])
def test_subjects_are_found_by_what_stays_the_same_of_each(chunk_size):
    rng = np.random.default_rng(0)
    X = uniform(columns=3)
    X[:, 1] = np.repeat(rng.integers(40, 80, size=50), ROWS // 50)
    assert found(X, chunk_size=chunk_size) == "rows seem to come in blocks of one value of column 1"
    assert found(X, chunk_size=chunk_size, names=["a", "age", "c"]).endswith("column age")
    assert found(X, chunk_size=chunk_size, in_time=True) == ""
    assert found(rng.permutation(X), chunk_size=chunk_size) == ""


def test_a_machine_that_is_on_and_off_for_long_raises_no_alarm():
    X = uniform(columns=2)
    X[:, 1] = np.arange(ROWS) // 200 % 2
    assert found(X) == ""


def test_rows_sorted_by_their_target_are_found():
    assert found(uniform(), np.sort(uniform()[:, 0])) == "rows seem to be sorted by their target"


@pytest.mark.parametrize("labels", [np.array([3, 1]), np.array(["yes", "no"]), np.array([True, False])])
@pytest.mark.parametrize("first", [100, 1000, 20_000])
def test_rows_sorted_by_class_are_found(labels, first):
    y = np.repeat(labels, [first, 4000])
    told = found(np.empty((len(y), 0)), y, has_classes=True, chunk_size=1000)
    assert told.startswith("rows come in long runs of one class: 2 in ")


def test_alternating_blocks_of_classes_are_found():
    y = np.arange(20_000) // 400 % 3
    assert "long runs" in found(uniform(20_000), y, has_classes=True)
    assert found(uniform(20_000), np.arange(20_000) // 4 % 3, has_classes=True) == ""


# ---- learners ------------------------------------------------------------------------------------------------------


def classes_in_order(n=ROWS + 1000):
    X = uniform(n, seed=5)
    y = X[:, 0] > 0.5
    order = np.argsort(y, kind="stable")
    return X[order], y[order].astype(int)


def test_a_learner_warns_once_and_says_what_to_do():
    X, y = classes_in_order()
    svc = modicum.StreamSVC(random_state=0)
    chunks = modicum.stream(X, target=y, chunk_size=500)
    with pytest.warns(OrderWarning, match=r"StreamSVC: rows come in long runs .*shuffle_buffer=100_000") as told:
        svc.learn(chunks)
    assert len(told) == 1
    assert issubclass(OrderWarning, DataWarning)
    with pytest.warns(OrderWarning) as told:  # a new stream
        svc.fit(X, y)
    assert len(told) == 1


def test_columns_of_a_stream_have_names(tmp_path):
    X, y = uniform(FEWEST_ROWS, 2), uniform(FEWEST_ROWS)[:, 0]
    table = np.column_stack([X[np.argsort(X[:, 0])], y])
    np.savetxt(tmp_path / "flats.csv", table, delimiter=",", header="area,rooms,rent", comments="")
    with pytest.warns(OrderWarning, match="sorted by column area"):
        modicum.SparseGPRegressor(5).fit(modicum.stream(tmp_path / "flats.csv", target="rent"))
    encoded = modicum.make_pipeline(modicum.TableEncoder(), modicum.SparseGPRegressor(5))
    with pytest.warns(OrderWarning, match="sorted by column area"):
        encoded.fit(modicum.stream(tmp_path / "flats.csv", target="rent", raw=True))


def test_times_may_rise():
    pa = pytest.importorskip("pyarrow")
    y = uniform(FEWEST_ROWS)[:, 0]
    seconds = np.arange(FEWEST_ROWS).astype("datetime64[s]")
    encoded = modicum.make_pipeline(modicum.TableEncoder(), modicum.SparseGPRegressor(5))
    encoded.fit(pa.table({"at": seconds, "x": uniform(FEWEST_ROWS)[:, 1]}), y)


def test_mixed_rows_and_sparse_ones_raise_no_warning():
    X, y = classes_in_order()
    order = np.random.default_rng(0).permutation(len(X))
    modicum.StreamSVC(random_state=0).fit(X[order], y[order])
    modicum.StreamSVC(random_state=0).fit(sparse.csr_matrix(X[order]), y[order])


def test_with_a_half_life_only_classes_are_to_be_mixed():
    X, y = classes_in_order()
    order = np.argsort(X[:, 1])
    modicum.StreamSVC(half_life=500, random_state=0).fit(X[order], y[order])
    with pytest.warns(OrderWarning, match="long runs of one class") as told:
        modicum.StreamSVC(half_life=500, random_state=0).fit(X, y)
    assert "set half_life" not in str(told[0].message)
    with pytest.warns(OrderWarning, match="sorted by column 1.* set half_life"):
        modicum.StreamSVC(random_state=0).fit(X[order], y[order])


def test_the_watch_changes_no_state():
    X, y = classes_in_order()
    first = modicum.StreamSVC(random_state=0).partial_fit(X[:600], y[:600])
    assert "_order" in vars(first)
    again = pickle.loads(pickle.dumps(first))
    loaded = modicum.StreamSVC.from_bytes(first.to_bytes())
    assert "_order" not in vars(loaded)
    with warnings.catch_warnings(action="ignore", category=OrderWarning):
        states = [svc.partial_fit(X[600:], y[600:]).to_bytes() for svc in (first, again, loaded)]
    assert states[0] == states[1] == states[2]


def test_a_warning_that_is_raised_leaves_a_whole_learner():
    X, y = classes_in_order()
    svc = modicum.StreamSVC(random_state=0)
    with pytest.raises(OrderWarning):  # pytest is told to raise warnings
        svc.partial_fit(X, y)
    assert (svc.n_seen_, svc._position) == (len(X), len(X))
    svc.partial_fit(X, y)
