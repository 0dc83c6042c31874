"""StreamPipeline: one learner of preparations and a learner; picks are original rows."""

import subprocess
import sys

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score

import modicum
from messy import orders
from modicum.contract.picks import kept_ids
from modicum.exceptions import BudgetError, DataError, DataWarning, StateError
from modicum.pipeline import OneByOne, PrincipalComponents, RandomFeatures, TableEncoder, WordCounts, make_pipeline
from modicum.streams import stream

PICKERS = [
    modicum.ExemplarClustering(8, n_validation=60, random_state=0),
    modicum.OnlineGreedy(8),
    modicum.BlockGreedy(8),
    modicum.SieveStreaming(6),
    modicum.SieveStreamingPlusPlus(6),
    modicum.ThreeSieves(6, patience=30),
    modicum.StreamGreedy(6, objective="variance", n_validation=50, random_state=0),
    modicum.Reservoir(20, random_state=0),
]
NAMES = [type(learner).__name__ for learner in PICKERS]


def pipeline(learner, n_first=200):
    return make_pipeline(TableEncoder(n_first), learner)


def in_chunks(model, rows, size=150, **kwargs):
    for first in range(0, len(rows), size):
        model.partial_fit(rows[first : first + size], **{k: v[first : first + size] for k, v in kwargs.items()})
    return model


@pytest.mark.parametrize("learner", PICKERS, ids=NAMES)
def test_picks_are_original_rows(learner):
    rows = orders(1500)
    model = in_chunks(pipeline(learner), rows)
    picks = model.picks()
    assert len(picks) > 1
    assert picks.rows.to_pandas().astype(str).equals(rows.iloc[picks.ids].reset_index(drop=True).astype(str))
    assert np.allclose(model.encoder_.transform(rows.iloc[picks.ids]), model.learner_.picks().rows, atol=1e-6)


@pytest.mark.parametrize("learner", PICKERS, ids=NAMES)
def test_picks_are_original_rows_after_merge_and_load(learner, tmp_path):
    rows = orders(1500)
    root = pipeline(learner).fit(rows[:300])
    west, east = in_chunks(root.branch(), rows[:700]), in_chunks(root.branch(), rows[700:])
    west.merge(east)
    west.save(tmp_path / "both.mcm")
    picks = modicum.load(tmp_path / "both.mcm").picks()
    assert west.n_seen_ == 1500
    known = {row["order_id"]: row for row in rows.to_dict("records")}
    for row in picks.rows.to_pylist():
        assert row["amount"] == known[row["order_id"]]["amount"]
        assert row["note"] == known[row["order_id"]]["note"]


def test_pipelines_watch_what_an_encoder_watches():
    """They count while they encode; an encoder alone parses every column for that."""
    rows = orders(1500)[["grams", "country", "when", "gift", "score", "note"]]
    rows.loc[200:, "grams"] *= 1.5
    rows.loc[1450:, "country"] = "new"
    encoder = TableEncoder(200)
    model = make_pipeline(encoder, modicum.OnlineKMeans(4))
    for learner in (model, encoder):
        with pytest.warns(DataWarning, match="grams: .* of later values are beyond"):
            in_chunks(learner, rows)
    assert [vars(column) for column in model.encoder_._columns[:-1]] == [vars(c) for c in encoder._columns[:-1]]
    assert [column.n_watched for column in encoder._columns] == [1300] * 5 + [0]  # texts are not watched


def test_arrays_are_watched_even_if_they_stay_as_they_are():
    X = np.random.default_rng(0).normal(size=(900, 3))
    model = in_chunks(make_pipeline(TableEncoder(100), modicum.OnlineKMeans(4)), X)
    assert [column.n_watched for column in model.encoder_._columns] == [800] * 3


@pytest.mark.parametrize("learner", PICKERS, ids=NAMES)
def test_later_picks_come_from_rows_that_were_kept(learner):
    """Otherwise their records would be lost."""
    rng = np.random.default_rng(0)
    model, kept = learner.__class__(**learner.get_params()), np.empty(0, np.int64)
    for start in range(0, 2000, 100):
        ids = np.arange(start, start + 100)
        model.partial_fit(rng.normal(size=(100, 3)) + start / 500, row_ids=ids)
        assert np.isin(model.picks().ids, np.concatenate([kept, ids])).all()
        kept = kept_ids(model)


