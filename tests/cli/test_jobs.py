"""First commands of seven jobs, without options, on files as people have them; and how good the answers are."""

import csv
import gzip
import io
import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from PIL import Image
from sklearn.compose import make_column_transformer
from sklearn.metrics import pairwise_distances_argmin_min
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import modicum
from modicum import ExemplarClustering, StreamSVC
from modicum.datasets import orders

NUMBERS = ["amount_cents", "weight_g", "items", "delivery_days", "rating"]


def lines(done):
    return [json.loads(line) for line in done.stdout.splitlines()]


def write_csv(path, columns):
    with open(path, "w", newline="") as file:
        out = csv.writer(file)
        out.writerow(columns)
        out.writerows(zip(*columns.values(), strict=True))


def read_csv(path):
    return list(csv.DictReader(io.StringIO(path.read_text())))


class TestAMessyFolder:
    @pytest.fixture
    def table(self, tmp_path):
        """All orders; they are in a folder, in files of different sizes, beside notes that are no data."""
        (tmp_path / "orders").mkdir()
        (tmp_path / "orders" / "README.md").write_text("exported on Monday\n")
        tables = list(orders(5000, chunk_size=2000))
        for i, part in enumerate(tables):
            pq.write_table(part, tmp_path / "orders" / f"part-{i}.parquet")
        return pa.concat_tables(tables)

    def test_picks_are_rows_of_the_files(self, modicum_command, table):
        done = modicum_command("select", "orders", "-k", 5)
        assert "learned from 1 time, 1 category, 6 numbers, 1 boolean; filled in gaps of rating; " in done.stderr
        assert "ignored: order_id (unique strings)" in done.stderr
        assert "skipped: " in done.stderr
        picks = lines(done)
        assert len(picks) == 5
        for pick in picks:
            original = table.slice(pick["position"], 1).to_pylist()[0]
            assert pick["file"] == f"orders/part-{pick['position'] // 2000}.parquet"
            assert pick["row"] == pick["position"] % 2000 + 1
            assert str(original.pop("placed")) == pick["placed"]
            assert original == {name: pick[name] for name in original}
        assert sum(pick["stands_for"] for pick in picks) == pytest.approx(5000, abs=1)

    def test_as_good_as_a_preparation_by_hand(self, modicum_command, table):
        """Picks are judged by the distances that a careful person would have made, without the kind."""
        frame = table.to_pandas()
        frame["rating"] = frame["rating"].fillna(frame["rating"].mean())
        for name in ("amount_cents", "weight_g", "delivery_days"):
            frame[name] = frame[name].astype(float)
        by_hand = make_column_transformer(
            (StandardScaler(), NUMBERS), (OneHotEncoder(sparse_output=False), ["country", "express"])
        )
        X = by_hand.fit_transform(frame)
        picks = lines(modicum_command("select", "orders", "-k", 10, "--exclude", "kind,placed", "--random-state", 0))
        expert = ExemplarClustering(10, random_state=0).learn(modicum.stream(X))
        ours, theirs = (
            float((pairwise_distances_argmin_min(X, X[ids])[1] ** 2).mean())
            for ids in ([pick["position"] for pick in picks], expert.exemplar_ids_)
        )
        print(f"messy orders: {ours:.4f} by the command, {theirs:.4f} by hand")
        assert ours <= 1.05 * theirs


def test_a_compressed_pipe(modicum_command):
    text = "city,rent,area\n" + "\n".join(
        f"{'Bern' if i % 3 else 'Basel'},{i % 3 * 900 + i % 7},{i % 11}" for i in range(600)
    )
    done = modicum_command("select", "-", "-k", 3, stdin=gzip.compress(text.encode()))
    assert "learned from 1 category, 2 numbers" in done.stderr
    rows = list(csv.DictReader(io.StringIO(text)))
    picks = lines(done)
    assert len(picks) == 3
    for pick in picks:
        assert {name: str(pick[name]) for name in ("city", "rent", "area")} == rows[pick["position"]]


