"""`modicum picks`, and what `predict` and `show` tell about a saved learner."""

import csv
import io
import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import modicum
from modicum import (
    KRLS,
    ExemplarClustering,
    KMeansCoreset,
    MemoryBoundedMixture,
    OnlineGreedy,
    OnlineKMeans,
    Reservoir,
    SparseGPRegressor,
    StreamGaussianMixture,
    StreamKMeans,
    StreamSVC,
)
from modicum.cli.picks import held_columns
from modicum.kernels import RBF
from modicum.pipeline import TableEncoder, make_pipeline


def lines(done):
    return [json.loads(line) for line in done.stdout.splitlines()]


def learned(learner, table, tmp_path, **given):
    """The learner after all rows, as a state file."""
    learner.learn(modicum.stream(str(tmp_path / "rows.parquet"), **given)).save(tmp_path / "s.mcm")
    return learner


class TestPicks:
    def test_rows_as_select_prints_them(self, modicum_command, table, tmp_path):
        options = ("-k", 5, "--random-state", 0, "--save", "s.mcm")
        chosen = lines(modicum_command("select", "rows.parquet", *options))
        picked = lines(modicum_command("picks", "s.mcm"))
        assert list(picked[0]) == ["position", "exemplar", "stands_for", "f0", "f1", "f2", "f3", "name"]
        assert picked == chosen

    @pytest.mark.parametrize(
        ("learner", "given", "kind"),
        [
            (OnlineGreedy(5), {}, "prototype"),
            (Reservoir(5, random_state=0), {}, "point"),
            (KRLS(5), {"target": "f3"}, "prototype"),
            (SparseGPRegressor(5, kernel=RBF(9), noise=1.0), {"target": "f3"}, "active row"),
        ],
    )
    def test_every_kind_of_row(self, modicum_command, table, tmp_path, learner, given, kind):
        picks = learned(learner, table, tmp_path, **given).picks()
        done = modicum_command("picks", "s.mcm")
        rows = {row["position"]: row for row in lines(done)}
        assert set(rows) == set(picks.ids.tolist())
        for position, row in rows.items():
            assert picks.ids[row[kind]] == position
            assert row["f0"] == pytest.approx(float(table["f0"][position]))
        assert f"5 {kind}s of 6,000 rows" in done.stderr

    @pytest.mark.parametrize(
        ("learner", "number", "weight", "rows", "weights"),
        [
            (StreamKMeans(4, random_state=0), "center", "stands_for", "cluster_centers_", "cluster_sizes_"),
            (OnlineKMeans(4), "center", "stands_for", "cluster_centers_", "cluster_sizes_"),
            (StreamGaussianMixture(3, random_state=0), "component", "weight", "means_", "weights_"),
            (MemoryBoundedMixture(budget=200), "component", "weight", "means_", "weights_"),
        ],
    )
    def test_centers_and_components(self, modicum_command, table, tmp_path, learner, number, weight, rows, weights):
        model = learned(learner, table, tmp_path)
        found = lines(modicum_command("picks", "s.mcm"))
        assert [row[number] for row in found] == list(range(len(getattr(model, rows))))
        np.testing.assert_allclose([[row[f"f{i}"] for i in range(4)] for row in found], getattr(model, rows), rtol=1e-6)
        np.testing.assert_allclose([row[weight] for row in found], getattr(model, weights), atol=0.05)
        assert [row["name"] for row in found if "name" in row] == getattr(model, "component_names_", [])

    def test_points_of_a_summary(self, modicum_command, table, tmp_path):
        model = learned(KMeansCoreset(50, 3, random_state=0), table, tmp_path)
        points, weights = model.as_sample()
        found = lines(modicum_command("picks", "s.mcm"))
        np.testing.assert_allclose([row["weight"] for row in found], weights)
        np.testing.assert_allclose([[row[f"f{i}"] for i in range(4)] for row in found], points, rtol=1e-6)

    @pytest.mark.parametrize("ending", ["csv", "jsonl", "json", "parquet"])
    def test_endings(self, modicum_command, table, tmp_path, ending):
        learned(Reservoir(5, random_state=0), table, tmp_path)
        expected = lines(modicum_command("picks", "s.mcm"))
        done = modicum_command("picks", "s.mcm", "-o", f"p.{ending}")
        assert done.stdout == ""
        assert f"see p.{ending}" in done.stderr
        path = tmp_path / f"p.{ending}"
        read = {
            "csv": lambda: [
                {k: json.loads(v) for k, v in row.items()} for row in csv.DictReader(path.read_text().splitlines())
            ],
            "jsonl": lambda: [json.loads(line) for line in path.read_text().splitlines()],
            "json": lambda: json.loads(path.read_text()),
            "parquet": lambda: pq.read_table(path).to_pylist(),
        }
        assert read[ending]() == expected

    def test_csv_and_table_on_stdout(self, modicum_command, table, tmp_path):
        learned(Reservoir(5), table, tmp_path)
        assert modicum_command("picks", "s.mcm", "--csv").stdout.startswith("position,point,stands_for,f0,f1,f2,f3\n")
        assert "stands_for" in modicum_command("picks", "s.mcm", "--table").stdout

    def test_rows_without_names(self, modicum_command, tmp_path):
        Reservoir(2).fit(np.eye(2)).save(tmp_path / "s.mcm")
        assert [row["x0"] for row in lines(modicum_command("picks", "s.mcm"))] == [1.0, 0.0]

    def test_columns_named_like_facts_are_kept(self, table):
        rows = pa.table({"f0": table["f0"], "name": table["name"], "exemplar": np.arange(6000) % 7})
        pipeline = make_pipeline(TableEncoder(columns=["f0"]), ExemplarClustering(3, random_state=0)).fit(rows)
        kind, columns = held_columns(pipeline, "s.mcm")
        assert kind == "exemplar"
        assert list(columns) == ["position", "modicum_exemplar", "stands_for", "f0", "name", "exemplar"]
        assert columns["name"].to_pylist() == [f"row {i}" for i in columns["position"]]
        assert columns["stands_for"].tolist() == sorted(columns["stands_for"], reverse=True)

    def test_nothing_to_print(self, modicum_command, mail, tmp_path):
        StreamSVC().fit(*mail).save(tmp_path / "s.mcm")
        assert "a StreamSVC holds no rows" in modicum_command("picks", "s.mcm", expect=1).stderr
        Reservoir(5).save(tmp_path / "new.mcm")
        assert "has not seen any rows yet" in modicum_command("picks", "new.mcm", expect=1).stderr

    def test_an_empty_array_of_objects(self, modicum_command, tmp_path):
        from modicum.cli.output import writer

        with writer(tmp_path / "p.json") as write:
            write({"a": []})
        assert json.loads((tmp_path / "p.json").read_text()) == []