def test_files_and_rows_of_picks_are_known(tmp_path):
    for i in range(3):
        orders(400, i).to_parquet(tmp_path / f"part{i}.parquet")
    model = pipeline(modicum.ExemplarClustering(6, random_state=0)).learn(tmp_path)
    for row in model.picks().rows.to_pylist():
        part = pd.read_parquet(row["_file"])
        assert part.iloc[row["_row"] - 1]["order_id"] == row["order_id"]


def test_targets_are_not_learned_from(tmp_path):
    rows = orders(600).assign(label=np.where(orders(600)["grams"] > 1e5, "heavy", "light"))
    rows.to_csv(tmp_path / "rows.csv", index=False)
    model = make_pipeline(TableEncoder(200), modicum.StreamSVC(random_state=0))
    model.learn(stream(tmp_path / "rows.csv", target="label", raw=True))
    assert "label (the target)" in model.summary_
    assert sorted(model.classes_) == ["heavy", "light"]
    assert model.score(rows.drop(columns="label"), rows["label"]) > 0.9
    assert model.predict(rows.drop(columns="label")).shape == (600,)


def test_an_answer_before_the_first_rows_are_complete_changes_nothing():
    rows = orders(100)
    model = pipeline(modicum.OnlineKMeans(3, random_state=0), n_first=500).partial_fit(rows)
    before = model.to_bytes()
    assert model.predict(rows).shape == (100,)
    assert model.cluster_centers_.shape[0] == 3
    assert model.to_bytes() == before
    assert not model.encoder_.is_decided_ or model._waiting is not None


def test_saving_in_mid_stream_changes_nothing():
    rows = orders(1000)
    for cut in (50, 150, 450, 750):  # before and after the first rows are complete
        model = pipeline(modicum.ExemplarClustering(5, random_state=0))
        in_chunks(model, rows[:cut])
        again = modicum.StreamPipeline.from_bytes(model.to_bytes())
        for side in (model, again):
            in_chunks(side, rows[cut:])
        assert model.to_bytes() == again.to_bytes()


def test_a_refused_chunk_changes_nothing():
    rows = orders(600)
    model = in_chunks(pipeline(modicum.ExemplarClustering(5, random_state=0)), rows)
    before = model.to_bytes()
    for bad in (rows.drop(columns="amount"), rows.assign(amount="dear"), np.ones((4, 2)), "rows"):
        with pytest.raises(DataError):
            model.partial_fit(bad)
        assert model.to_bytes() == before
    model.partial_fit(rows)


def test_preparations_that_differ_are_not_merged():
    left, right = (pipeline(modicum.OnlineKMeans(3)).fit(orders(500, seed)) for seed in (0, 1))
    before = left.to_bytes()
    with pytest.raises(StateError, match=r"the preparations differ .*--prepare-like"):
        left.merge(right)
    assert left.to_bytes() == before


def test_the_same_rows_are_not_merged_twice():
    rows = orders(500)
    model = pipeline(modicum.ExemplarClustering(4, random_state=0)).fit(rows)
    with pytest.raises(StateError, match="both sides began with the same rows"):
        model.branch().fit(rows).merge(model.branch().fit(rows))


def test_columns_in_another_order_are_merged_by_name():
    rows = orders(800)
    root = pipeline(modicum.ExemplarClustering(4, random_state=0)).fit(rows[:300])
    west = in_chunks(root.branch(), rows[:400])
    east = in_chunks(root.branch(), rows.loc[400:, rows.columns[::-1]])
    twin = in_chunks(root.branch(), rows[400:])
    assert np.array_equal(east.predict(rows), twin.predict(rows))
    west.merge(east)
    assert west.n_seen_ == 800
    assert set(west.picks().rows.column("country").to_pylist()) <= {"de", "fr", "us", "jp"}


def test_rows_with_gaps_can_be_dropped():
    rows = orders(1000)
    model = make_pipeline(TableEncoder(200, missing="drop"), modicum.Reservoir(1000, random_state=0))
    in_chunks(model, rows)
    whole = rows["score"].notna()
    assert len(model.picks()) == whole.sum()
    assert f"{(~whole).sum()} rows with missing values left out" in model.summary_


@pytest.mark.parametrize("budget", ["128 KiB", "256 KiB"])
def test_a_budget_in_bytes_counts_records(budget):
    model = pipeline(modicum.ExemplarClustering(10, budget=budget, random_state=0))
    limit = {"128 KiB": 131_072, "256 KiB": 262_144}[budget]
    for seed in range(6):
        in_chunks(model, orders(500, seed).drop(columns="note"), 100)
        assert model.nbytes_ <= limit


