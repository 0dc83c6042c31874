"""Fitting on a real cluster of two processes: the same as by hand, whatever happens to workers and data."""

import ctypes
import os
import signal
import subprocess
import sys

import numpy as np
import pytest
from sklearn.base import clone

import modicum
from modicum import distribute
from modicum.distribute import tasks
from modicum.distribute.fitting import _levels
from modicum.exceptions import DataError, StateError
from modicum.pipeline import TableEncoder, make_pipeline
from modicum.streams import stream

pytestmark = [
    pytest.mark.slow,
    # sockets of workers that die, or that a busy machine starts slowly, are distributed's to close
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]
X_COLUMNS = ["x0", "x1", "x2", "x3"]
LEARNERS = [
    modicum.ExemplarClustering(6, budget=300, random_state=0),
    modicum.StreamKMeans(3, random_state=0),
    modicum.KMeansCoreset(100, random_state=0),
    modicum.StreamGaussianMixture(3, random_state=0),
    modicum.MemoryBoundedMixture(budget=200),
    modicum.OnlineGreedy(20),
    modicum.SieveStreaming(10, random_state=0),
    modicum.Reservoir(50, random_state=0),
    modicum.RIM(n_clusters=3, regularization=0.5, budget=1_000, random_state=0),
    modicum.StreamSVC(random_state=0),
    modicum.KRLS(20),
    modicum.SparseGPRegressor(20, random_state=0),
]
SUPERVISED = (modicum.StreamSVC, modicum.KRLS, modicum.SparseGPRegressor)


def by_hand(learner, source, reading, n_shards, fan_in, seed):
    """Row groups in turn, one learner after the other, merged in a tree: everything in this process."""
    start, rows = tasks.Start.of(clone(learner)), stream(source, **reading)
    spans = list(zip(rows.cuts[:-1], rows.cuts[1:], strict=True))
    states = []
    for number in range(n_shards):
        shard = start.shard(number, seed + number)
        for span in spans[number::n_shards]:
            for chunk in rows.part(*span):
                shard.partial_fit(chunk.X, chunk.y, chunk.sample_weight, chunk.row_ids)
                shard._column_names = rows.columns
        shard._finish()
        states.append(shard.to_bytes())
    for level in _levels(n_shards, fan_in):
        states = [tasks.merge(start, *(states[at] for at in group)) for group in level]
    return clone(learner).merge(start.learner(states[0]))


def seed_of(learner):
    from modicum.state.rng import as_generator

    return int(as_generator(getattr(learner, "random_state", None)).integers(2**63))


@pytest.mark.filterwarnings("ignore::modicum.exceptions.OrderWarning")  # each file has one class
@pytest.mark.parametrize("learner", LEARNERS, ids=lambda learner: type(learner).__name__)
def test_every_learner_learns_what_it_would_by_hand(client, folder, learner):
    reading = {"columns": X_COLUMNS, "chunk_size": 200}
    if isinstance(learner, SUPERVISED):
        reading["target"] = "label"
    made = distribute.fit(learner, folder, client, n_shards=5, fan_in=2, **reading)
    assert made.n_seen_ == 6_000
    assert made.get_params() == learner.get_params()
    wanted = by_hand(learner, folder, reading, 5, 2, seed_of(learner))
    assert made.to_bytes() == wanted.to_bytes()


def test_weights_are_learned(client, folder):
    learner = modicum.StreamKMeans(3, random_state=0)
    light, heavy = (
        distribute.fit(learner, folder, client, n_shards=2, columns=X_COLUMNS, **how)
        for how in ({}, {"weight": "weight"})
    )
    assert heavy.to_bytes() != light.to_bytes()
    assert heavy.n_seen_ == 6_000


