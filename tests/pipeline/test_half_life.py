"""Pipelines of learners that forget: what they learn is what the learner learns of prepared rows."""

import numpy as np
import pyarrow as pa
import pytest

from modicum import OnlineKMeans, RandomFeatures, Reservoir, TableEncoder, make_pipeline

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
