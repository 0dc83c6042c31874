"""`modicum coreset`, and the other commands with learners that keep a coreset."""

import csv
import io
import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import modicum
from modicum import KMeansCoreset, MixtureCoreset, StreamKMeans
from modicum.cli.coreset import MODELS
from modicum.cli.progress import Progress
from modicum.cli.run import Job
from modicum.pipeline import final_learner

GIVEN = ("--n-points", 200, "-k", 5, "--random-state", 0)


def features(table):
    """The numbers of a table as --scale none gives them."""
    return np.column_stack([table[f"f{i}"] for i in range(4)]).astype(np.float64)


class TestCoreset:
    def test_points_have_the_columns_of_the_source(self, modicum_command, table, tmp_path):
        written = ("-o", "core.parquet", "--save", "core.mcm")
        done = modicum_command("coreset", "rows.parquet", *GIVEN, "--scale", "none", *written)
        points = pq.read_table(tmp_path / "core.parquet").to_pydict()
        assert list(points) == ["f0", "f1", "f2", "f3", "weight"]
        assert sum(points["weight"]) == pytest.approx(6000)
        coreset = KMeansCoreset(200, 5, random_state=0).learn(modicum.stream(features(table)))
        np.testing.assert_array_equal(features(points), coreset.points_)
        np.testing.assert_array_equal(points["weight"], coreset.point_weights_)
        assert f"{len(coreset.points_)} points stand for 6,000 rows" in done.stderr
        saved = modicum.load(tmp_path / "core.mcm")
        assert final_learner(saved).column_names_ == ["f0", "f1", "f2", "f3"]
        np.testing.assert_array_equal(saved.points_, coreset.points_)

    def test_weights_in_and_out(self, modicum_command, tmp_path):
        X = np.random.default_rng(0).normal(size=(500, 2)).round(6)
        lines = [f"{a},{b},{i % 3}" for i, (a, b) in enumerate(X)]
        (tmp_path / "rows.csv").write_text("\n".join(["a,b,weight", *lines]))
        options = ("--weight", "weight", "--n-points", 50, "-k", 3, "--csv")
        done = modicum_command("coreset", "rows.csv", *options)
        rows = list(csv.DictReader(io.StringIO(done.stdout)))
        assert list(rows[0]) == ["a", "b", "weight"]
        assert sum(float(row["weight"]) for row in rows) == pytest.approx(sum(i % 3 for i in range(500)))

    def test_a_column_named_weight_stays(self, modicum_command, tmp_path):
        (tmp_path / "rows.csv").write_text("\n".join(["weight,height", *(f"{i * i},{-i}" for i in range(30))]))
        done = modicum_command("coreset", "rows.csv", "--n-points", 5, "-k", 2, "--csv")
        assert done.stdout.startswith("weight,height,modicum_weight\n")

    def test_rows_as_they_are(self, modicum_command, table, tmp_path):
        modicum_command("coreset", "rows.parquet", *GIVEN, "--calibrate", "false", "--scale", "none", "-o", "core.npy")
        points = np.load(tmp_path / "core.npy")[:, :4]
        rows = {tuple(row) for row in features(table)}
        assert all(tuple(point) in rows for point in points)

    def test_for_mixtures(self, modicum_command, table, tmp_path):
        modicum_command("coreset", "rows.parquet", "--for", "mixture", *GIVEN, "--save", "core.mcm", "-o", "core.csv")
        saved = final_learner(modicum.load(tmp_path / "core.mcm"))
        assert type(saved) is MixtureCoreset
        assert (saved.n_points, saved.n_components) == (200, 5)

    def test_report(self, modicum_command, table, tmp_path):
        modicum_command("coreset", "rows.parquet", *GIVEN, "-o", "core.csv", "--report", "r.html")
        assert "weighted points represent 6,000 rows" in (tmp_path / "r.html").read_text()


@pytest.mark.parametrize(
    ("model", "given", "words"),
    [
        ("topics", {}, "--for is one of kmeans, mixture; got 'topics'"),
        ("mixture", {"method": "uniform"}, "--method is not for --for mixture, which takes --n-points, --n-components"),
        (
            "kmeans",
            {"n_components": "3"},
            "--n-components is not for --for kmeans, which takes --n-points, --n-cl",
        ),
        (
            "mixture",
            {"n_components": "3", "n_clusters": "4"},
            "the number of clusters or components, or --n-components",
        ),
    ],
)
def test_wrong_options_are_named(model, given, words):
    with pytest.raises(ValueError) as told:
        MODELS.make(model, given)
    assert words in str(told.value)


@pytest.mark.parametrize("model", MODELS.by_name)
def test_a_stopped_run_goes_on(tmp_path, clusters, monkeypatch, model):
    monkeypatch.chdir(tmp_path)
    np.save("rows.npy", clusters)

    def run(**more):
        learner = MODELS.make(model, {"n_points": "100", "n_clusters": "5", "random_state": "0"})
        return Job(chunk_size=500, **{"every": "0s", **more}).learn(learner, "rows.npy", save=None).learner

    def stop(self, learner, position):
        if position == 3000:
            raise KeyboardInterrupt

    straight = run()
    with monkeypatch.context() as patched:
        patched.setattr(Progress, "show", stop)
        with pytest.raises(KeyboardInterrupt):
            run(checkpoint=tmp_path / "run.mcm")
    assert run(checkpoint=tmp_path / "run.mcm").to_bytes() == straight.to_bytes()


class TestLearners:
    def test_fit_show_predict_merge(self, modicum_command, table, tmp_path):
        pq.write_table(pa.table(table).slice(2000), tmp_path / "more.parquet")
        given = ("-k", 5, "--n-points", 100, "--random-state", 0, "--scale", "none")
        for name, source in (("a", "rows.parquet"), ("b", "more.parquet")):
            modicum_command("fit", "stream-kmeans", source, *given, "-o", f"{name}.mcm")
        model = StreamKMeans(5, n_points=100, random_state=0).learn(modicum.stream(features(table)))
        done = modicum_command("predict", "a.mcm", "rows.parquet").stdout.splitlines()
        assert [json.loads(line)["prediction"] for line in done] == model.predict(features(table)).tolist()
        modicum_command("merge", "a.mcm", "b.mcm", "-o", "c.mcm")
        assert modicum.load(tmp_path / "c.mcm").n_seen_ == 10_000
        facts = json.loads(modicum_command("show", "c.mcm", "--json").stdout)
        assert facts["rows_seen"] == 10_000
        assert set(facts["summary"]) == {"points", "largest_weight"}
        assert "points; largest weight" in modicum_command("show", "c.mcm").stdout

    def test_a_part_of_several_names_is_asked_about(self, modicum_command, table):
        done = modicum_command("fit", "stream", "rows.parquet", expect=2)
        assert "stream-kmeans" in done.stderr

    def test_a_coreset_predicts_nothing(self, modicum_command, table, tmp_path):
        KMeansCoreset(50, 3).fit(features(table)).save(tmp_path / "core.mcm")
        done = modicum_command("predict", "core.mcm", "rows.parquet", expect=1)
        assert "KMeansCoreset makes no predictions." in done.stderr