class TestKeep:
    def test_columns_are_carried_along(self, modicum_command, table, tmp_path):
        model = learned(ExemplarClustering(3, random_state=0), table, tmp_path)
        options = ("--keep", "name,f2", "--chunk-size", 700)
        rows = lines(modicum_command("predict", "s.mcm", "rows.parquet", *options))
        assert list(rows[0]) == ["row", "prediction", "exemplar", "dissimilarity", "name", "f2"]
        assert [row["name"] for row in rows] == table["name"]
        X = np.column_stack([table[f"f{i}"] for i in range(4)])
        assert [row["prediction"] for row in rows] == model.predict(X).tolist()

    def test_all_columns_to_a_file(self, modicum_command, table, tmp_path):
        learned(OnlineKMeans(3), table, tmp_path)
        modicum_command("predict", "s.mcm", "rows.parquet", "--keep", "all", "-o", "p.parquet")
        found = pq.read_table(tmp_path / "p.parquet")
        assert found.column_names == ["row", "prediction", "f0", "f1", "f2", "f3", "name"]
        assert found["name"].to_pylist() == table["name"]

    def test_a_column_named_like_a_fact(self, modicum_command, tmp_path):
        (tmp_path / "rows.csv").write_text("a,prediction\n1,yes\n2,no\n")
        OnlineKMeans(1).fit(np.ones((2, 1))).save(tmp_path / "s.mcm")
        done = modicum_command("predict", "s.mcm", "rows.csv", "--columns", "a", "--keep", "prediction", "--csv")
        assert list(csv.DictReader(io.StringIO(done.stdout)))[1] == {
            "row": "1",
            "modicum_prediction": "0",
            "prediction": "no",
        }

    @pytest.mark.parametrize(
        ("source", "keep", "words"),
        [
            ("rows.parquet", "nam", "--keep nam: no such column in rows.parquet. There are: f0, f1, f2, f3, name."),
            ("rows.npy", "f0", "rows.npy has no names of columns"),
            ("-", "f0", "can be read only once"),
        ],
    )
    def test_refused(self, modicum_command, table, tmp_path, source, keep, words):
        OnlineKMeans(1).fit(np.ones((2, 4))).save(tmp_path / "s.mcm")
        np.save(tmp_path / "rows.npy", np.ones((2, 4)))
        text = "f0,f1,f2,f3\n1,2,3,4\n"
        done = modicum_command("predict", "s.mcm", source, "--keep", keep, stdin=text, expect=1)
        assert words in done.stderr
        assert done.stdout == ""


