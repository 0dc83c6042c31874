"""Pipelines of learners that forget: what they learn is what the learner learns of prepared rows."""

import numpy as np
import pyarrow as pa
import pytest

from modicum import OnlineKMeans, RandomFeatures, Reservoir, StreamSVC, TableEncoder, make_pipeline
from modicum.datasets import Generated, autocorrelated
from modicum.evaluate import prequential

CHANGED = pytest.mark.filterwarnings("ignore:.*beyond.*:modicum.exceptions.DataWarning")  # the preparation says so, too


def worlds(n=900):
    rng = np.random.default_rng(0)
    return rng.choice([0.0, 30.0], (2 * n, 1)) + rng.normal(size=(2 * n, 3)) + np.repeat([[0.0], [12.0]], n, axis=0)


def table(X):
    return pa.table(dict(zip("abc", X.T, strict=True)))


def test_the_learner_forgets_as_it_does_alone():
    X = worlds()
    encoder = RandomFeatures(8, random_state=0).fit(X)
    pipeline = make_pipeline(encoder, OnlineKMeans(2, half_life=70))
    alone = OnlineKMeans(2, half_life=70)
    for chunk in np.array_split(X, 11):
        pipeline.partial_fit(chunk)
        alone.partial_fit(encoder.transform(chunk))
    np.testing.assert_array_equal(pipeline.cluster_centers_, alone.cluster_centers_)
    np.testing.assert_array_equal(pipeline.cluster_sizes_, alone.cluster_sizes_)


@CHANGED
def test_changes_are_those_of_the_learner():
    pipeline = make_pipeline(TableEncoder(50), OnlineKMeans(2, half_life="auto"))
    pipeline.fit(table(worlds()))
    assert [850 < change.since < 960 for change in pipeline.changes_] == [True]


@CHANGED
def test_picks_are_original_rows_of_now():
    pipeline = make_pipeline(TableEncoder(50), Reservoir(30, half_life=60, random_state=0))
    for chunk in np.array_split(worlds(), 7):
        pipeline.partial_fit(table(chunk))
    picks = pipeline.picks()
    assert (picks.ids >= 900).all()
    np.testing.assert_array_equal(np.asarray(picks.rows["a"]), worlds()[picks.ids, 0])


@pytest.mark.parametrize("n_first", [50, 250])
def test_an_evaluation_tells_the_learner_how_late_labels_are(n_first):
    """From the first row on, and also where the pipeline begins in the middle of the evaluation."""
    X, y = Generated(autocorrelated(5, same=0.95), 2000).rows()
    rows = pa.table({f"c{j}": X[:, j] for j in range(5)} | {"label": y})
    asked, told = (
        make_pipeline(TableEncoder(n_first), StreamSVC(half_life="auto", lag=lag), random_state=0) for lag in (150, 0)
    )
    scores = [prequential(model, rows, target="label", chunk_size=100, lag=100).score for model in (asked, told)]
    assert scores[0] == scores[1]
    assert told.candidates_ == asked.candidates_


def test_an_evaluation_tells_a_learner_that_has_begun():
    X, y = Generated(autocorrelated(5, same=0.95), 2000).rows()
    encoder = RandomFeatures(20, random_state=0).fit(X)
    Z, params = encoder.transform(X), {"half_life": "auto", "random_state": 0}
    alone, pipeline = StreamSVC(**params), make_pipeline(encoder, StreamSVC(**params))
    scores = [
        prequential(model.partial_fit(rows[:500], y[:500]), rows[500:], target=y[500:], chunk_size=100, lag=100).score
        for model, rows in ((alone, Z), (pipeline, X))
    ]
    assert scores[0] == scores[1]
    assert alone.accuracy_ == pipeline.accuracy_
