"""Each command as a user runs it."""

import csv
import io
import json
import re
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import typer
from sklearn.datasets import dump_svmlight_file

import modicum
from modicum import ExemplarClustering, OnlineGreedy, StreamSVC
from modicum.cli import main
from modicum.cli.app import app
from modicum.cli.run import Job
from modicum.cli.values import command_name
from modicum.kernels import RBF
from modicum.pipeline import final_learner
from modicum.svm import suggest_C


def lines(done):
    return [json.loads(line) for line in done.stdout.splitlines()]


def features(table):
    """The numbers of a table as --scale none gives them."""
    return np.column_stack([table[f"f{i}"] for i in range(4)]).astype(np.float64)


class TestSelect:
    def test_picks_keep_all_columns(self, modicum_process, table, tmp_path):
        modicum_process("select", "rows.parquet", "-k", 5, "-o", "picks.parquet", "--random-state", 0)
        picks = pq.read_table(tmp_path / "picks.parquet").to_pydict()
        assert list(picks) == ["position", "exemplar", "stands_for", "f0", "f1", "f2", "f3", "name"]
        assert picks["name"] == [f"row {i}" for i in picks["position"]]
        np.testing.assert_array_equal(picks["f1"], table["f1"][picks["position"]])
        assert picks["stands_for"] == sorted(picks["stands_for"], reverse=True)
        assert sum(picks["stands_for"]) == pytest.approx(6000, abs=1)

    def test_the_library_gives_the_same(self, modicum_command, table):
        options = ("-k", 5, "--random-state", 3, "--budget", 300, "--scale", "none")
        done = lines(modicum_command("select", "rows.parquet", *options))
        X = features(table)
        model = ExemplarClustering(5, budget=300, random_state=3).learn(modicum.stream(X))
        assert {pick["position"] for pick in done} == set(model.exemplar_ids_.tolist())

    @pytest.mark.parametrize("ending", ["csv", "jsonl", "npy"])
    def test_other_endings(self, modicum_command, table, tmp_path, ending):
        modicum_command("select", "rows.parquet", "-k", 3, "-o", f"picks.{ending}", "--random-state", 0)
        path = tmp_path / f"picks.{ending}"
        if ending == "npy":
            assert np.load(path).shape == (3, 7)
        else:
            text = path.read_text()
            rows = list(csv.DictReader(io.StringIO(text))) if ending == "csv" else [*map(json.loads, text.splitlines())]
            assert len(rows) == 3
            assert rows[0]["name"] == f"row {rows[0]['position']}"

    def test_standard_input_and_csv_out(self, modicum_process, table):
        text = "a,b\n" + "\n".join(f"{x},{y}" for x, y in zip(table["f0"], table["f1"], strict=True))
        done = modicum_process("select", "-", "-k", 4, "--csv", stdin=text)
        rows = list(csv.DictReader(io.StringIO(done.stdout)))
        assert len(rows) == 4
        for row in rows:
            assert float(row["a"]) == pytest.approx(table["f0"][int(row["position"])], rel=1e-6)

    def test_chosen_columns_and_metric(self, modicum_command, table):
        done = modicum_command(
            "select", "rows.parquet", "-k", 2, "--columns", "f0,f3", "--dissimilarity", "manhattan", "--save", "s.mcm"
        )
        assert len(lines(done)) == 2
        shown = modicum_command("show", "s.mcm").stdout
        assert "columns  2 of 5: f0, f3\n" in shown
        assert "learner  ExemplarClustering(dissimilarity='manhattan', n_exemplars=2)\n" in shown

    def test_report(self, modicum_command, table, tmp_path):
        done = modicum_command(
            "select", "rows.parquet", "-k", 4, "--report", "r.html", "--image", "2x2", "--text", "name"
        )
        html = (tmp_path / "r.html").read_text()
        words = re.sub(r"<[^>]+>", "", html)
        assert "modicum select rows.parquet -k 4" in words
        assert "6,000" in html
        assert "report in r.html" in done.stderr

    def test_locked_rows_from_a_file(self, modicum_command, table, tmp_path):
        np.save(tmp_path / "keep.npy", np.full((1, 4), 99.0, np.float32))
        done = lines(modicum_command("select", "rows.parquet", "-k", 3, "--locked", "keep.npy"))
        (given,) = [pick for pick in done if pick["position"] < 0]
        assert [given[f"f{i}"] for i in range(4)] == pytest.approx([99.0] * 4)

    @pytest.mark.parametrize(
        ("width", "columns", "told"),
        [
            (3, "f0,f1", "an array of 3 columns can't stand for f0 (number), f1 (number). Give a table"),
            (2, "f0,name", "an array of 2 columns can't stand for f0 (number), name (category). Give a table"),
        ],
    )
    def test_an_array_that_is_not_like_the_table(self, modicum_command, table, tmp_path, width, columns, told):
        np.save(tmp_path / "keep.npy", np.ones((1, width)))
        options = ("-k", 3, "--locked", "keep.npy", "--columns", columns)
        done = modicum_command("select", "rows.parquet", *options, expect=1)
        assert done.stderr.startswith(f"modicum: keep.npy: {told}")
        assert done.stderr.count("\n") == 1

    def test_rows_of_a_table_for_a_standardized_array(self, modicum_command, table, tmp_path):
        np.save(tmp_path / "rows.npy", features(table))
        (tmp_path / "keep.csv").write_text("a,b,c,d\n99,98,97,96\n")
        done = modicum_command("select", "rows.npy", "-k", 3, "--scale", "standard", "--locked", "keep.csv")
        (given,) = [pick for pick in lines(done) if pick["position"] < 0]
        assert [given[f"x{i}"] for i in range(4)] == pytest.approx([99, 98, 97, 96])

    def test_rows_that_differ(self, modicum_command, table, tmp_path):
        options = ("--kernel", "rbf(2.5)", "--min-gain", "1e-5", "--save", "s.mcm", "--scale", "none")
        command = ("select", "rows.parquet", "--objective", "logdet", "-k", 20, *options, "--report", "r.html")
        done = modicum_command(*command, "--text", "name")
        picks = lines(done)
        X = features(table)
        model = OnlineGreedy(20, kernel=RBF(2.5), min_gain=1e-5).learn(modicum.stream(X))
        assert [pick["position"] for pick in picks] == model.prototype_ids_.tolist()
        assert [pick["prototype"] for pick in picks] == list(range(20))
        assert [pick["name"] for pick in picks] == [f"row {i}" for i in model.prototype_ids_]
        assert re.search(r"^20 of 6,000 rows chosen in [\d.]+ s; logdet: ", done.stderr, re.MULTILINE)
        assert "20 prototypes chosen from 6,000 rows" in (tmp_path / "r.html").read_text()
        shown = modicum_command("show", "s.mcm").stdout
        assert "RBF(2.5)" in shown
        assert "value so far" in shown

    def test_rows_that_predict_best(self, modicum_command, table, tmp_path):
        command = ("select", "rows.parquet", "--objective", "error", "--target", "f3", "-k", 10)
        picks = lines(modicum_command(*command, "--n-validation", 100, "--noise", 0.01, "--save", "s.mcm"))
        assert len(picks) == 10
        assert list(picks[0]) == ["position", "prototype", "f0", "f1", "f2", "f3", "name"]
        assert final_learner(modicum.load(tmp_path / "s.mcm")).column_names_ == ["f0", "f1", "f2"]
        assert "guarantee" not in modicum_command("show", "s.mcm").stdout

    def test_quiet_when_not_a_terminal(self, modicum_command, table):
        done = modicum_command("select", "rows.parquet", "-k", 2)
        learned, summary = done.stderr.splitlines()
        assert learned == "learned from 4 numbers; ignored: name (unique strings)"
        assert summary.startswith("2 of 6,000 rows chosen")


