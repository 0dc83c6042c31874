"""The grid of rows and points: its curves against brute force, and runs that are not repeated."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from modicum import OnlineKMeans, StreamKMeans, stream
from modicum.exceptions import DataError, StateError
from modicum.tradeoff import bench
from modicum.tradeoff.grid import tradeoff
from modicum.tradeoff.table import Run, Tradeoff

K = 4
GRID = {"n_points": [20, 60], "n_clusters": K, "n_rows": [50, 200, 600], "repeats": 3}


@pytest.fixture(scope="module")
def blobs():
    rng = np.random.default_rng(0)
    return (10 * rng.normal(size=(K, 2)))[rng.integers(K, size=1000)] + rng.normal(size=(1000, 2))


@st.composite
def tables(draw):
    """Runs of two methods, with many ties."""
    number = st.integers(1, 6)
    keys = draw(st.lists(st.tuples(st.sampled_from("ab"), number, number), min_size=1, max_size=20, unique=True))
    runs = [
        Run(*key, i, float(draw(number)), float(draw(number))) for key in keys for i in range(draw(st.integers(1, 3)))
    ]
    return Tradeoff({}, runs)


def medians(table, method=None, rows=np.inf):
    """(method, rows, size) -> median seconds and risk, by sorting."""
    found = {}
    for run in table.runs:
        if method in (None, run.method) and run.n_rows <= rows:
            found.setdefault(run[:3], []).append((run.seconds, run.risk))
    return {key: tuple(np.median(values, axis=0)) for key, values in found.items()}


# ---- readings against brute force ----------------------------------------------------------------------


@given(tables(), st.sampled_from(["a", "b", None]), st.sampled_from([2, 4, None]))
def test_pareto_front_is_not_dominated(table, method, rows):
    cells = medians(table, method, np.inf if rows is None else rows)
    kept = {
        point
        for point in cells.values()
        if not any(other != point and other[0] <= point[0] and other[1] <= point[1] for other in cells.values())
    }
    front = table.pareto(method, rows)
    assert {(cell.seconds, cell.risk) for cell in front} == kept
    assert len(front) == len(kept)
    assert [cell.seconds for cell in front] == sorted(cell.seconds for cell in front)
    assert all(cells[cell[:3]] == (cell.seconds, cell.risk) for cell in front)


@given(tables(), st.sampled_from("ab"), st.integers(0, 7), st.integers(1, 7))
def test_oracle_is_the_least_time_that_reaches_the_risk(table, method, risk, rows):
    enough = [seconds for seconds, own in medians(table, method, rows).values() if own <= risk]
    found = table.oracle(method, risk, rows)
    assert (found is None) == (not enough)
    if found is not None:
        assert found.seconds == min(enough)
        assert found.risk <= risk
        assert found.n_rows <= rows


@given(tables(), st.sampled_from("ab"), st.integers(1, 6))
def test_curves_are_oracles_side_by_side(table, method, level):
    curve = table.data_time(level, method)
    np.testing.assert_array_equal(curve.x, sorted({run.n_rows for run in table.runs}))
    for rows, seconds in zip(curve.x, curve.seconds, strict=True):
        found = table.oracle(method, level, rows)
        assert np.isnan(seconds) if found is None else seconds == found.seconds
    times = curve.seconds[~np.isnan(curve.seconds)]
    assert (np.diff(times) <= 0).all()  # more rows never take longer
    assert (np.diff(np.isnan(curve.seconds).astype(int)) <= 0).all()  # nor make a risk impossible
    curve = table.risk_time(method, max_rows=level, risks=[1, 3.5, 6])
    for risk, seconds in zip(curve.x, curve.seconds, strict=True):
        found = table.oracle(method, risk, level)
        assert np.isnan(seconds) if found is None else seconds == found.seconds
    own = table.risk_time(method)
    assert (np.diff(own.x) > 0).all()
    assert (np.diff(own.seconds) < 0).all()
    assert (own.low <= own.seconds).all()
    assert (own.seconds <= own.high).all()


def test_ranges_are_quantiles():
    runs = [Run("a", 9, 3, i, float(i), 100.0 - i) for i in range(101)]
    (cell,) = Tradeoff({}, runs).cells()
    assert cell == ("a", 9, 3, 101, 50.0, 50.0, (10.0, 90.0), (10.0, 90.0))


# ---- the grid ------------------------------------------------------------------------------------------


def test_every_cell_has_all_repeats(blobs):
    found = tradeoff(blobs, **GRID, random_state=0)
    coresets = [(rows, points) for rows in GRID["n_rows"] for points in GRID["n_points"] if points < rows]
    assert [run[:4] for run in found.runs] == [
        *(("coreset", rows, points, i) for rows, points in coresets for i in range(3)),
        *(("uniform", points, points, i) for points in GRID["n_points"] for i in range(3)),
    ]
    assert found.methods == ["coreset", "uniform"]
    assert all(run.seconds > 0 for run in found.runs)


def test_uniform_is_kmeans_on_the_rows_themselves(blobs):
    """The run of a sample, done again by hand; its risk is that of rows held out."""
    (run,) = tradeoff(blobs, [60], n_clusters=K, n_rows=[60], methods=["uniform"], repeats=1, random_state=3).runs
    order = np.random.default_rng([3, 0]).permutation(1000)
    held_out, pool = order[:200], order[200:]
    rows = blobs[pool[np.random.default_rng([3, 60, 0]).choice(800, 60, replace=False)]]
    model = StreamKMeans(K, n_points=60, random_state=np.random.default_rng([3, 60, 60, 0])).fit(rows)
    np.testing.assert_array_equal(model.as_sample()[0], rows)
    gaps = ((blobs[held_out][:, None] - model.cluster_centers_) ** 2).sum(axis=2).min(axis=1)
    assert run.risk == pytest.approx(gaps.mean())


def test_methods_of_the_estimator():
    rows = np.random.default_rng(0).normal(size=(900, 3))  # no clusters: there are many solutions
    own = StreamKMeans(K, method="lightweight", n_init=2)
    found = tradeoff(
        rows, [20], estimator=own, n_rows=[200], methods=["coreset", "lightweight", "sensitivity"], repeats=2
    )
    risks = {method: [run.risk for run in found.runs if run.method == method] for method in found.methods}
    assert risks["coreset"] == risks["lightweight"] != risks["sensitivity"]
    assert own.method == "lightweight"


def test_rows_by_default(blobs):
    found = tradeoff(blobs, [10], n_clusters=K, methods=["coreset"], repeats=1, validation_fraction=0.36)
    assert found.n_rows == [20, 40, 80, 160, 320, 640]


@pytest.mark.parametrize("as_source", [lambda X: stream(X, chunk_size=130), lambda X: [X[:400], X[400:]]])
def test_streams_are_sampled(blobs, as_source, monkeypatch):
    found = tradeoff(as_source(blobs), **GRID, random_state=0)
    assert found.settings["shape"] == [1000, 2]
    monkeypatch.setattr(bench, "POOL", 100)
    found = tradeoff(as_source(blobs), **{**GRID, "n_rows": [50, 200]}, random_state=0)
    assert found.settings["shape"] == [250, 2]  # enough for 200 beside those held out
    assert min(run.risk for run in found.runs) < 4


# ---- saved and taken up again --------------------------------------------------------------------------


def without_seconds(table):
    return [run._replace(seconds=0.0) for run in table.runs]


def test_everything_but_the_time_is_deterministic(blobs):
    first, again, other = (tradeoff(blobs, **GRID, random_state=seed) for seed in (1, 1, 2))
    assert without_seconds(first) == without_seconds(again) != without_seconds(other)


def test_an_interrupted_grid_is_continued_with_the_same_results(blobs, tmp_path, monkeypatch):
    whole = tradeoff(blobs, **GRID, random_state=1)
    path = tmp_path / "grid.json"

    def stop(done, cells):
        if done == 4:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        tradeoff(blobs, **GRID, random_state=1, path=path, on_cell=stop)
    saved = Tradeoff.read(path)
    assert len(saved.runs) == 12
    runs, seen = [], []
    run = bench.Bench.run
    monkeypatch.setattr(bench.Bench, "run", lambda self, *cell: runs.append(cell) or run(self, *cell))
    resumed = tradeoff(blobs, **GRID, path=path, on_cell=lambda *at: seen.append(at))  # the seed is in the file
    assert without_seconds(resumed) == without_seconds(whole)
    assert set(saved.runs) < set(resumed.runs)  # seconds and all: not done again
    assert len(runs) == 1 + len(whole.runs) - 12  # one to warm up
    assert seen == [(i, 7) for i in range(1, 8)]
    assert Tradeoff.read(path) == resumed
    runs.clear()
    assert tradeoff(blobs, **GRID, path=path) == resumed
    assert not runs


def test_a_larger_grid_adds_to_a_smaller_one(blobs, tmp_path):
    path = tmp_path / "grid.json"
    small = tradeoff(blobs, [20], n_clusters=K, n_rows=[50, 600], repeats=2, path=path, random_state=1)
    grown = tradeoff(blobs, **GRID, path=path)
    assert set(small.runs) < set(grown.runs)
    assert without_seconds(grown) == without_seconds(tradeoff(blobs, **GRID, random_state=1))
    assert tradeoff(blobs, [20], n_clusters=K, n_rows=[50], repeats=1, path=path) == grown  # nothing is lost


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"random_state": 2}, "seed"),
        ({"n_clusters": 5}, "parameters"),
        ({"source": np.zeros((1000, 2))}, "digest"),
        ({"source": np.zeros((1000, 3))}, "shape"),
        ({"validation_fraction": 0.1}, "held_out"),
    ],
)
def test_other_rows_or_settings_are_refused(change, word, blobs, tmp_path):
    settings = {"source": blobs, **GRID, "path": tmp_path / "grid.json", "random_state": 1}
    tradeoff(**settings)
    before = settings["path"].read_bytes()
    with pytest.raises(StateError, match=f"{word} is .* there and .* here. Give another path"):
        tradeoff(**{**settings, **change})
    assert settings["path"].read_bytes() == before


@pytest.mark.parametrize("content", [b"{", b"[]", b'{"format": 9}', b"\xff\xfe", json.dumps({"format": 1}).encode()])
def test_files_of_something_else(content, tmp_path, blobs):
    path = tmp_path / "x.json"
    path.write_bytes(content)
    with pytest.raises(StateError, match=r"x\.json"):
        tradeoff(blobs, **GRID, path=path)
    assert path.read_bytes() == content


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"n_clusters": None}, "either n_clusters or an estimator"),
        ({"estimator": StreamKMeans(3)}, "either n_clusters or an estimator"),
        ({"n_clusters": None, "estimator": OnlineKMeans(3)}, "a parameter n_points"),
        ({"repeats": 0}, "repeats must be a positive int"),
        ({"validation_fraction": 1.5}, "validation_fraction must be"),
        ({"random_state": "x"}, "random_state must be a non-negative int or None"),
        ({"n_points": [5000]}, "exceeds the 600 rows"),
    ],
)
def test_parameters_are_checked(change, message, blobs):
    with pytest.raises(ValueError, match=message):
        tradeoff(blobs, **{**GRID, **change})


def test_more_rows_than_there_are(blobs):
    with pytest.raises(DataError, match=r"900 rows .* 800 besides the 200 held out"):
        tradeoff(blobs, **{**GRID, "n_rows": [900]})
    with pytest.raises(DataError, match="numeric columns"):
        tradeoff(["a", "b"] * 50, **GRID)


def test_runs_with_as_many_rows_draw_the_same_ones(blobs):
    """Whatever the size of the summary: cells differ by what is compared."""
    _Recorder.rows = []
    tradeoff(blobs, [20, 60], estimator=_Recorder(K), n_rows=[100], methods=["coreset"], repeats=2, random_state=0)
    _, first, second, *others = _Recorder.rows  # the first one is to warm up
    np.testing.assert_array_equal(others, [first, second])
    assert not np.array_equal(first, second)


class _Recorder(StreamKMeans):
    """Records the rows that it was fitted to."""

    def fit(self, X, y=None, sample_weight=None):
        self.rows.append(X)
        return super().fit(X, y, sample_weight)
