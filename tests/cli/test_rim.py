"""RIM on the command line: what it finds, how sure that is, and labels of some rows."""

import csv
import io
import json

import numpy as np
import pytest
from sklearn.datasets import dump_svmlight_file

import modicum
from modicum.cli.show import command as show
from modicum.pipeline import final_learner

GIVEN = ("--regularization", 0.003, "--random-state", 0)


@pytest.fixture(scope="module")
def blobs():
    """Three blobs in two columns, and their numbers."""
    rng = np.random.default_rng(0)
    kinds = rng.integers(0, 3, 300)
    return 8 * np.array([[0, 0], [1, 0], [0, 1]])[kinds] + rng.normal(size=(300, 2)), kinds


@pytest.fixture
def write(tmp_path, blobs):
    """Write the blobs with a column of labels, of which one in ten is known."""

    def write(labels, name="partly.csv"):
        X, _ = blobs
        cells = [label if i % 10 == 0 else "" for i, label in enumerate(labels)]
        lines = [f"{a:.4f},{b:.4f},{cell}" for (a, b), cell in zip(X, cells, strict=True)]
        (tmp_path / name).write_text("\n".join(["a,b,kind", *lines]))

    return write


def printed(done):
    return list(csv.DictReader(io.StringIO(done.stdout)))


def told(path, capsys):
    """What `show` prints, by name."""
    capsys.readouterr()
    show(path)
    return dict(line.strip().split("  ", 1) for line in capsys.readouterr().out.splitlines() if "  " in line.strip())


class TestClusters:
    def test_fit_and_predict(self, modicum_command, blobs, tmp_path):
        X, _ = blobs
        np.save(tmp_path / "rows.npy", X)
        modicum_command("fit", "rim", "rows.npy", *GIVEN, "-o", "m.mcm", "--report", "r.html")
        model = modicum.RIM(regularization=0.003, random_state=0).learn(modicum.stream(X))
        rows = printed(modicum_command("predict", "m.mcm", "rows.npy", "--csv"))
        assert list(rows[0]) == ["row", "prediction", "probability", "entropy"]
        assert [int(row["prediction"]) for row in rows] == model.predict(X).tolist()
        np.testing.assert_allclose([float(row["entropy"]) for row in rows], model.conditional_entropy(X), atol=1e-6)
        assert "3 clusters found in 300 rows" in (tmp_path / "r.html").read_text()

    def test_typical_rows_are_picks(self, modicum_command, write, blobs):
        write(["x"] * 300)
        modicum_command("fit", "rim", "partly.csv", "--columns", "a,b", *GIVEN, "-o", "m.mcm")
        rows = printed(modicum_command("picks", "m.mcm", "--csv"))
        assert list(rows[0]) == ["position", "typical row", "stands_for", "a", "b", "kind"]
        sizes = [float(row["stands_for"]) for row in rows]
        assert sizes == sorted(sizes, reverse=True)
        assert sum(sizes) == pytest.approx(300, abs=0.2)
        assert sorted(blobs[1][[int(row["position"]) for row in rows]]) == [0, 1, 2]

    def test_features_are_those_of_rim_or_of_pictures(self, modicum_command, write, tmp_path):
        write(["x"] * 300)
        modicum_command("fit", "rim", "partly.csv", "--features", "diffusion", "-k", 3, *GIVEN, "-o", "m.mcm")
        assert final_learner(modicum.load(tmp_path / "m.mcm")).features == "diffusion"
        modicum_command("fit", "rim", "partly.csv", "--features", "descriptors", *GIVEN, "-o", "m.mcm")
        assert final_learner(modicum.load(tmp_path / "m.mcm")).features == "linear"
        done = modicum_command("fit", "rim", "partly.csv", "--features", "magic", expect=1)
        assert "magic" in done.stderr

    def test_k_is_the_number_of_clusters(self, modicum_command, write, tmp_path):
        write(["x"] * 300)
        modicum_command("fit", "kernel-rim", "partly.csv", "-k", 4, *GIVEN, "--n-prototypes", 20, "-o", "m.mcm")
        model = final_learner(modicum.load(tmp_path / "m.mcm"))
        assert (model.n_clusters, model.n_prototypes, model.n_clusters_) == (4, 20, 4)

    @pytest.mark.parametrize(
        ("option", "value", "words"),
        [
            (
                "--regularization",
                -1,
                'regularization must be "auto", or a number strictly between 0 and 1e+06; got -1.',
            ),
            ("--prior", "big", "prior must be"),
            ("--n-clusters", 0, "n_clusters must be a positive int"),
            ("--tau", "x", 'tau must be "auto"'),
        ],
    )
    def test_wrong_options(self, modicum_command, write, option, value, words):
        write(["x"] * 300)
        assert words in modicum_command("fit", "rim", "partly.csv", option, value, expect=1).stderr