class TestClassifier:
    def test_fit_show_predict(self, modicum_command, mail, tmp_path):
        X, y = mail
        options = ("--target", "label", "--random-state", 0, "--scale", "none", "-o", "s.mcm")
        done = modicum_command("fit", "svc", "mail.csv", *options)
        assert "500 rows learned" in done.stderr
        model = StreamSVC(random_state=0).learn(modicum.stream(X, target=y))
        rows = lines(modicum_command("predict", "s.mcm", "mail.csv"))
        assert [row["prediction"] for row in rows] == model.predict(X).tolist()
        assert [row["probability"] for row in rows] == pytest.approx(model.predict_proba(X).max(axis=1))
        shown = modicum_command("show", "s.mcm").stdout
        assert "classes  2: ham, spam\n" in shown
        assert f"accuracy  {model.accuracy_:.4f} of rows" in shown
        best, *others = model.candidates_
        assert re.search(rf"in use  C = {best['C']:g}, .*: {best['mistakes']:.0f} mistakes\n", shown)
        assert shown.count(" mistakes\n") == 1 + len(others)

    def test_options(self, modicum_command, mail, tmp_path):
        options = ("--c", "0.1,1", "--ellipsoid", "none", "--center", "true", "--class-weight", "{'spam': 2}")
        modicum_command("fit", "svc", "mail.csv", "--target", "label", *options, "-o", "s.mcm")
        model = final_learner(modicum.load(tmp_path / "s.mcm"))
        assert (model.C, model.ellipsoid, model.center, model.class_weight) == ([0.1, 1.0], None, True, {"spam": 2})

    @pytest.mark.parametrize("ending", ["parquet", "jsonl", "svm"])
    def test_labels_of_any_source(self, mail, tmp_path, ending):
        X, y = mail
        path = tmp_path / f"rows.{ending}"
        target = write_labelled(path, X, y == "spam")
        model = Job(target=target).learn(StreamSVC(), str(path), save=None).learner
        assert model.classes_.tolist() == [False, True]
        rows = X if target is None else pa.table({"a": X[:, 0], "b": X[:, 1]})
        assert model.score(rows, y == "spam") > 0.95

    def test_checkpoint_report_and_merge(self, modicum_command, mail, tmp_path):
        given = ("--target", "label", "--center", "true", "--scale", "true", "--c", 1)
        header, *rows = (tmp_path / "mail.csv").read_text().splitlines()
        for name, some, like in (("a", rows[:200], ()), ("b", rows[200:], ("--prepare-like", "a.mcm"))):
            (tmp_path / f"{name}.csv").write_text("\n".join([header, *some]))
            made = ("--checkpoint", f"{name}.run", "-o", f"{name}.mcm", "--report", "r.html")
            modicum_command("fit", "svc", f"{name}.csv", *given, *like, *made)
        for _ in range(2):  # the second time, the state of the same learner is replaced
            modicum_command("merge", "a.mcm", "b.mcm", "-o", "c.mcm")
        assert modicum.load(tmp_path / "c.mcm").n_seen_ == 500
        assert "Blue: evidence for the class spam" in (tmp_path / "r.html").read_text()

    def test_a_rare_class_is_told_in_one_line(self, modicum_command, tmp_path):
        rows = [f"{i % 7},{'rare' if i == 77 else 'often'}" for i in range(300)]
        (tmp_path / "rows.csv").write_text("\n".join(["a,label", *rows]))
        done = modicum_command("fit", "svc", "rows.csv", "--target", "label")
        warning, learned, told = done.stderr.splitlines()
        assert warning.startswith("modicum: warning: StreamSVC: only 0.3% of the rows are of class 'rare'.")
        assert learned == "learned from 1 number; ignored: label (the target)"
        assert told.startswith("300 rows learned")

    def test_suggest_c(self, modicum_command, mail):
        X, y = mail
        done = modicum_command("suggest-c", "mail.csv", "--target", "label", "--grid", "0.01,1", "--scale", "false")
        found = suggest_C(X, [0.01, 1.0], target=y, scale=False)
        assert {row["C"]: row["accuracy"] for row in lines(done)} == pytest.approx(found.accuracy)
        assert f"C = {found.C:g} is best" in done.stderr

    def test_names_are_not_written_to_an_array(self, modicum_command, mail, tmp_path):
        StreamSVC().fit(*mail).save(tmp_path / "s.mcm")
        done = modicum_command("predict", "s.mcm", "mail.csv", "-o", "p.npy", expect=1)
        assert "Take .csv or .parquet" in done.stderr