def test_shards_of_one_class_are_refused_and_dealt_ones_have_all(client, rows, folder):
    """Every file has one class."""
    files, svc = [str(path) for path in sorted(folder.iterdir())], modicum.StreamSVC(random_state=0)
    with pytest.raises(DataError, match="only seen rows of the class"):
        distribute.fit(svc, files, client, columns=X_COLUMNS, target="label")
    made = distribute.fit(svc, folder, client, n_shards=4, columns=X_COLUMNS, target="label")
    assert made.classes_.tolist() == [0, 1, 2]
    assert made.score(*rows) > 0.9


def test_classes_that_some_shards_never_see(client, rows, tmp_path):
    """Two of three classes in each file."""
    X, y = rows
    rng = np.random.default_rng(1)
    for number, pair in enumerate(([0, 1], [1, 2], [2, 0])):
        of = rng.permutation(np.flatnonzero(np.isin(y, pair)))
        np.save(tmp_path / f"{number}.npy", np.column_stack([X[of], y[of]]))
    files = [str(path) for path in sorted(tmp_path.glob("*.npy"))]
    made = distribute.fit(modicum.StreamSVC(random_state=0), files, client, target=4)
    assert made.classes_.tolist() == [0, 1, 2]
    assert made.score(X, y) > 0.9


class TestCollections:
    @pytest.mark.parametrize("n_shards", [1, 3])
    def test_arrays(self, client, rows, n_shards):
        da = pytest.importorskip("dask.array")
        X, _ = rows
        made = distribute.fit(
            modicum.Reservoir(40, random_state=0), da.from_array(X, chunks=(700, 2)), client, n_shards=n_shards
        )
        picks = made.picks()
        assert made.n_seen_ == 6_000
        np.testing.assert_array_equal(picks.rows, X[picks.ids])  # rows have the numbers that they have in the array

    def test_targets_and_weights_are_collections_too(self, client, rows):
        da = pytest.importorskip("dask.array")
        X, y = (da.from_array(values, chunks=(600, *values.shape[1:])) for values in rows)
        made = distribute.fit(modicum.StreamSVC(random_state=0), X, client, n_shards=2, target=y)
        assert made.score(*rows) > 0.9
        weight = da.where(y == 0, 0.0, 1.0)
        assert (
            distribute.fit(modicum.StreamKMeans(2, random_state=0), X, client, n_shards=2, weight=weight).n_seen_
            == 4_000
        )
        with pytest.raises(DataError, match="same partitions"):
            distribute.fit(modicum.StreamSVC(), X, client, target=y.rechunk(1_000))

    @pytest.mark.filterwarnings("ignore:The inplace keyword")  # of pandas, within dask
    def test_frames_in_a_pipeline_and_bags(self, client, folder):
        dd = pytest.importorskip("dask.dataframe")
        frame = dd.read_parquet(folder)
        pipeline = make_pipeline(TableEncoder(), modicum.StreamKMeans(3, random_state=0))
        made = distribute.fit(pipeline, frame, client, n_shards=2, target="label")
        assert made.n_seen_ == 6_000
        assert "label" not in made.encoder_.get_feature_names_out()
        answers = distribute.predict(made, frame)
        assert answers.npartitions == frame.npartitions
        np.testing.assert_array_equal(answers.compute(), made.predict(frame.compute()))
        words = pytest.importorskip("dask.bag").from_sequence(["abc", "abd", "xyz", "xyw", "xy"] * 40, npartitions=4)
        texts = distribute.fit(
            modicum.ExemplarClustering(2, dissimilarity="edit-distance", random_state=0), words, client, n_shards=2
        )
        assert {word[0] for word in texts.exemplars_} == {"a", "x"}
        assert distribute.predict(texts, words).compute() == texts.predict(words.compute()).tolist()