def test_a_budget_below_the_preparation_is_refused():
    with pytest.raises(BudgetError, match=r"the budget of 32 KiB is shared by the preparation.* needs a budget"):
        pipeline(modicum.ExemplarClustering(3, budget="32 KiB")).fit(orders(500))


def test_texts_that_grow_are_shortened_to_hold_the_budget():
    model = pipeline(modicum.ExemplarClustering(10, budget="128 KiB", random_state=0))
    in_chunks(model, orders(500).drop(columns="note"))
    with pytest.warns(DataWarning, match="shortened"):
        in_chunks(model, orders(500, 1).drop(columns="note").assign(order_id="x" * 5000))
    assert model.nbytes_ <= 131_072


def test_preparations_follow_each_other():
    X = np.random.default_rng(0).normal(size=(1000, 12)) * np.arange(1, 13)
    model = make_pipeline(
        TableEncoder(300, scale="standard"), PrincipalComponents(4, n_first=300), modicum.OnlineKMeans(3)
    )
    in_chunks(model, X)
    assert model.cluster_centers_.shape == (3, 4)
    kernel = make_pipeline(RandomFeatures(64, width=3.0), modicum.OnlineKMeans(3))
    assert in_chunks(kernel, X).cluster_centers_.shape == (3, 64)


def test_principal_components_are_those_of_numpy():
    X = np.random.default_rng(0).normal(size=(400, 6)) @ np.diag([9, 5, 3, 1, 1, 1.0])
    ours = PrincipalComponents(3).fit(X)
    values, vectors = np.linalg.eigh(np.cov(X.T))
    for axis, own in zip(vectors.T[::-1], ours.components_, strict=False):
        assert abs(abs(axis @ own) - 1) < 1e-10
    assert np.allclose(ours.explained_variance_ratio_, values[::-1][:3] / values.sum())


def test_clusters_are_those_of_hand_made_preparation():
    rng = np.random.default_rng(0)
    label = rng.integers(4, size=4000)
    rows = pd.DataFrame(
        {
            "euros": rng.normal(1000 * label, 100),
            "share": rng.normal(0.001 * (label % 2), 0.0001),
            "kind": np.array(["a", "b", "c", "d"])[label],
            "id": [f"{rng.integers(2**60):x}" for _ in label],
        }
    )
    ours = make_pipeline(TableEncoder(), modicum.StreamKMeans(4, random_state=0)).fit(rows).predict(rows)
    scaled = (rows[["euros", "share"]] - rows[["euros", "share"]].mean()) / rows[["euros", "share"]].std()
    by_hand = np.hstack([scaled, pd.get_dummies(rows["kind"]).to_numpy(float)])
    theirs = KMeans(4, n_init=10, random_state=0).fit_predict(by_hand)
    assert adjusted_rand_score(label, ours) >= adjusted_rand_score(label, theirs) - 0.02


def test_rows_one_by_one():
    model = OneByOne(make_pipeline(TableEncoder(50), modicum.StreamSVC(random_state=0)))
    rng = np.random.default_rng(0)
    assert model.predict_one({"x": 1.0, "c": "a"}) is None
    for i in range(300):
        x = {"c": "ab"[i % 2], "x": float(rng.normal(4 * (i % 2)))}
        model.learn_one(x if i % 3 else dict(reversed(x.items())), "yes" if i % 2 else "no")
    assert model.predict_one({"x": 4.0, "c": "b"}) == "yes"
    assert model.predict_one({"c": "a", "x": 0.0}) == "no"
    plain = OneByOne(modicum.OnlineKMeans(2, random_state=0))
    plain.learn_one({"x": 1.0, "y": 2.0})
    with pytest.raises(DataError, match="other keys"):
        plain.learn_one({"x": 1.0, "z": 2.0})


def test_params_of_steps_can_be_set():
    model = make_pipeline(TableEncoder(), modicum.OnlineKMeans(3))
    model.set_params(onlinekmeans__n_clusters=5, tableencoder__missing="drop")
    assert model.steps[-1][1].n_clusters == 5
    with pytest.raises(ValueError, match="steps must be"):
        make_pipeline(modicum.OnlineKMeans(3), TableEncoder()).fit(orders(50))