def test_labels_that_are_words(modicum_command, tmp_path):
    rng = np.random.default_rng(0)
    y = rng.integers(2, size=1000)
    columns = {
        "id": [f"p{i:05}" for i in range(1000)],
        "income": (30_000 + 20_000 * y + rng.normal(0, 5000, 1000)).round(),
        "visits": rng.poisson(2 + 4 * y),
        "plan": np.where(rng.random(1000) < 0.2 + 0.6 * y, "gold", "basic"),
        "label": np.where(y, "stays", "leaves"),
    }
    for name, some in (("train", slice(800)), ("test", slice(800, None))):
        write_csv(tmp_path / f"{name}.csv", {key: column[some] for key, column in columns.items()})
    done = modicum_command("fit", "svc", "train.csv", "--target", "label")
    assert "learned from 2 numbers, 1 category; ignored: id (unique strings), label (the target)" in done.stderr
    done = modicum_command("predict", "state.mcm", "test.csv")
    found = [row["prediction"] for row in lines(done)]
    assert np.mean(np.array(found) == columns["label"][800:]) > 0.9


def test_numbers_with_intervals(modicum_command, tmp_path):
    rng = np.random.default_rng(0)
    area, age = rng.uniform(20, 200, 3000), rng.uniform(0, 100, 3000)
    y = 1000 * area + 50_000 * np.sin(age / 15) + rng.normal(0, 5000, 3000)
    for name, some in (("train", slice(2000)), ("test", slice(2000, None))):
        write_csv(tmp_path / f"{name}.csv", {"area": area[some], "age": age[some], "y": y[some]})
    done = modicum_command("fit", "gp", "train.csv", "--target", "y")
    assert "learned from 2 numbers; ignored: y (the target)" in done.stderr
    rows = lines(modicum_command("predict", "state.mcm", "test.csv"))
    mean, std = (np.array([row[name] for row in rows]) for name in ("prediction", "std"))
    errors = np.abs(y[2000:] - mean)
    assert np.sqrt(np.mean(errors**2)) < 1.1 * 5000  # the noise
    assert np.mean(errors < 1.96 * std) == pytest.approx(0.95, abs=0.02)  # three standard deviations of 1,000 draws


def test_clusters_of_unknown_number(modicum_command, tmp_path):
    rng = np.random.default_rng(0)
    kind = rng.integers(4, size=2000)
    columns = {
        "cents": np.array([1e4, 1e4, 9e4, 9e4])[kind] + rng.normal(0, 3e3, 2000),
        "share": np.array([0.1, 0.9, 0.1, 0.9])[kind] + rng.normal(0, 0.03, 2000),
    }
    write_csv(tmp_path / "rows.csv", columns)
    done = modicum_command("fit", "mixture", "rows.csv")
    assert "learned from 2 numbers\n" in done.stderr
    found = np.array([row["prediction"] for row in lines(modicum_command("predict", "state.mcm", "rows.csv"))])
    assert len(set(found)) == 4
    assert len(set(zip(found, kind, strict=True))) == 4  # one component for each kind
    centers = lines(modicum_command("picks", "state.mcm"))
    assert sorted(round(row["cents"], -4) for row in centers) == [1e4, 1e4, 9e4, 9e4]


def test_pictures_in_two_groups(modicum_command, tmp_path):
    rng = np.random.default_rng(0)
    (tmp_path / "photos").mkdir()
    for i in range(24):
        pixels = rng.integers(0, 60, size=(40, 50, 3))
        pixels[:, :, 0 if i % 2 else 2] += 180  # red or blue
        Image.fromarray(pixels.astype(np.uint8)).save(tmp_path / "photos" / f"{'red' if i % 2 else 'blue'}-{i}.png")
    command = ("select", "photos", "-k", 2, "--copy-to", "chosen", "--report", "r.html")
    done = modicum_command(*command)
    assert "learned from 1 image\n" in done.stderr
    picked = [pick["path"].rpartition("/")[2] for pick in lines(done)]
    assert sorted(name.partition("-")[0] for name in picked) == ["blue", "red"]
    assert "2 pictures copied to chosen" in done.stderr
    copied = {path.name: path.read_bytes() for path in (tmp_path / "chosen").iterdir()}
    for name in picked:
        (same,) = [copy for copy in copied if name in copy]
        assert copied[same] == (tmp_path / "photos" / name).read_bytes()
    html = (tmp_path / "r.html").read_text()
    assert all(name in html for name in picked)
    assert html.count("data:image/") >= 2


