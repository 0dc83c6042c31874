"""`modicum select` with --balance, --include, --drop-duplicates, --outliers and --weight."""

import csv
import io
import json

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy.spatial.distance import cdist, pdist

from modicum.cli.picker import parse_balance


@pytest.fixture
def animals(tmp_path):
    """A CSV file with two numbers, a label, a number that is a label as well, and a weight."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(900, 2)).round(2)
    X[500:600] = X[:100]
    labels = rng.choice(["cat", "dog", "fox"], size=900, p=[0.9, 0.09, 0.01])
    lines = [f"{a},{b},{label},{i % 3},{i % 2}" for i, ((a, b), label) in enumerate(zip(X, labels, strict=True))]
    (tmp_path / "a.csv").write_text("\n".join(["x,y,label,n,w", *lines]))
    return X, labels


def lines(done):
    return [json.loads(line) for line in done.stdout.splitlines()]


def read(path):
    return list(csv.DictReader(io.StringIO(path.read_text())))


def features(picks):
    return np.array([[float(pick["x"]), float(pick["y"])] for pick in picks])


OBJECTIVES = ["exemplar", "logdet", "variance"]
COMMAND = ("select", "a.csv", "--columns", "x,y", "--scale", "none")  # distances are those of the columns as they are


class TestBalance:
    @pytest.mark.parametrize("objective", OBJECTIVES)
    def test_equal_quotas(self, modicum_command, animals, objective):
        done = modicum_command(*COMMAND, "-k", 10, "--balance", "label", "--objective", objective)
        assert sorted(pick["label"] for pick in lines(done)) == ["cat"] * 4 + ["dog"] * 3 + ["fox"] * 3
        assert "label: cat (4), dog (3), fox (3)" in done.stderr

    def test_given_quotas(self, modicum_command, animals):
        _, labels = animals
        n_foxes = int((labels == "fox").sum())
        done = modicum_command(*COMMAND, "--balance", "label=cat:2,fox:300,owl:3")
        assert sorted(pick["label"] for pick in lines(done)) == ["cat"] * 2 + ["fox"] * n_foxes
        assert f"cat (2), fox ({n_foxes} of 300), owl (0 of 3)" in done.stderr

    def test_the_column_is_not_learned_from(self, modicum_command, animals):
        done = modicum_command("select", "a.csv", "-k", 6, "--balance", "n", "--weight", "w", "--save", "s.mcm")
        assert sorted(pick["n"] for pick in lines(done)) == [0, 0, 1, 1, 2, 2]
        assert "columns  3 of 5: x, y, label\n" in modicum_command("show", "s.mcm").stdout

    def test_a_pipe_has_the_groups_too(self, modicum_command, animals, tmp_path):
        text = (tmp_path / "a.csv").read_text()
        done = modicum_command("select", "-", "-k", 3, "--columns", "x,y", "--balance", "label", stdin=text)
        assert sorted(pick["label"] for pick in lines(done)) == ["cat", "dog", "fox"]

    def test_a_report_and_a_checkpoint(self, modicum_command, animals, tmp_path):
        command = (*COMMAND, "-k", 6, "--balance", "label", "--report", "r.html", "--checkpoint", "c.mcm")
        first = modicum_command(*command, "--random-state", 0)
        assert lines(modicum_command(*command, "--random-state", 0)) == lines(first)
        assert "BalancedSelection" in (tmp_path / "r.html").read_text()

    def test_columns_with_signs_in_their_names(self):
        assert parse_balance("a:b") == ("a:b", "equal")
        assert parse_balance("day=2024-01-01 10:30:5,b:c:1") == ("day", {"2024-01-01 10:30": 5, "b:c": 1})


class TestInclude:
    def test_new_picks_complement_the_old(self, modicum_command, animals, tmp_path):
        X, _ = animals
        modicum_command(*COMMAND, "-k", 5, "--random-state", 0, "-o", "old.csv")
        old, new = read(tmp_path / "old.csv"), lines(modicum_command(*COMMAND, "-k", 4, "--include", "old.csv"))
        assert len(new) == 4
        assert all(pick["position"] >= 0 and "label" in pick for pick in new)
        assert cdist(features(old), features(new)).min() > 0
        both = cdist(X, np.concatenate([features(old), features(new)]), "sqeuclidean").min(axis=1).mean()
        assert both < cdist(X, features(old), "sqeuclidean").min(axis=1).mean()

    def test_as_good_as_the_slow_twin(self, modicum_command, animals, tmp_path):
        """One more row: the best of all."""
        X, _ = animals
        (tmp_path / "old.csv").write_text("y,extra,x\n0.0,hello,1.5\n0.5,you,-1.5\n")
        new = lines(modicum_command(*COMMAND, "-k", 1, "--include", "old.csv", "--min-gain", 0))
        near = cdist(X, [[1.5, 0.0], [-1.5, 0.5]], "sqeuclidean").min(axis=1)
        losses = np.minimum(cdist(X, X, "sqeuclidean"), near).mean(axis=1)
        assert losses[new[0]["position"]] <= losses.min() * 1.001

    def test_a_pipe(self, modicum_command, animals, tmp_path):
        modicum_command(*COMMAND, "-k", 5, "-o", "old.parquet", "--save", "old.mcm")
        text = (tmp_path / "a.csv").read_text()
        command = ("select", "-", "--prepare-like", "old.mcm", "-k", 3, "--include", "old.parquet")
        assert len(lines(modicum_command(*command, stdin=text))) == 3

    def test_arrays(self, modicum_command, tmp_path):
        X = np.random.default_rng(0).normal(size=(100, 2))
        np.save(tmp_path / "X.npy", X)
        np.save(tmp_path / "old.npy", X[:3])
        new = lines(modicum_command("select", "X.npy", "-k", 3, "--include", "old.npy"))
        assert not {pick["position"] for pick in new} & {0, 1, 2}


@pytest.mark.parametrize("objective", OBJECTIVES)
@pytest.mark.parametrize("distance", [0, 0.5])
def test_drop_duplicates(modicum_command, animals, objective, distance):
    picks = lines(modicum_command(*COMMAND, "-k", 20, "--objective", objective, "--drop-duplicates", distance))
    assert len(picks) == 20
    assert pdist(features(picks)).min() > distance


class TestOutliers:
    @pytest.mark.parametrize("objective", OBJECTIVES)
    def test_rows_least_like_any_pick(self, modicum_command, animals, tmp_path, objective):
        X, labels = animals
        command = (*COMMAND, "-k", 5, "--objective", objective, "--outliers", 7, "-o", "picks.csv")
        done = modicum_command(*command, "--passes", 2)
        assert "7 outliers in picks.outliers.csv" in done.stderr
        picks, outliers = read(tmp_path / "picks.csv"), read(tmp_path / "picks.outliers.csv")
        D = cdist(X, features(picks), "sqeuclidean").min(axis=1)
        positions = [int(row["position"]) for row in outliers]
        assert_array_equal(D[positions], np.sort(D)[::-1][:7])
        assert [row["label"] for row in outliers] == labels[positions].tolist()
        scores = [float(row["outlier"]) for row in outliers]
        assert scores == sorted(scores, reverse=True)
        assert {row["nearest"] for row in outliers} <= {row["position"] for row in picks}
        if objective == "exemplar":
            assert scores == pytest.approx(D[positions])

    def test_arrays_and_groups(self, modicum_command, animals, tmp_path):
        np.save(tmp_path / "X.npy", animals[0])
        modicum_command("select", "X.npy", "-k", 3, "--outliers", 2, "-o", "p.npy")
        assert np.load(tmp_path / "p.outliers.npy").shape == (2, 5)
        modicum_command(*COMMAND, "-k", 3, "--balance", "label", "--outliers", 2, "-o", "p.parquet")
        assert (tmp_path / "p.outliers.parquet").is_file()


@pytest.mark.parametrize("objective", [*OBJECTIVES, "error"])
def test_rows_without_weight_are_never_picked(modicum_command, animals, objective):
    extra = ["--target", "n"] if objective == "error" else []
    done = modicum_command(*COMMAND, "-k", 5, "--objective", objective, "--weight", "w", *extra)
    picks = lines(done)
    assert len(picks) == 5
    assert all(pick["w"] == 1 for pick in picks)
    assert "of 450 rows" in done.stderr


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--balance", "lable"], "Did you mean 'label'?"),
        (["--balance", ""], "--balance takes a column"),
        (["--balance", "label="], "label=cat:50,dog:30"),
        (["--balance", "label=cat"], "label=cat:50,dog:30"),
        (["--balance", "label=cat:-1"], "label=cat:50,dog:30"),
        (["--balance", "label=cat:0"], "label=cat:50,dog:30"),
        (["--balance", "label=cat:1,cat:2"], "label=cat:50,dog:30"),
        (["--balance", "label=cow:1"], "no row has one of these values in the column label: cow"),
        (["--balance", "label=cat:5", "-k", "7"], "-k 7, but the quotas of --balance sum to 5"),
        (["--balance", "x"], "take it out of --columns"),
        (["--balance", "w", "--weight", "w"], "take it out of --weight"),
        (["--balance", "label", "--target", "n"], "only one of them can be read"),
        (["--balance", "label", "--objective", "error"], "needs targets, but y has the groups"),
        (["--balance", "label", "--max-groups", "2"], "y has 3 values so far, and max_groups is 2"),
        (["--balance", "label", "--max-groups", "0"], "max_groups must be a positive int"),
        (["--balance", "label", "--include", "a.csv"], "--include can't be combined with --balance"),
        (["--max-groups", "5"], "--max-groups is for --balance"),
        (["--weight", "label"], "label"),
        (["--weight", "x"], "non-negative"),
        (["--include", "nowhere.csv"], "nowhere.csv"),
        (["--include", "other.csv"], "modicum: other.csv: no column 'y', which was learned from. There are: x."),
        (
            ["--include", "words.csv"],
            "modicum: words.csv: data row 1, column 'y' is a number, but 'a' is not a number.",
        ),
        (["--include", "gap.csv", "--missing", "error"], "gap.csv: data row 1, column 'y': missing value"),
        (["--include", "none.csv"], "none.csv"),
        (["--include", "a.csv", "--objective", "logdet"], "--include is for --objective exemplar alone"),
        (["--include", "gap.csv", "--locked", "1,2"], "--include and --locked both give rows"),
        (["--drop-duplicates", "-1"], "must be a distance of at least 0; got -1"),
        (["--drop-duplicates", "nan"], "must be a distance of at least 0; got nan"),
        (["--drop-duplicates", "0", "--min-distance", "1"], "give one of them"),
        (["--drop-duplicates", "0", "--confidence", "0.9"], "can't be combined with confidence"),
        (["--outliers", "0", "-o", "p.csv"], "--outliers must be a positive number"),
        (["--outliers", "3"], "--outliers needs -o"),
    ],
)
def test_hostile_options_give_one_line(modicum_command, animals, tmp_path, options, message):
    (tmp_path / "other.csv").write_text("x\n1\n")
    (tmp_path / "words.csv").write_text("x,y\n1,a\n")
    (tmp_path / "gap.csv").write_text("x,y\n1,\n")
    (tmp_path / "none.csv").write_text("x,y\n")
    done = modicum_command(*COMMAND, *options, expect=1)
    *before, told = done.stderr.splitlines()
    assert message in told
    assert len(before) == ("cow" in message)  # only then are the rows read: it says what was learned from


def test_outliers_and_included_rows_from_a_pipe(modicum_command, animals, tmp_path):
    text = (tmp_path / "a.csv").read_text()
    done = modicum_command("select", "-", "--outliers", 3, "-o", "p.csv", stdin=text, expect=1)
    assert "reads the source again, and standard input can't be" in done.stderr
    done = modicum_command("select", "-", "--include", "a.csv", stdin=text, expect=1)
    assert "can be read only once" in done.stderr
    assert "--prepare-like" in done.stderr