@pytest.mark.parametrize("name", modicum.LEARNERS)
def test_one_name_for_what_is_predicted(name):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(300, 2)), np.repeat([0, 1], 150)
    learner = getattr(modicum, name)().fit(X, y)
    if not any(hasattr(learner, answer) for answer in ("predict", "transform")):
        with pytest.raises(ValueError, match="makes no predictions"):
            learner.table(X)
        return
    answers = learner.table(X)
    assert next(iter(answers)) == "prediction"
    if hasattr(learner, "predict"):
        np.testing.assert_array_equal(answers["prediction"], learner.predict(X))


class TestShow:
    def test_numbers_are_numbers(self, modicum_command, table, tmp_path):
        model = learned(ExemplarClustering(5, budget="1 MiB", random_state=0), table, tmp_path)
        facts = json.loads(modicum_command("show", "s.mcm", "--json").stdout)
        assert facts["learner"] == "ExemplarClustering"
        assert facts["params"]["n_exemplars"] == 5
        assert facts["params"]["budget"] == "1 MiB"
        assert (facts["rows_seen"], facts["n_columns"]) == (6000, 4)
        assert facts["columns"] == ["f0", "f1", "f2", "f3"]
        assert (facts["held_rows"], facts["nbytes"]) == (model.n_retained_, model.nbytes_)
        assert (facts["loss"], facts["utility"]) == (model.loss_, model.utility_)
        assert facts["clusters"] == {"count": 5, "sizes": model.cluster_sizes_.tolist()}
        assert facts["history"]["utility"] == model.history_["utility"].tolist()
        assert facts["guarantee"]["confidence"] == 0.95
        assert facts["guarantee"]["text"] == str(model.guarantee())

    def test_a_classifier(self, modicum_command, mail, tmp_path):
        model = StreamSVC().fit(*mail)
        model.save(tmp_path / "s.mcm")
        facts = json.loads(modicum_command("show", "s.mcm", "--json").stdout)
        assert facts["classes"] == ["ham", "spam"]
        assert facts["accuracy"] == model.accuracy_
        assert [one["C"] for one in facts["candidates"]] == [one["C"] for one in model.candidates_]
        assert facts["columns"] is None

    @pytest.mark.parametrize("name", modicum.LEARNERS)
    def test_every_learner_is_json_with_names_for_machines(self, modicum_command, tmp_path, name):
        rng = np.random.default_rng(0)
        learner = getattr(modicum, name)()
        learner.save(tmp_path / "new.mcm")
        assert json.loads(modicum_command("show", "new.mcm", "--json").stdout)["rows_seen"] == 0
        learner.fit(rng.normal(size=(200, 2)), np.repeat([0, 1], 100)).save(tmp_path / "s.mcm")

        def refuse(word):
            raise AssertionError(f"{word} is not JSON")

        facts = json.loads(modicum_command("show", "s.mcm", "--json").stdout, parse_constant=refuse)
        assert facts["rows_seen"] == 200
        assert all(key.isidentifier() and key.islower() for key in facts)

    def test_a_checkpoint(self, modicum_command, table):
        modicum_command("fit", "sample", "rows.parquet", "-k", 5, "--checkpoint", "c.mcm", "-o", "s.mcm")
        facts = json.loads(modicum_command("show", "c.mcm", "--json").stdout)
        assert facts["checkpoint"] == {"finished": True, "position": 6000}
        assert "checkpoint  finished at row 6,000" in modicum_command("show", "c.mcm").stdout

    def test_columns_for_people(self, modicum_command, table, tmp_path):
        learned(Reservoir(5), table, tmp_path)
        assert "  columns  f0, f1, f2, f3\n" in modicum_command("show", "s.mcm").stdout


class TestCertify:
    def test_text_and_numbers(self, modicum_command, table):
        modicum_command("fit", "online-greedy", "rows.parquet", "-k", 5, "-o", "s.mcm")
        done = modicum_command("certify", "s.mcm", "rows.parquet")
        assert done.stdout.startswith("The value of the chosen rows is")
        found = json.loads(modicum_command("certify", "s.mcm", "rows.parquet", "--json").stdout)
        assert found["text"] == done.stdout.strip()
        assert found["n_rows"] == len(table["f0"])
        assert 0 < found["share"] <= 1

    def test_arrays(self, modicum_command, clusters, tmp_path):
        np.save(tmp_path / "X.npy", clusters)
        modicum_command("fit", "exemplar", "X.npy", "-k", 5, "--random-state", 0, "-o", "s.mcm")
        model = modicum.load(tmp_path / "s.mcm")
        found = json.loads(modicum_command("certify", "s.mcm", "X.npy", "--json").stdout)
        assert found["value"] == pytest.approx(model.utility_)

    def test_what_has_no_value(self, modicum_command, clusters, tmp_path):
        np.save(tmp_path / "X.npy", clusters)
        modicum_command("fit", "reservoir", "X.npy", "-k", 5, "-o", "s.mcm")
        done = modicum_command("certify", "s.mcm", "X.npy", expect=1)
        assert "Reservoir has no value that could be certified" in done.stderr