def write_labelled(path, X, y):
    """A file with rows and their labels, and the name of their column if it has one."""
    if path.suffix == ".svm":
        dump_svmlight_file(X, y, str(path))
        return None
    columns = {"a": X[:, 0], "b": X[:, 1], "label": y}
    if path.suffix == ".parquet":
        pq.write_table(pa.table(columns), path)
    else:
        rows = zip(*(column.tolist() for column in columns.values()), strict=True)
        path.write_text("\n".join(json.dumps(dict(zip(columns, row, strict=True))) for row in rows))
    return "label"


class TestErrors:
    @pytest.mark.parametrize(
        ("args", "words"),
        [
            (["select", "nowhere.csv"], "nowhere.csv"),
            (["select", "rows.parquet", "-k", "0"], "n_exemplars must be a positive int; got 0"),
            (["select", "rows.parquet", "--columns", "nam"], "Did you mean 'name'?"),
            (["select", "rows.parquet", "--types", "name=number"], "'name'"),
            (["select", "rows.parquet", "--budget", "1 KiB"], "at least"),
            (["select", "rows.parquet", "--image", "big"], "28x28"),
            (["select", "rows.parquet", "--image", "2x3"], "--image 2x3 takes 6 columns; rows.parquet has 4."),
            (["fit", "reservoir", "rows.parquet", "--text", "nam"], "There are: f0, f1, f2, f3, name."),
            (["fit", "kmeans-coreset", "rows.parquet", "--text", "name"], "KMeansCoreset chooses no rows"),
            (["select", "rows.parquet", "-o", "picks.docx"], ".parquet"),
            (["select", "rows.parquet", "--dissimilarity", "far away"], "dissimilarity"),
            (["select", "-", "--checkpoint", "c.mcm"], "standard input"),
            (["select", "rows.parquet", "--checkpoint", "c.mcm", "--every", "soon"], "30s"),
            (
                ["select", "rows.parquet", "--objective", "logdet", "--swaps", "one"],
                "which takes --n-prototypes, --budget, --kernel",
            ),
            (["select", "rows.parquet", "--objective", "logdet", "--kernel", "rbf(0)"], "width must be a number above"),
            (["fit", "svc", "rows.parquet"], "needs --target, the column with the labels. There are: f0, f1, f2, f3,"),
            (["fit", "krls", "rows.parquet"], "needs --target, the column with the targets."),
            (["fit", "svc", "rows.parquet", "--target", "f0"], "labels are classes"),
            (["suggest-c", "rows.parquet", "--target", "name", "--grid", "0,1"], "above 0"),
            (["show", "rows.parquet"], "rows.parquet"),
            (["predict", "nowhere.mcm", "rows.parquet"], "does not exist"),
        ],
    )
    def test_one_helpful_line_and_exit_code_1(self, modicum_command, table, args, words):
        done = modicum_command(*args, expect=1)
        assert words in done.stderr
        assert done.stderr.startswith("modicum: ")
        assert done.stderr.count("\n") == 1
        assert done.stdout == ""