def test_lines_of_text(modicum_command, tmp_path):
    topics = {
        "parcel": "the parcel came {} days late and the box was open",
        "login": "i can not log in to my account since the update on {} may",
        "refund": "please refund my money for order number {} as you promised",
    }
    written = [text.format(i) for i in range(2, 22) for text in topics.values()]
    (tmp_path / "lines.txt").write_text("\n".join(written) + "\n")
    done = modicum_command("select", "lines.txt", "-k", 3)
    assert "learned from 1 text\n" in done.stderr
    picks = lines(done)
    assert [pick["text"] for pick in picks] == [written[pick["position"]] for pick in picks]
    assert sorted(word for pick in picks for word in topics if word.replace("login", "log in") in pick["text"]) == [
        *sorted(topics)
    ]
    assert [pick["stands_for"] for pick in picks] == pytest.approx([20, 20, 20])


def adult(n, seed):
    """Mixed columns such as those of a census, and a label that depends on all of them."""
    rng = np.random.default_rng(seed)
    job = rng.choice(["office", "craft", "farm", "care", "sales", "army"], n, p=[0.3, 0.2, 0.1, 0.2, 0.15, 0.05])
    married = rng.choice(["yes", "no", "was"], n, p=[0.45, 0.35, 0.2])
    age, years, hours = rng.uniform(17, 80, n), rng.integers(6, 17, n), rng.normal(40, 10, n).clip(1, 99).round()
    gain = np.where(rng.random(n) < 0.08, rng.lognormal(8, 1, n).round(), 0)
    worth = {"office": 1.0, "craft": 0.0, "farm": -1.0, "care": -0.3, "sales": 0.4, "army": 0.2}
    score = 0.03 * (age - 40) + 0.35 * (years - 10) + 0.04 * (hours - 40) + 1.5 * (married == "yes")
    score += np.array([worth[name] for name in job]) + 0.8 * (gain > 3000) - 1.8
    label = np.where(score + rng.logistic(0, 0.5, n) > 0, ">50K", "<=50K")
    numbers = {"age": age.round(), "years": years, "hours": hours, "gain": gain}
    return numbers | {"job": job, "married": married, "label": label}


def test_mixed_columns_as_well_as_a_preparation_by_hand(modicum_command, tmp_path):
    import pandas as pd

    train, test = adult(8000, 0), adult(8000, 1)
    write_csv(tmp_path / "train.csv", train)
    write_csv(tmp_path / "test.csv", test)
    by_hand = make_column_transformer(
        (StandardScaler(), ["age", "years", "hours", "gain"]),
        (OneHotEncoder(sparse_output=False), ["job", "married"]),
    )
    train, test = pd.DataFrame(train), pd.DataFrame(test)
    expert = StreamSVC(random_state=0).fit(by_hand.fit_transform(train), train["label"].to_numpy())
    theirs = expert.score(by_hand.transform(test), test["label"].to_numpy())
    modicum_command("fit", "svc", "train.csv", "--target", "label", "--random-state", 0)
    found = [row["prediction"] for row in lines(modicum_command("predict", "state.mcm", "test.csv"))]
    ours = np.mean(np.array(found) == test["label"])
    print(f"census: {ours:.4f} by the command, {theirs:.4f} by hand")
    assert ours >= theirs - 0.005