def test_a_forged_record_is_one_error(tmp_path):
    model = pipeline(modicum.Reservoir(5, random_state=0)).fit(orders(300))
    model._records.rows._blob = np.frombuffer(b"no arrow at all", np.uint8)
    del model._records.rows._table
    with pytest.raises(StateError, match="can't be read"):
        model.picks()


def test_polars_and_arrow_are_rows():
    pl = pytest.importorskip("polars")
    rows = orders(300)
    model = pipeline(modicum.OnlineKMeans(3, random_state=0)).fit(rows)
    for other in (pl.from_pandas(rows), pa.Table.from_pandas(rows)):
        assert np.array_equal(model.predict(other), model.predict(rows))


def test_sorted_files_are_prepared_by_rows_from_all_over(tmp_path):
    rows = pd.DataFrame({"x": np.sort(np.random.default_rng(0).normal(1000, 100, 20_000)), "c": ["a", "b"] * 10_000})
    rows.to_parquet(tmp_path / "sorted.parquet")
    model = make_pipeline(TableEncoder(1000), modicum.Reservoir(3)).learn(tmp_path / "sorted.parquet")
    column = model.encoder_._columns[0]
    assert abs(column.center - 1000) < 20
    assert abs(column.scale - 100) < 20
    assert stream(rows, raw=True).spread(500).num_rows == pytest.approx(500, abs=20)
    assert stream(rows[:300], raw=True).spread(500).num_rows == 300


def test_fitted_steps_make_a_pipeline():
    rows = orders(500)
    encoder = TableEncoder().fit(rows)
    learner = modicum.OnlineKMeans(3, random_state=0).fit(encoder.transform(rows))
    model = modicum.StreamPipeline.of(encoder, learner)
    again = modicum.StreamPipeline.from_bytes(model.to_bytes())
    assert np.array_equal(again.predict(rows), learner.predict(encoder.transform(rows)))


def test_columns_of_very_different_scale_are_told_once():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, 3)) * [1, 1e4, 1]
    model = modicum.OnlineKMeans(3)
    with pytest.warns(DataWarning, match=r"column 1 varies .* times as much .* make_pipeline"):
        model.partial_fit(X)
    model.partial_fit(X)
    make_pipeline(TableEncoder(scale="standard"), modicum.OnlineKMeans(3)).fit(X)
    modicum.Reservoir(5).fit(X)  # compares no columns
    modicum.OnlineKMeans(3).fit(X[:, [0, 2]])


def test_a_chunk_is_learned_whole_or_not_at_all():
    """The first rows of the chunk complete those that wait; a later row of it is refused by the learner."""
    good, bad = orders(250), orders(250, 1)
    y = np.arange(250.0)
    model = pipeline(modicum.KRLS(20)).partial_fit(good[:100], y[:100])
    before = model.to_bytes()
    with pytest.raises(ValueError):
        model.partial_fit(bad, np.where(np.arange(250) == 240, np.nan, y))
    assert model.to_bytes() == before
    model.partial_fit(good[100:], y[100:])
    assert model.n_seen_ == 250


def test_unbegun_sides_are_merged():
    rows = orders(300)
    for cuts in ((50, 80), (50, 300), (250, 280)):
        west = pipeline(modicum.SparseGPRegressor(5, n_validation=20)).partial_fit(
            rows[: cuts[0]], np.arange(cuts[0]) * 1.0
        )
        n = cuts[1] - cuts[0]
        east = pipeline(modicum.SparseGPRegressor(5, n_validation=20)).partial_fit(
            rows[cuts[0] : cuts[1]], np.arange(n) * 1.0
        )
        if west._fitted is not None and east._fitted is not None:
            continue
        west.merge(east)
        assert west.n_seen_ == cuts[1]
        assert west.predict(rows).shape == (300,)


def test_gaps_and_whole_numbers_may_come_first():
    model = OneByOne(make_pipeline(TableEncoder(50), modicum.Reservoir(100, random_state=0)))
    rows = [{"a": None if i < 3 else i / 2, "b": i if i < 3 else i / 2} for i in range(100)]
    for row in rows:
        model.learn_one(row)
    assert model.learner.summary_ == "learned from 2 numbers; filled in gaps of a"
    picks = model.learner.picks()
    assert [{"a": row["a"], "b": row["b"]} for row in picks.rows.to_pylist()] == [rows[i] for i in picks.ids]


def test_texts_that_are_no_numbers_cannot_be_numbers():
    with pytest.raises(DataError, match="column 'country' can't be read as a number: 'AT' is not a number"):
        TableEncoder(types={"country": "number"}).fit([{"country": "AT"}, {"country": "CH"}])