class TestShow:
    def test_clusters_and_how_they_were_chosen(self, blobs, tmp_path, capsys):
        model = modicum.RIM(8, random_state=0).fit(blobs[0])
        model.save(tmp_path / "m.mcm")
        facts = told(tmp_path / "m.mcm", capsys)
        largest = int(model.weights_.argmax())
        assert facts["clusters"].startswith(f"3: cluster {largest} {model.weights_[largest]:.1%}, ")
        assert facts["regularization"].startswith(f"{model.regularization_:.4g}, chosen by stability: ")
        assert "not sure" not in facts
        assert "labels" not in facts

    def test_doubt(self, tmp_path, capsys):
        model = modicum.RIM(8, random_state=0).fit(np.random.default_rng(0).normal(size=(200, 2)))
        model.save(tmp_path / "m.mcm")
        assert "there may be no clusters" in told(tmp_path / "m.mcm", capsys)["not sure"]

    @pytest.mark.parametrize(
        ("given", "words"), [({"regularization": 0.003}, "as given"), ({"n_clusters": 3}, "chosen to keep 3 clusters")]
    )
    def test_other_choices(self, blobs, tmp_path, capsys, given, words):
        modicum.RIM(8, random_state=0, **given).fit(blobs[0]).save(tmp_path / "m.mcm")
        assert told(tmp_path / "m.mcm", capsys)["regularization"].endswith(words)

    def test_json(self, blobs, tmp_path, capsys):
        model = modicum.RIM(8, random_state=0).fit(blobs[0])
        model.save(tmp_path / "m.mcm")
        show(tmp_path / "m.mcm", as_json=True)
        facts = json.loads(capsys.readouterr().out)
        assert facts["clusters"]["names"] == [0, 1, 2]
        assert sum(facts["clusters"]["sizes"]) == pytest.approx(300)
        assert facts["choice"]["score"] == model.choice_["score"].tolist()
        assert facts["is_sure"] is True