class TestOthers:
    def test_fit_show_predict_merge(self, modicum_command, table, tmp_path):
        pq.write_table(pa.table(table).slice(2000), tmp_path / "more.parquet")
        for name, source, like in (("a", "rows", ()), ("b", "more", ("--prepare-like", "a.mcm"))):
            modicum_command("fit", "exemplar", f"{source}.parquet", "-k", 5, *like, "-o", f"{name}.mcm")
        modicum_command("merge", "a.mcm", "b.mcm", "-o", "c.mcm")
        assert modicum.load(tmp_path / "c.mcm").n_seen_ == 10_000
        facts = json.loads(modicum_command("show", "c.mcm", "--json").stdout)
        assert facts["rows_seen"] == 10_000
        done = lines(modicum_command("predict", "a.mcm", "rows.parquet"))
        model = modicum.load(tmp_path / "a.mcm")
        found = model.predict(pa.table(table))
        assert [row["prediction"] for row in done] == found.tolist()
        assert [row["exemplar"] for row in done] == model.picks().ids[found].tolist()

    @pytest.mark.parametrize(
        ("like", "told"),
        [((), "the preparations differ"), (("--prepare-like", "a.mcm"), "both sides began with the same rows")],
    )
    def test_states_that_can_not_be_merged(self, modicum_command, table, tmp_path, like, told):
        pq.write_table(pa.table(table).slice(2000), tmp_path / "more.parquet")
        source = "rows.parquet" if like else "more.parquet"
        modicum_command("fit", "exemplar", "rows.parquet", "-k", 5, "-o", "a.mcm")
        modicum_command("fit", "exemplar", source, "-k", 5, *like, "-o", "b.mcm")
        done = modicum_command("merge", "a.mcm", "b.mcm", "-o", "c.mcm", expect=1)
        assert told in done.stderr
        assert done.stderr.count("\n") == 1

    def test_what_was_saved_is_read_by_another_process(self, modicum_process, table):
        modicum_process("select", "rows.parquet", "-k", 3, "--save", "s.mcm")
        assert len(lines(modicum_process("picks", "s.mcm"))) == 3

    @pytest.mark.parametrize("command", [["fit", "--continue", "a.mcm", "X.npy"], ["predict", "a.mcm", "X.npy"]])
    def test_an_array_after_a_table(self, modicum_command, table, tmp_path, command):
        np.save(tmp_path / "X.npy", features(table))
        modicum_command("fit", "exemplar", "rows.parquet", "-k", 5, "-o", "a.mcm")
        done = modicum_command(*command, expect=1)
        assert "these rows are an array; earlier rows were a table." in done.stderr
        assert done.stderr.count("\n") == 1

    def test_every_learner_has_a_fit_command(self, modicum_command, table, tmp_path):
        text = modicum_command("fit", "--help").stdout
        for name in modicum.LEARNERS:
            assert command_name(name) in text
        modicum_command("fit", "online-kmeans", "rows.parquet", "-k", 3, "-o", "k.mcm")
        modicum_command("fit", "reservoir", "rows.parquet", "--budget", 7, "-o", "r.mcm")
        assert modicum.load(tmp_path / "k.mcm").cluster_centers_.shape == (3, 4)
        assert modicum.load(tmp_path / "r.mcm").points_.shape == (7, 4)

    def test_options_come_from_the_constructor(self, modicum_command):
        text = modicum_command("fit", "exemplar-clustering", "--help").stdout
        for name in ExemplarClustering().get_params():
            assert f"--{name.replace('_', '-')}" in text
        assert "How many rows to choose" in text

    def test_version_and_papers(self, modicum_command):
        assert modicum_command("--version").stdout.strip() == modicum.__version__
        assert "gomes2010" in modicum_command("papers").stdout

    @pytest.mark.parametrize("option", ["--version", "--help"])
    def test_what_loads_no_learner(self, option):
        """The interpreter lists what it imports on stderr."""
        command = [sys.executable, "-X", "importtime", "-m", "modicum", option]
        done = subprocess.run(command, capture_output=True, text=True)
        loaded = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
        assert done.returncode == 0
        assert "modicum.cli.app" in loaded
        assert not loaded & {"numpy", "sklearn", "numba", "pyarrow", "modicum.contract"}

    def test_all_commands_can_be_made(self):
        root = typer.main.get_command(app)
        for name in root.list_commands(None):
            assert root.get_command(None, name).help
        assert root.get_command(None, "nonsense") is None

    @pytest.mark.slow
    def test_demo(self, modicum_command, tmp_path):
        done = modicum_command("demo", "--rows", 20_000)
        assert "1,797 rows" in done.stderr
        for name in ("digits.html", "mixture.html", "orders.html"):
            assert (tmp_path / "demo" / name).stat().st_size > 10_000

    def test_the_table_of_the_demo_is_learned_by_the_command_that_is_shown(self, modicum_command, tmp_path):
        done = modicum_command("demo", "--rows", 5_000)
        (shown,) = re.findall(r"\$ modicum (.*)", done.stderr)
        assert "ignored: order_id (unique strings)" in done.stderr
        picks, report = ((tmp_path / "demo" / f"orders.{ending}").read_text() for ending in ("csv", "html"))
        assert shown in re.sub("<[^>]*>", "", report)
        modicum_command(*shown.split())
        assert (tmp_path / "demo" / "orders.csv").read_text() == picks


