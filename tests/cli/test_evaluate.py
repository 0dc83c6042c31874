"""`modicum evaluate`: the scores of the library, for one learner or several, in a table, a file and a picture."""

import csv
import json

import numpy as np
import pytest
from PIL import Image

import modicum
from modicum.cli.evaluate import make
from modicum.evaluate import prequential


@pytest.fixture
def turning(tmp_path):
    """Rows whose class turns over in the middle."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 2))
    y = (X[:, 0] > 0) ^ (np.arange(3000) >= 1500)
    np.save(tmp_path / "turning.npy", np.column_stack([X, y]))
    return X, y.astype(int)


def test_scores_are_those_of_the_library(modicum_command, turning, tmp_path):
    given = ("--target", 2, "--learner", "svm", "--lag", 70, "--window", 300, "--chunk-size", 50)
    done = modicum_command("evaluate", "turning.npy", *given, "-o", "scores.csv", "--plot", "scores.png")
    X, y = turning
    expected = prequential(modicum.StreamSVC(random_state=0), X, target=y, chunk_size=50, lag=70, window=300)
    (row,) = map(json.loads, done.stdout.splitlines())
    assert row["learner"] == "svm"
    assert row["metric"] == "accuracy"
    assert row["rows"] == 3000
    assert row["score"] == expected.score
    assert row["recent"] == expected.recent[-1]
    assert row["nbytes"] == expected.nbytes[-1]
    assert row["error_rose"] == str(expected.changes[0].since)
    assert f"the error rose at about row {expected.changes[0].since:,}" in done.stderr
    with open(tmp_path / "scores.csv") as file:
        curve = list(csv.DictReader(file))
    assert [float(point["n_seen"]) for point in curve] == expected.n_seen.tolist()
    assert [float(point["recent"]) for point in curve] == expected.recent.tolist()
    with Image.open(tmp_path / "scores.png") as picture:
        assert picture.size[0] > 500


def test_several_learners_are_compared(modicum_command, mail, tmp_path):
    learners = ("--learner", "svm", "--learner", "stream-svc(C=0.5, random_state=3)")
    done = modicum_command("evaluate", "mail.csv", "--target", "label", *learners, "--csv", "--plot", "both.svg")
    rows = list(csv.DictReader(done.stdout.splitlines()))
    assert [row["learner"] for row in rows] == ["svm", "stream-svc(C=0.5, random_state=3)"]
    assert all(0.8 < float(row["score"]) <= 1 for row in rows)
    text = (tmp_path / "both.svg").read_text()
    assert "stream-svc(C=0.5, random_state=3)" in text


def test_learners_without_targets(modicum_command, clusters, tmp_path):
    np.save(tmp_path / "rows.npy", clusters[:1000])
    (row,) = map(
        json.loads,
        modicum_command("evaluate", "rows.npy", "--learner", "kmeans(5)", "--metric", "loss").stdout.splitlines(),
    )
    assert row["metric"] == "loss"


@pytest.fixture
def sales(tmp_path):
    """Rows in the order of time; every fifth has no target."""
    rng = np.random.default_rng(0)
    lines = [
        f"2024-01-{1 + i // 1440} {i % 1440 // 60:02d}:{i % 60:02d},{i * i},{size:.3f},{'' if i % 5 == 4 else size > 0}"
        for i, size in enumerate(rng.normal(size=7000))
    ]
    (tmp_path / "sales.csv").write_text("\n".join(["when,total,size,kind", *lines]))


def test_rows_without_a_target_are_left_out(modicum_command, sales):
    given = ("sales.csv", "--target", "kind", "--exclude", "total", "--learner", "svm")
    refused = modicum_command("evaluate", *given, expect=1)
    assert "data row 5, column 'kind': missing target" in refused.stderr
    assert "leave them out with --missing drop" in refused.stderr
    done = modicum_command("evaluate", *given, "--missing", "drop")
    assert "1,400 bad rows left out, such as sales.csv: data row 5: no target" in done.stderr
    assert json.loads(done.stdout)["rows"] == 5600
    assert "sorted" not in done.stderr  # a column made of times may rise


def test_sorted_columns_are_named(modicum_command, sales):
    done = modicum_command("evaluate", "sales.csv", "--target", "kind", "--learner", "svm", "--missing", "drop")
    assert "sorted by column total" in done.stderr


def test_learners_by_name():
    assert repr(make("svm(C=2)")) == repr(modicum.StreamSVC(C=2, random_state=0))
    assert repr(make("krls")) == repr(modicum.KRLS())
    with pytest.raises(ValueError, match="no learner 'sieve'; there are sieve-streaming, sieve-streaming-plus-plus"):
        make("sieve")
    with pytest.raises(ValueError, match="no learner 'svn'; there are svm"):
        make("svn(C=2)")
    with pytest.raises(ValueError, match="C must be"):
        make("svm(C=-1)")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (("mail.csv", "--learner", "svm"), "StreamSVC needs --target"),
        (("mail.csv", "--target", "label", "--learner", "svm", "--plot", "x.csv"), "must end in .png, .svg, .pdf"),
        (("mail.csv", "--target", "label", "--learner", "svm", "--metric", "mse"), "metric must be"),
        (("mail.csv", "--target", "label", "--learner", "svm", "--lag", "500"), "no rows were scored"),
        (("mail.csv", "--target", "label", "--learner", "svm", "--chunk-size", "500"), "no rows were scored"),
        (("-", "--target", "label", "--learner", "svm", "--learner", "svm(C=1)"), "can be read only once"),
        (("mail.csv", "--target", "label", "--learner", "svm", "-o", "mail.csv"), "it is read as part of"),
    ],
)
def test_errors(modicum_command, mail, given, message):
    done = modicum_command("evaluate", *given, expect=1)
    assert message in done.stderr
    assert len(done.stderr.splitlines()) == 1 + done.stderr.count("learned from")
    assert done.stdout == ""