class TestLabels:
    @pytest.mark.parametrize("words", [["low", "right", "high"], [3, 7, 9], ["false", "true", "true"]])
    def test_blank_cells_are_rows_without_a_label(self, modicum_command, write, blobs, tmp_path, capsys, words):
        labels = np.array(words)[blobs[1]]
        write(labels)
        modicum_command("fit", "rim", "partly.csv", "--target", "kind", *GIVEN, "-o", "m.mcm")
        n_classes = len(set(words))
        assert told(tmp_path / "m.mcm", capsys)["labels"] == f"30 of 300 rows, of {n_classes} classes"
        found = [row["prediction"] for row in printed(modicum_command("predict", "m.mcm", "partly.csv", "--csv"))]
        wanted = [{"false": "0", "true": "1"}.get(label, label) for label in labels.astype(str)]
        assert np.mean(np.array(found) == wanted) > 0.95

    def test_labels_that_look_like_keys_of_rows(self, modicum_command, write, blobs):
        labels = np.array([2**50, 2**51, 2**52])[blobs[1]]
        write(labels)
        modicum_command("fit", "rim", "partly.csv", "--target", "kind", *GIVEN, "-o", "m.mcm")
        found = [int(row["prediction"]) for row in printed(modicum_command("predict", "m.mcm", "partly.csv", "--csv"))]
        assert np.mean(found == labels) > 0.95

    def test_no_label_at_all(self, modicum_command, write, tmp_path):
        write([""] * 300)
        modicum_command("fit", "rim", "partly.csv", "--target", "kind", *GIVEN, "-o", "m.mcm")
        assert modicum.load(tmp_path / "m.mcm").n_clusters_ == 3

    def test_columns_of_arrays(self, modicum_command, blobs, tmp_path):
        known = np.where(np.arange(300) % 10 == 0, blobs[1], np.nan)
        np.save(tmp_path / "rows.npy", np.column_stack([blobs[0], known]))
        modicum_command("fit", "rim", "rows.npy", "--target", 2, *GIVEN, "-o", "m.mcm")
        model = modicum.load(tmp_path / "m.mcm")
        assert sorted(model.classes_) == [0, 1, 2]
        assert np.mean(model.predict(blobs[0]) == blobs[1]) > 0.95

    def test_labels_of_svmlight_files_are_not_for_clusters(self, modicum_command, blobs, tmp_path):
        dump_svmlight_file(blobs[0], blobs[1] + 5, str(tmp_path / "rows.svm"))
        modicum_command("fit", "rim", "rows.svm", *GIVEN, "-o", "m.mcm")
        assert modicum.load(tmp_path / "m.mcm").classes_.tolist() == [0, 1, 2]

    def test_names_do_not_fit_in_an_array(self, modicum_command, write, blobs):
        write(np.array(["low", "right", "high"])[blobs[1]])
        modicum_command("fit", "rim", "partly.csv", "--target", "kind", *GIVEN, "-o", "m.mcm")
        done = modicum_command("predict", "m.mcm", "partly.csv", "-o", "p.npy", expect=1)
        assert "classes have names" in done.stderr

    def test_other_learners_refuse_blank_cells(self, modicum_command, write, blobs):
        write(np.array(["low", "right", "high"])[blobs[1]])
        done = modicum_command("fit", "svm", "partly.csv", "--target", "kind", expect=1)
        assert "partly.csv: data row 2, column 'kind': missing target." in done.stderr

    def test_more_classes_than_clusters(self, modicum_command, write, blobs):
        write(np.array(["low", "right", "high"])[blobs[1]])
        done = modicum_command("fit", "rim", "partly.csv", "--target", "kind", "--max-clusters", 2, expect=1)
        assert "there are 3 classes, but at most 2 clusters" in done.stderr


def test_a_table_as_people_have_them(modicum_command, tmp_path):
    """Sorted, unscaled, half empty, with words and a constant."""
    rng = np.random.default_rng(0)
    kinds = np.sort(rng.integers(0, 3, 240))
    cells = [f"{1e6 * k + 1e5 * rng.normal():.0f}" if rng.random() > 0.5 else "" for k in kinds]
    lines = [f"{cell},{'xyz'[k]},{rng.normal():.3g},7" for cell, k in zip(cells, kinds, strict=True)]
    (tmp_path / "rows.csv").write_text("\n".join(["price,kind,noise,seven", *lines]))
    modicum_command("fit", "rim", "rows.csv", *GIVEN, "-o", "m.mcm", "--report", "r.html")
    assert "Typical rows" in (tmp_path / "r.html").read_text()


@pytest.mark.parametrize("n_rows", [1, 5])
def test_hardly_any_rows(modicum_command, tmp_path, n_rows):
    (tmp_path / "rows.csv").write_text("\n".join(["a,b", *(f"{i},{i * i % 3}" for i in range(n_rows))]))
    modicum_command("fit", "rim", "rows.csv", "--random-state", 0, "-o", "m.mcm", "--report", "r.html")
    modicum_command("predict", "m.mcm", "rows.csv")
    assert f"found in {n_rows} row" in (tmp_path / "r.html").read_text()