class TestWhatIsShown:
    @pytest.mark.parametrize(
        ("learner", "options"),
        [
            ("reservoir", ["--budget", "5"]),
            ("exemplar", ["-k", "5"]),
            ("online-greedy", ["-k", "5"]),
            ("krls", ["--target", "f3", "-k", "5"]),
            ("sparse-gp", ["--target", "f3", "-k", "5", "--kernel", "rbf(9)", "--noise", "1"]),
            ("prototype", ["--target", "f3", "--selector", "online-greedy(5)"]),
        ],
    )
    def test_texts_of_kept_rows_in_the_report_of_fit(self, monkeypatch, table, tmp_path, learner, options):
        command = ["fit", learner, "rows.parquet", *options, "--text", "name", "--report", "r.html", "-o", "s.mcm"]
        run_here(monkeypatch, tmp_path, *command)
        assert re.search(r"row [\d]+", (tmp_path / "r.html").read_text())

    def test_texts_of_rows_that_were_given(self, monkeypatch, table, tmp_path):
        np.save(tmp_path / "keep.npy", np.full((1, 4), 99.0, np.float32))
        command = ["select", "rows.parquet", "-k", "3", "--locked", "keep.npy", "--text", "name", "--report", "r.html"]
        run_here(monkeypatch, tmp_path, *command, "-o", "picks.jsonl")
        picks = [json.loads(line) for line in (tmp_path / "picks.jsonl").read_text().splitlines()]
        given = [pick for pick in picks if pick["position"] < 0]
        assert [(pick["f0"], pick["name"]) for pick in given] == [(pytest.approx(99), None)]
        assert all(pick["name"] == f"row {pick['position']}" for pick in picks if pick not in given)

    def test_labels_can_not_steer_the_terminal(self, monkeypatch, tmp_path, capsys):
        rows = [f"{i % 7},{'plain' if i % 7 < 3 else chr(27) + '[2J[bold]evil'}" for i in range(100)]
        (tmp_path / "rows.csv").write_text("\n".join(["a,label", *rows]))
        run_here(monkeypatch, tmp_path, "fit", "svc", "rows.csv", "--target", "label", "-o", "s.mcm")
        run_here(monkeypatch, tmp_path, "show", "s.mcm")
        run_here(monkeypatch, tmp_path, "predict", "s.mcm", "rows.csv", "--table")
        shown = capsys.readouterr().out
        assert "\x1b" not in shown
        assert "classes  2: \\x1b[2J[bold]evil, plain" in shown
        assert "│ \\x1b[2J[bold]evil │" in shown

    def test_wide_sparse_rows_are_written_as_entries(self, monkeypatch, tmp_path, capsys):
        (tmp_path / "wide.svm").write_text("1 1:2 20000:0.5\n1 3:1\n")
        run_here(monkeypatch, tmp_path, "select", "wide.svm", "--objective", "logdet", "-k", "2")
        picks = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
        assert [pick["entries"] for pick in picks] == ["0:2 19999:0.5", "2:1"]

    @pytest.mark.parametrize(
        "command",
        [
            ["select", "rows.csv", "-k", "2"],
            ["coreset", "rows.csv", "--n-points", "5", "-k", "2"],
            ["fit", "reservoir", "rows.csv", "-o", "s.mcm"],
            ["tradeoff", "rows.csv", "-k", "2", "--risk", "9x"],
            ["suggest-c", "rows.csv", "--target", "label", "--grid", "1,10"],
        ],
    )
    def test_what_is_learned_from_is_told_by_all_who_read(self, monkeypatch, tmp_path, capsys, command):
        rng = np.random.default_rng(0)
        rows = [
            f"{x:.3f},{y:.3f},word {i},2024-01-0{1 + i % 9},{i % 2}" for i, (x, y) in enumerate(rng.random((200, 2)))
        ]
        (tmp_path / "rows.csv").write_text("\n".join(["a,b,words,day,label", *rows]))
        run_here(monkeypatch, tmp_path, *command)
        learned, ignored = (
            ("2 numbers, 1 time", ", label (the target)") if "--target" in command else ("3 numbers, 1 time", "")
        )
        told = f"learned from {learned}; ignored: words (unique strings){ignored}\n"
        assert capsys.readouterr().err.count(told) == 1


def run_here(monkeypatch, folder, *command):
    """`modicum` in this process, which spares seconds of imports."""
    monkeypatch.chdir(folder)
    monkeypatch.setattr("sys.argv", ["modicum", *command])
    with pytest.raises(SystemExit) as ended:
        main()
    assert not ended.value.code