class TestPipelines:
    @pytest.fixture
    def tables(self, tmp_path):
        """Two files whose kinds of columns can only be seen together, and that begin with the same thousand rows."""
        pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
        rng = np.random.default_rng(0)
        for name, colour in (("a", "red"), ("b", "blue")):
            price = np.concatenate([np.zeros(1_500), rng.normal(size=1_500)])
            colours = ["green"] * 1_500 + [colour] * 1_500
            pq.write_table(
                pa.table({"price": price, "colour": colours}), tmp_path / f"{name}.parquet", row_group_size=500
            )
        return tmp_path

    def test_preparations_are_decided_once_by_rows_of_all_files(self, client, tables):
        pipeline = make_pipeline(TableEncoder(), modicum.ExemplarClustering(3, budget=300, random_state=0))
        for source in (tables, [str(path) for path in sorted(tables.glob("*.parquet"))]):
            made = distribute.fit(pipeline, source, client, n_shards=4)
            names = made.encoder_.get_feature_names_out().tolist()
            assert sum("colour" in name for name in names) >= 3  # green, red and blue
            assert made.n_seen_ == 6_000
            assert set(made.picks().rows.column("colour").to_pylist()) <= {"red", "green", "blue"}


class TestFaults:
    def test_a_worker_that_dies_in_the_middle_changes_nothing(self, client, rows, tmp_path):
        da = pytest.importorskip("dask.array")
        sign, learner = tmp_path / "died", modicum.StreamKMeans(3, random_state=0)
        X = da.from_array(rows[0], chunks=(1_000, 4))

        def deadly(block, block_info=None):
            if block_info and block_info[0]["chunk-location"][0] == 4 and not sign.exists():
                sign.touch()
                os.kill(os.getpid(), signal.SIGKILL)
            return block

        calm = distribute.fit(learner, X, client, n_shards=2)
        stormy = distribute.fit(learner, X.map_blocks(deadly, dtype=X.dtype, meta=X._meta), client, n_shards=2)
        assert sign.exists()
        assert stormy.to_bytes() == calm.to_bytes()

    def test_bad_rows_are_named_and_shards_that_are_done_are_kept(self, client, folder, tmp_path):
        import pyarrow as pa
        import pyarrow.parquet as pq

        path = folder / "1.parquet"
        whole = pq.read_table(path)
        gap = pa.array([None if at == 1_234 else value for at, value in enumerate(whole["x2"].to_pylist())])
        pq.write_table(whole.set_column(2, "x2", gap), path, row_group_size=500)
        how = {"n_shards": 4, "columns": X_COLUMNS, "folder": tmp_path / "kept"}
        learner = modicum.Reservoir(30)  # without a seed: the folder has it
        with pytest.raises(DataError, match=r"1\.parquet: data row 1,235, column 'x2'"):
            distribute.fit(learner, folder, client, **how)
        kept = {file.name: file.stat().st_mtime_ns for file in (tmp_path / "kept").glob("*.mcm")}
        assert len(kept) == 3
        pq.write_table(whole, path, row_group_size=500)
        made = distribute.fit(learner, folder, client, **how)
        assert made.n_seen_ == 6_000
        after = {file.name: file.stat().st_mtime_ns for file in (tmp_path / "kept").glob("*.mcm")}
        assert kept.items() < after.items()  # they were not learned again

    def test_folders_of_other_jobs_and_broken_ones_are_refused(self, client, folder, tmp_path):
        how = {"columns": X_COLUMNS, "folder": tmp_path / "kept"}
        first = distribute.fit(modicum.Reservoir(30), folder, client, n_shards=2, **how)
        assert distribute.fit(modicum.Reservoir(30), folder, client, n_shards=2, **how).to_bytes() == first.to_bytes()
        for learner, n_shards in ((modicum.Reservoir(31), 2), (modicum.Reservoir(30), 3)):
            with pytest.raises(StateError, match="another job"):
                distribute.fit(learner, folder, client, n_shards=n_shards, **how)
        file = tmp_path / "kept" / "shard-00001.mcm"
        file.write_bytes(file.read_bytes()[:-9] + b"forgeries")
        with pytest.raises(StateError):
            distribute.fit(modicum.Reservoir(30), folder, client, n_shards=2, **how)
        (tmp_path / "kept" / "job.json").write_text("{}")
        with pytest.raises(StateError, match="damaged"):
            distribute.fit(modicum.Reservoir(30), folder, client, n_shards=2, **how)


