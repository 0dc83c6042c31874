"""TableEncoder: what is decided, what comes out, and what is refused."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import modicum
from messy import orders
from modicum.exceptions import DataError, DataWarning, StateError
from modicum.pipeline import TableEncoder
from modicum.pipeline.columns.cells import as_floats
from modicum.pipeline.columns.number import hardened, softened

KINDS = {
    "order_id": "ignore",
    "row": "ignore",
    "amount": "number",
    "grams": "number",
    "country": "category",
    "when": "time",
    "gift": "boolean",
    "score": "number",
    "note": "text",
    "shop": "ignore",
}


def test_every_column_gets_its_kind():
    encoder = TableEncoder().fit(orders())
    assert {name: kind for name, kind, _ in encoder.decisions_} == KINDS
    assert encoder.summary_.startswith("learned from 3 numbers, 1 category, 1 time, 1 boolean, 1 text")
    assert "order_id (unique strings)" in encoder.summary_
    assert "shop (constant)" in encoder.summary_
    assert "filled in gaps of score" in encoder.summary_


def test_numbers_and_categories_are_those_of_scikit_learn():
    rows = orders()[["grams", "country"]]
    ours = TableEncoder().fit(rows).transform(rows)
    scaled = StandardScaler().fit_transform(rows[["grams"]])
    assert np.allclose(ours[:, :1], scaled, atol=1e-4)
    hot = OneHotEncoder(sparse_output=False).fit_transform(rows[["country"]])
    assert np.array_equal(np.sort(ours[:, 1:5].sum(axis=0)), np.sort(hot.sum(axis=0)))
    assert (ours[:, 1:].sum(axis=1) == 1).all()


def test_times_are_points_of_a_circle():
    times = pd.DataFrame({"t": pd.to_datetime(["2024-01-01 06:00", "2024-01-02 06:00", "2024-01-08 18:00"] * 10)})
    encoder = TableEncoder().fit(times)
    names = list(encoder.get_feature_names_out())
    Z = encoder.transform(times)
    day = Z[:, [names.index("t time of day sin"), names.index("t time of day cos")]]
    week = Z[:, [names.index("t day of week sin"), names.index("t day of week cos")]]
    assert np.allclose(day[0], [1, 0], atol=1e-6)
    assert np.allclose(day[0], day[1], atol=1e-6)
    assert np.allclose(day[2], [-1, 0], atol=1e-6)
    monday = 2 * np.pi * 0.25 / 7
    assert np.allclose(week[0], [np.sin(monday), np.cos(monday)], atol=1e-5)
    assert np.allclose(np.hypot(*week.T), 1, atol=1e-6)


def test_a_few_outliers_do_not_set_the_scale():
    rng = np.random.default_rng(0)
    clean = rng.normal(50, 10, 4000)
    dirty = clean.copy()
    dirty[rng.choice(4000, 40, replace=False)] = 1e9
    plain, robust = (
        TableEncoder().fit(pd.DataFrame({"x": x})).transform(pd.DataFrame({"x": clean})) for x in (clean, dirty)
    )
    assert abs(plain.std() - 1) < 1e-3
    assert abs(robust.std() - 1) < 0.35  # a StandardScaler would give 1e-7
    assert np.abs(TableEncoder().fit(pd.DataFrame({"x": dirty})).transform(pd.DataFrame({"x": dirty}))).max() < 40


def test_softened_values_can_be_recovered():
    z = np.linspace(-500, 500, 1001)
    assert np.allclose(hardened(softened(z.copy())), z)
    assert (np.diff(softened(z.copy())) > 0).all()


def test_inverse_transform_gives_values_in_their_units():
    rows = orders()
    encoder = TableEncoder().fit(rows)
    found = encoder.inverse_transform(encoder.transform(rows))
    assert np.allclose(found["grams"], rows["grams"], rtol=1e-4)
    assert np.allclose(found["amount"], rows["amount"], rtol=1e-3)
    assert (found["country"] == rows["country"]).all()
    assert "note" not in found


def test_missing_values_are_filled_in_and_flagged():
    rows = pd.DataFrame({"x": [1.0, np.nan, 3.0, 4.0] * 10, "c": ["a", None, "b", "a"] * 10})
    encoder = TableEncoder().fit(rows)
    names = list(encoder.get_feature_names_out())
    Z = encoder.transform(rows)
    assert names == ["x", "x missing", "c=a", "c=b", "c other", "c missing"]
    assert Z[1].tolist() == [0, 1, 0, 0, 0, 1]
    assert Z[0, 1] == Z[0, -1] == 0


def test_missing_values_can_be_refused():
    rows = pd.DataFrame({"x": [1.0, np.nan, 3.0] * 10})
    with pytest.raises(DataError, match="row 1, column 'x': missing value"):
        TableEncoder(missing="error").fit(rows).transform(rows)


def test_new_categories_have_a_place_and_are_told():
    encoder = TableEncoder(100).partial_fit(pd.DataFrame({"c": ["a", "b"] * 50}))
    new = pd.DataFrame({"c": ["z"] * 1000})
    assert encoder.transform(new)[0].tolist() == [0, 0, 1]
    with pytest.warns(DataWarning, match="c: 100% of later values are new"):
        encoder.partial_fit(new)
    encoder.partial_fit(new)  # told once


def test_many_categories_are_hashed():
    rows = pd.DataFrame({"c": [f"city {i % 300}" for i in range(2000)]})
    Z = TableEncoder(max_categories=16).fit(rows).transform(rows)
    assert Z.shape == (2000, 16)
    assert (Z.sum(axis=1) == 1).all()
    assert np.array_equal(Z[0], Z[300])


def test_a_change_of_scale_is_told():
    rng = np.random.default_rng(0)
    encoder = TableEncoder(500).partial_fit(pd.DataFrame({"x": rng.normal(size=500)}))
    with pytest.warns(DataWarning, match="x: .* of later values are beyond"):
        encoder.partial_fit(pd.DataFrame({"x": rng.normal(10, 1, size=2000)}))


@pytest.mark.parametrize("bad", [None, np.nan, np.inf, -np.inf, 2e100])
@pytest.mark.parametrize("made", [np.array, pa.array])
def test_cells_that_are_no_usable_numbers_are_missing(bad, made):
    cells = [1.0, -5e99, 3.0, 0.0]
    assert as_floats(made(cells)).tolist() == cells
    given = made([*cells[:2], np.nan if bad is None and made is np.array else bad, *cells[2:]])
    before = given.tolist()
    assert str(as_floats(given).tolist()) == str([*cells[:2], np.nan, *cells[2:]])
    assert str(given.tolist()) == str(before)


@pytest.mark.parametrize("chunk", [1, 7, 60, 300])
def test_any_split_decides_the_same(chunk):
    rows = orders(300)
    encoder = TableEncoder(100)
    for first in range(0, 300, chunk):
        encoder.partial_fit(rows[first : first + chunk])
    whole = TableEncoder(100).partial_fit(rows)
    assert encoder.to_bytes() == whole.to_bytes()


def test_columns_are_found_by_name():
    rows = orders()
    encoder = TableEncoder().fit(rows)
    assert np.array_equal(encoder.transform(rows[rows.columns[::-1]]), encoder.transform(rows))
    with pytest.raises(DataError, match="no column 'grams', which was learned from"):
        encoder.transform(rows.drop(columns="grams"))
    with pytest.raises(DataError, match="column 'grams' is a number, but 'heavy' is not a number"):
        encoder.transform(rows.assign(grams="heavy"))
    assert encoder.transform(rows.drop(columns="order_id")).shape[0] == len(rows)  # was not learned from


def test_whole_numbers_are_the_same_category_beside_fractions():
    rows = pd.DataFrame({"x": [1.0, 3e15, 2.5] * 20})
    encoder = TableEncoder(types={"x": "category"}).fit(rows)
    assert np.array_equal(encoder.transform(rows[:3])[:2], encoder.transform(rows[:2]))
    assert np.array_equal(encoder.transform(pd.DataFrame({"x": [1, 3 * 10**15]})), encoder.transform(rows[:2]))


def test_kinds_can_be_told():
    rows = pd.DataFrame({"zip": [10115, 80331, 20095, 50667] * 20, "y": np.arange(80.0) ** 2})
    told = TableEncoder(types={"zip": "category", "y": "ignore"}).fit(rows)
    assert [kind for _, kind, _ in told.decisions_] == ["category", "ignore"]
    assert told.transform(rows).shape == (80, 5)
    assert TableEncoder(columns=["y"]).fit(rows).transform(rows).shape == (80, 1)
    assert TableEncoder(exclude=["y"]).fit(rows).transform(rows).shape == (80, 1)
    with pytest.raises(DataError, match=r"no column 'zap'. Did you mean 'zip'"):
        TableEncoder(columns=["zap"]).fit(rows)
    with pytest.raises(ValueError, match="types must be"):
        TableEncoder(types={"zip": "colour"}).fit(rows)
    with pytest.raises(DataError, match="'y' can't be read as a boolean"):
        TableEncoder(types={"y": "boolean"}).fit(rows)


def test_numbers_written_as_text_are_numbers():
    rows = pd.DataFrame({"x": ["1", "2.5", "?", "-3e2"] * 10})
    encoder = TableEncoder().fit(rows)
    assert encoder.decisions_[0][1] == "number"
    assert "'?'" in encoder.summary_
    assert encoder.transform(rows)[2].tolist() == [0.0, 1.0]


def test_infinite_values_count_as_missing_and_are_told():
    encoder = TableEncoder().fit(pd.DataFrame({"x": [np.inf, -np.inf, *np.linspace(0, 1, 30)]}))
    assert encoder.summary_.endswith("x: 2 infinite values count as missing")


def test_arrays_are_taken_as_they_are():
    X = np.random.default_rng(0).normal(5, 100, size=(50, 3))
    assert TableEncoder().fit(X).transform(X) is X
    assert np.allclose(TableEncoder(scale="standard").fit(X).transform(X), StandardScaler().fit_transform(X))


def test_dicts_and_strings_are_rows():
    dicts = [{"a": i, "b": "x" if i % 2 else "y"} for i in range(40)]
    assert TableEncoder(exclude=[]).fit(dicts).transform(dicts).shape[0] == 40
    lines = [f"the quick brown fox number {i} jumps over the lazy dog" for i in range(40)]
    Z = TableEncoder().fit(lines).transform(lines)
    assert Z.shape == (40, 65_536)
    assert np.allclose(np.asarray(Z.multiply(Z).sum(axis=1)).ravel(), 1, atol=1e-5)


def test_nothing_to_learn_from_is_refused():
    with pytest.raises(DataError, match=r"no column is left to learn from: shop \(constant\)"):
        TableEncoder().fit(orders()[["shop"]])


def test_merge_adds_counts_and_keeps_decisions():
    left, right = (TableEncoder(100).fit(orders(400, seed)) for seed in (0, 1))
    before = left.decisions_
    left.merge(right)
    assert left.n_seen_ == 800
    assert left.decisions_ == before
    with pytest.raises(StateError, match="'country' is a category here and a number there"):
        left.merge(TableEncoder(100).fit(orders(400, 2).assign(country=np.random.default_rng(0).normal(size=400))))


def test_a_saved_encoder_does_the_same(tmp_path):
    rows = orders()
    encoder = TableEncoder().fit(rows)
    encoder.save(tmp_path / "encoder.mcm")
    again = modicum.load(tmp_path / "encoder.mcm")
    assert np.array_equal(again.transform(rows), encoder.transform(rows))
    assert again.decisions_ == encoder.decisions_


ODD = {
    "nulls": pa.table({"x": pa.nulls(30), "y": [i * 0.5 for i in range(30)]}),
    "nested": pa.table({"x": [[1, 2]] * 30, "y": [float(i * i) for i in range(30)]}),
    "decimals": pa.table({"y": pa.array([f"{i}.5" for i in range(30)]).cast(pa.decimal128(10, 2))}),
    "infinities": pa.table({"y": [np.inf, -np.inf, *(i * 0.5 for i in range(28))]}),
    "huge": pa.table({"y": [1e308, -1e308, *(i * 0.5 for i in range(28))]}),
    "times of day": pa.table({"y": pa.array([i * 60_000_000 for i in range(30)], pa.int64()).cast(pa.time64("us"))}),
    "zones": pa.table({"y": pa.array(range(30), pa.timestamp("s", "Europe/Berlin"))}),
    "durations": pa.table({"y": pa.array([i * i for i in range(30)], pa.duration("s"))}),
    "dictionary": pa.table({"y": pa.array(["a", "b", None] * 10).dictionary_encode()}),
    "binary": pa.table({"x": [b"\xff"] * 30, "y": [True, False] * 15}),
    "long strings": pa.table({"y": pa.array(["a" * 5000, "b"] * 15, pa.large_string())}),
    "emoji": pa.table({"é ü": ["😀", "🙃", "\x00"] * 10}),
}


@pytest.mark.parametrize("table", ODD.values(), ids=ODD)
def test_odd_columns_give_finite_numbers(table):
    encoder = TableEncoder().fit(table)
    Z = encoder.transform(table)
    assert Z.shape == (30, encoder.n_features_out_)
    assert np.isfinite(Z.data if hasattr(Z, "tocsr") else Z).all()
    assert len(encoder.get_feature_names_out()) == Z.shape[1]


def test_texts_that_are_all_numbers_are_numbers():
    encoder = TableEncoder().fit(pa.table({"t": [str(i % 9) for i in range(60)], "x": np.arange(60) % 7}))
    assert "t: numbers written as text" in encoder.summary_


def test_a_column_of_several_types_is_refused_by_its_name():
    with pytest.raises(DataError, match=r"not one type: .* column n .*Convert it"):
        TableEncoder().fit(pd.DataFrame({"n": [1, "a", None] * 10}))