def test_a_new_process_loads_a_pipeline(tmp_path):
    path = tmp_path / "orders.mcm"
    pipeline(PICKERS[0]).fit(orders(300)).save(path)
    code = f"import modicum; print(modicum.load({str(path)!r}).picks().rows.num_rows)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "8\n"


def test_a_stream_is_fitted_as_it_is(tmp_path):
    orders(300).to_csv(tmp_path / "orders.csv", index=False)
    rows = stream(tmp_path / "orders.csv", raw=True, chunk_size=70)
    fitted = pipeline(PICKERS[0]).fit(rows)
    assert fitted.summary_ == pipeline(PICKERS[0]).fit(str(tmp_path / "orders.csv")).summary_


def test_long_texts_leave_the_learner_enough_of_the_default_budget():
    rows = pa.table({"x": np.arange(60.0) % 7, "text": [f"{'z' * 20_000}{i}" for i in range(60)]})
    model = make_pipeline(TableEncoder(), modicum.ExemplarClustering(random_state=0)).fit(rows)
    picks = model.picks()
    assert picks.rows["text"].to_pylist() == rows["text"].take(pa.array(picks.ids)).to_pylist()


@pytest.mark.parametrize(
    ("first", "later"),
    [
        (pa.array([1] * 30, pa.int8()), pa.array([2**40] * 30)),
        (pa.array([2**60 + 1] * 30), pa.array([0.5] * 30)),
        (pa.array([0.5] * 30), pa.array([2**60 + 1] * 30)),
        (pa.array([True] * 30), pa.array(["word"] * 30)),
    ],
)
def test_records_keep_cells_of_another_type(first, later):
    model = make_pipeline(TableEncoder(exclude=["extra"], n_first=20), modicum.ExemplarClustering(4, random_state=0))
    for start, extra in ((0.0, first), (100.0, later)):
        model.partial_fit(pa.table({"x": start + np.arange(30.0) % 7, "extra": extra}))
    picks = model.picks()
    originals = [*first.to_pylist(), *later.to_pylist()]
    found = picks.rows["extra"].to_pylist()
    assert {str(cell).lower() for cell in found} == {str(originals[i]).lower() for i in picks.ids}


def test_frames_of_polars_have_texts_and_categories():
    colors = ["red", "blue"] * 30
    frame = pl.DataFrame({"x": np.arange(60.0) % 7, "color": colors, "kind": pl.Series(colors, dtype=pl.Categorical)})
    model = make_pipeline(TableEncoder(n_first=20), modicum.ExemplarClustering(4, random_state=0)).fit(frame)
    picks = model.picks()
    assert picks.rows["color"].to_pylist() == picks.rows["kind"].to_pylist() == [colors[i] for i in picks.ids]
    assert len(model.predict(frame)) == 60


def test_rows_that_are_all_left_out_are_refused():
    rows = pa.table({"x": np.arange(30.0), "gap": pa.nulls(30, pa.float64())})
    encoder = TableEncoder(types={"gap": "number"}, missing="drop")
    with pytest.raises(DataError, match="all 30 rows have missing values"):
        make_pipeline(encoder, modicum.OnlineKMeans(2)).fit(rows)


def test_topic_models_answer_for_texts():
    """What they say about prepared rows, and ids that are positions in the stream."""
    kinds = [["goal", "match", "team"], ["oven", "flour", "sugar"]]
    texts = [" ".join(np.random.default_rng(i).choice(kinds[i % 2], 12)) for i in range(60)]
    topics = modicum.MemoryBoundedTopicModel("multinomial", max_topics=2, random_state=0)
    model = make_pipeline(WordCounts(8, max_share=1.0), topics).fit(texts)
    learner, counts = model.learner_, model.preparation_.transform(texts)
    assert model.perplexity(texts) == learner.perplexity(counts)
    index = model.index(texts)
    for given in ({"index": index}, {}):
        ids, scores = model.retrieve(texts[:4], k=3, **given)
        expected = learner.retrieve(counts[:4], k=3, **given)
        np.testing.assert_array_equal(ids, expected[0])
        np.testing.assert_array_equal(scores, expected[1])
        assert (ids % 2 == np.arange(4)[:, None] % 2).all()
        assert ids.max() < 60
    assert not hasattr(make_pipeline(TableEncoder(), modicum.OnlineKMeans(2)), "perplexity")