def test_shards_of_a_list_number_their_rows_apart(client, folder):
    files = [str(path) for path in sorted(folder.iterdir())]
    made = distribute.fit(modicum.Reservoir(30, random_state=0), files, client, columns=X_COLUMNS)
    assert set((made.picks().ids >> 40).tolist()) == {0, 1, 2}
    assert ((made.picks().ids & (2**40 - 1)) < 2_000).all()


def test_files_that_came_since_the_last_job_are_read(client, folder):
    learner = modicum.Reservoir(9, random_state=0)
    assert distribute.fit(learner, folder, client, columns=X_COLUMNS).n_seen_ == 6_000
    (folder / "3.parquet").write_bytes((folder / "0.parquet").read_bytes())
    assert distribute.fit(learner, folder, client, columns=X_COLUMNS).n_seen_ == 8_000


def test_without_a_cluster_one_is_made_of_the_cores_of_this_machine(folder):
    assert distribute.fit(modicum.Reservoir(9, random_state=0), folder, columns=X_COLUMNS).n_seen_ == 6_000


def test_progress_is_told(client, folder):
    told = []
    distribute.fit(
        modicum.Reservoir(9, random_state=0),
        folder,
        client,
        n_shards=3,
        fan_in=2,
        progress=lambda now: told.append(str(now)),
    )
    assert told[-1] == "6,000 rows · 3 of 3 shards · 3 of 3 merges"


@pytest.mark.parametrize(
    ("learner", "source", "how", "words"),
    [
        (modicum.Reservoir(9), "nowhere/*.parquet", {}, "no file matches"),
        (modicum.Reservoir(9), "-", {}, "standard input"),
        (modicum.Reservoir(9), np.zeros((3, 2)), {}, "can't read rows from ndarray"),
        (modicum.Reservoir(9), "x.parquet", {"n_shards": 0}, "n_shards must be an int of at least 1"),
        (modicum.Reservoir(9), "x.parquet", {"fan_in": 1}, "fan_in must be an int of at least 2"),
        (modicum.Reservoir(-9), "x.parquet", {}, "budget"),
        (object(), "x.parquet", {}, "a learner is needed"),
    ],
)
def test_what_can_not_be_done_is_refused_in_words(client, learner, source, how, words):
    with pytest.raises(ValueError, match=words):
        distribute.fit(learner, source, client, **how)


def test_functions_travel_beside_the_state(client, rows, folder):
    def halves(a, b):
        return np.abs(np.asarray(a)[:, None, 0] - np.asarray(b)[None, :, 0])

    learner = modicum.ExemplarClustering(3, dissimilarity=halves, budget=200, random_state=0)
    made = distribute.fit(learner, folder, client, n_shards=3, columns=X_COLUMNS)
    assert made.dissimilarity is halves
    assert made.predict(rows[0][:5]).shape == (5,)


@pytest.mark.skipif(not hasattr(ctypes.CDLL(None), "mallopt"), reason="of glibc")
def test_temporaries_of_workers_take_memory_that_was_freed_before():
    count = "resource.getrusage(resource.RUSAGE_SELF).ru_minflt"
    code = f"""
import resource, numpy
from modicum.distribute.tasks import use_memory_again
def pages():
    before = {count}
    for _ in range(50):
        numpy.ones(500_000)
    return {count} - before
first = pages()
use_memory_again()
print(first, pages())
"""
    environment = os.environ | {"MALLOC_TRIM_THRESHOLD_": "65536"}  # as Dask starts workers
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    first, then = map(int, done.stdout.split())
    assert then < 0.1 * first
