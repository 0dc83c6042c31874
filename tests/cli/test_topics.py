"""Topics from the shell: texts, documents of numbers, counts and pictures; what is shown, predicted and reported."""

import json
import re

import numpy as np
import pytest
from PIL import Image
from sklearn.datasets import dump_svmlight_file

import modicum
from modicum.pipeline import Pixels, WordCounts

FEW = ("--n-words", 12)  # columns, for as many words
TOPICS = {"sea": "ship harbour sail wave anchor crew", "kitchen": "oven flour butter dough sugar bake"}


def sentences(n, seed=0):
    """Texts on one topic each, the first ones on the sea."""
    rng = np.random.default_rng(seed)
    vocabularies = [words.split() for words in TOPICS.values()]
    return [" ".join(rng.choice(vocabularies[2 * i // n], 12)) for i in range(n)]


@pytest.fixture
def fit(modicum_command, tmp_path):
    """`modicum fit topics`: the model, and what was said."""

    def run(*args, **more):
        done = modicum_command("fit", "topics", *args, "--random-state", 0, "-o", "state.mcm", **more)
        return modicum.load(tmp_path / "state.mcm"), done.stderr

    return run


@pytest.fixture
def lines(tmp_path):
    (tmp_path / "lines.txt").write_text("\n".join(sentences(60)))


@pytest.fixture
def items(tmp_path):
    """Sixty documents of twenty rows, each of two of three clusters."""
    rng = np.random.default_rng(0)
    centers = np.array([[0.0, 0.0], [50.0, 1000.0], [100.0, -1000.0]])
    rows = []
    for document in range(60):
        of_items = rng.choice(rng.choice(3, 2, replace=False), 20)
        rows += [(document, *item) for item in centers[of_items] + rng.normal(size=(20, 2))]
    (tmp_path / "items.csv").write_text("\n".join(["doc,a,b", *(f"d{j},{a:.3f},{b:.3f}" for j, a, b in rows)]))
    np.save(tmp_path / "items.npy", np.array(rows))


@pytest.fixture
def pictures(tmp_path):
    """Twelve pictures of two areas each, of three colours."""
    rng = np.random.default_rng(0)
    colours = np.array([[220, 30, 30], [30, 200, 60], [40, 60, 220]])
    (tmp_path / "pictures").mkdir()
    for i in range(12):
        left, right = rng.choice(3, 2, replace=False)
        picture = np.where(np.arange(10)[None, :, None] < 5, colours[left], colours[right])
        noisy = np.clip(picture + rng.normal(0, 4, (8, 10, 3)), 0, 255).astype(np.uint8)
        Image.fromarray(noisy).save(tmp_path / "pictures" / f"{i:02d}.png")


def found_words(model):
    return {word for words in model.topics_ for word in words}


class TestTexts:
    def check(self, model, n=60):
        assert model.learner_.family == "multinomial"
        assert isinstance(model.preparation_, WordCounts)
        assert model.n_documents_ == n
        assert {"ship", "oven"} <= found_words(model)
        top = model.weights_.argmax()
        assert len({next(t for t, ws in TOPICS.items() if word in ws) for word in model.topics_[top][:5]}) == 1

    def test_lines_of_a_file(self, fit, lines):
        model, said = fit("lines.txt", *FEW)
        self.check(model)
        assert "learned from 12 words of text" in said

    def test_files_of_a_folder(self, fit, tmp_path):
        (tmp_path / "texts").mkdir()
        for i, text in enumerate(sentences(60)):
            (tmp_path / "texts" / f"{i:02d}.txt").write_text(text)
        model, said = fit("texts", *FEW)
        self.check(model)
        assert "every file is a document" in said

    def test_a_column_of_a_table(self, fit, tmp_path):
        rows = [f"{i},{i % 7},{text}" for i, text in enumerate(sentences(60))]
        (tmp_path / "table.csv").write_text("\n".join(["id,price,body", *rows]))
        self.check(fit("table.csv", *FEW)[0])
        self.check(fit("table.csv", *FEW, "--document", "id")[0])

    def test_standard_input(self, fit):
        self.check(fit("-", *FEW, stdin="\n".join(sentences(60)))[0])

    def test_a_name_from_nothing_but_the_state_goes_on(self, fit, lines, modicum_command, tmp_path):
        fit("lines.txt", *FEW)
        modicum_command("fit", "--continue", "state.mcm", "lines.txt")
        self.check(modicum.load(tmp_path / "state.mcm"), n=120)


class TestNumbers:
    def test_documents_by_a_column(self, fit, items, modicum_command):
        model, said = fit("items.csv", "--document", "doc", "--chunk-size", 130)
        assert "ignored: doc (names documents)" in said
        assert (model.learner_.family, model.n_topics_, model.n_documents_) == ("gaussian", 3, 60)
        listed = modicum_command("picks", "state.mcm", "--csv").stdout.splitlines()
        assert listed[0] == "topic,weight,a,b"
        assert sorted(round(float(line.split(",")[2]) / 50) for line in listed[1:]) == [0, 1, 2]

    def test_predictions_of_documents_do_not_depend_on_chunks(self, fit, items, modicum_command):
        fit("items.csv", "--document", "doc")
        ask = ("predict", "state.mcm", "items.csv", "--document", "doc", "--csv")
        whole = modicum_command(*ask).stdout
        assert whole == modicum_command(*ask, "--chunk-size", 7).stdout
        rows = [line.split(",") for line in whole.splitlines()]
        assert rows[0] == ["document", "prediction", "share"]
        assert [row[0] for row in rows[1:]] == [f"d{j}" for j in range(60)]
        assert "--keep" in modicum_command(*ask, "--keep", "a", expect=1).stderr
        done = modicum_command("predict", "state.mcm", "items.csv", "--csv", "--keep", "doc")
        assert "every row is a document of its own" in done.stderr
        single = done.stdout.splitlines()
        assert len(single) == 1201

    def test_an_array(self, fit, items, modicum_command):
        model, _ = fit("items.npy", "--document", 0)
        assert (model.n_topics_, model.n_documents_) == (3, 60)
        told = modicum_command("predict", "state.mcm", "items.npy", "--document", 0, "--csv").stdout
        assert len(told.splitlines()) == 61

    def test_counts(self, fit, tmp_path):
        rng = np.random.default_rng(0)
        X = rng.poisson(np.repeat(np.repeat([[3.0, 0.1], [0.1, 3.0]], 30, axis=0), 5, axis=1))
        np.save(tmp_path / "counts.npy", X)
        dump_svmlight_file(X, np.zeros(60), str(tmp_path / "counts.svm"))
        for source, options in (("counts.npy", ("--family", "multinomial")), ("counts.svm", ())):
            assert fit(source, *options)[0].n_documents_ == 60


class TestPictures:
    def test_pixels_are_learned(self, fit, pictures, modicum_command, tmp_path):
        model, said = fit("pictures", "--chunk-size", 5)
        assert "every picture is a document" in said
        assert isinstance(model.preparation_, Pixels)
        assert (model.n_seen_, model.learner_.n_seen_, model.n_documents_) == (12, 960, 12)
        told = modicum_command("predict", "state.mcm", "pictures", "--keep", "path", "--segments", "out", "--csv")
        assert len(told.stdout.splitlines()) == 13
        assert "12 segmentations in out" in told.stderr
        beside = np.asarray(Image.open(tmp_path / "out" / "00.png"))
        assert beside.shape == (8, 20, 3)
        segments = beside[:, 10:].reshape(-1, 3)
        assert len(np.unique(segments[::10], axis=0)) <= model.n_topics_
        assert (beside[:, 10] != beside[:, 19]).any()  # the two halves differ
        wrong = modicum_command("predict", "state.mcm", "pictures", "--segments", "pictures", expect=1).stderr
        assert "could be lost" in wrong
        assert len(list((tmp_path / "pictures").iterdir())) == 12

    def test_their_size(self, fit, pictures):
        assert fit("pictures", "--picture-size", 5)[0].learner_.n_seen_ == 12 * 20

    def test_a_file_that_is_no_picture(self, fit, pictures, modicum_command, tmp_path):
        (tmp_path / "pictures" / "05.png").write_text("none")
        wrong = modicum_command("fit", "topics", "pictures", expect=1).stderr
        assert "05.png" in wrong
        assert "--missing drop" in wrong
        model, said = fit("pictures", "--missing", "drop")
        assert model.n_documents_ == 11
        assert "1 row with missing values left out" in said


class TestShow:
    def test_words_and_shares(self, fit, lines, modicum_command):
        model, _ = fit("lines.txt", *FEW)
        text = modicum_command("show", "state.mcm").stdout
        assert "documents  60" in text
        assert f"topics  {model.n_topics_}\n" in text
        assert f"{model.weights_.max():.1%}  {', '.join(model.topics_[model.weights_.argmax()][:8])}" in text
        facts = json.loads(modicum_command("show", "state.mcm", "--json").stdout)
        assert facts["documents"] == 60
        assert [topic["words"] for topic in facts["topics"]] == model.topics_
        assert sum(topic["weight"] for topic in facts["topics"]) == pytest.approx(1)
        listed = modicum_command("picks", "state.mcm", "--csv").stdout
        assert listed.startswith("topic,weight,words\n")

    def test_a_long_stream_has_curves(self, fit, tmp_path, modicum_command):
        (tmp_path / "lines.txt").write_text("\n".join(sentences(2000)))
        fit("lines.txt", *FEW, "--budget", 200)
        text = modicum_command("show", "state.mcm").stdout
        assert "topics so far  " in text
        assert "perplexity so far  " in text
        history = json.loads(modicum_command("show", "state.mcm", "--json").stdout)["history"]
        assert len(history["topics"]) == len(history["perplexity"]) > 1

    def test_numbers(self, fit, items, modicum_command):
        fit("items.csv", "--document", "doc")
        assert "topics  3: topic " in modicum_command("show", "state.mcm").stdout
        assert len(json.loads(modicum_command("show", "state.mcm", "--json").stdout)["topics"][0]["mean"]) == 2


def test_predictions_have_the_words_of_the_topic(fit, lines, modicum_command):
    model, _ = fit("lines.txt", *FEW)
    told = modicum_command("predict", "state.mcm", "-", stdin="the ship and its crew\noven and flour").stdout
    sea, kitchen = map(json.loads, told.splitlines())
    assert sea["words"] == ", ".join(model.topics_[sea["prediction"]])
    assert "ship" in sea["words"]
    assert "oven" in kitchen["words"]
    assert 0.5 < sea["share"] <= 1


class TestReport:
    def test_words_and_documents(self, fit, lines, tmp_path):
        model, _ = fit("lines.txt", *FEW, "--report", "r.html")
        page = (tmp_path / "r.html").read_text()
        assert ", ".join(model.topics_[0]) in page
        nearest = model.learner_.nearest_documents(1)[0][0, 0]
        assert sentences(60)[nearest][:60] in page

    def test_of_a_pipe_documents_are_numbers(self, fit, tmp_path):
        fit("-", *FEW, "--report", "r.html", stdin="\n".join(sentences(60)))
        assert re.search(r">row \d+<", (tmp_path / "r.html").read_text())

    def test_of_what_goes_on_earlier_documents_are_numbers(self, fit, lines, modicum_command, tmp_path):
        fit("lines.txt", *FEW)
        (tmp_path / "more.txt").write_text("\n".join(sentences(60, seed=1)))
        modicum_command("fit", "topics", "more.txt", "--continue", "state.mcm", "--report", "r.html")
        assert "Documents nearest to topics" in (tmp_path / "r.html").read_text()

    def test_names_of_documents(self, fit, items, tmp_path):
        model, _ = fit("items.csv", "--document", "doc", "--report", "r.html")
        first = model.learner_.nearest_documents(1)[0][0, 0] // 20
        assert f">d{first}<" in (tmp_path / "r.html").read_text()

    def test_rows_without_a_name_are_numbers(self, fit, items, tmp_path):
        np.savetxt(tmp_path / "counts.csv", np.eye(20, 5) + 1, "%d", ",", header="a,b,c,d,e", comments="")
        for source, family in (("items.csv", "diagonal"), ("counts.csv", "multinomial"), ("items.npy", "diagonal")):
            fit(source, "--family", family, "--max-topics", 5, "--report", "r.html")
            assert re.search(r">row \d+<", (tmp_path / "r.html").read_text())

    def test_pictures(self, fit, pictures, tmp_path):
        fit("pictures", "--report", "r.html")
        page = (tmp_path / "r.html").read_text()
        assert "Segmentations of " in page
        assert page.count("data:image/png") > 3


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["empty"], "empty: the folder has no files"),
        (
            ["binary"],
            "so it is not UTF-8 text. Leave such files out with --skip-bad-rows.",
        ),
        (["lines.txt", "--columns", "body"], "no column 'body'. It has: text."),
        (["items.csv", "--document", "dco"], "no column 'dco'. Did you mean 'doc'?"),
        (["items.csv", "--document", "line"], "no column 'line'"),
        (
            ["items.csv"],
            "no column is text. If rows are items of documents, name the column of their documents",
        ),
        (["items.npy"], "take --family multinomial if rows are counts of words"),
        (["items.npy", "--family", "multinomial"], "Negative values in data: row "),
        (["lines.txt", "--family", "gaussian"], "MemoryBoundedTopicModel takes no sparse rows"),
        (["pictures", "--family", "multinomial"], "of pictures the pixels are learned"),
        (["pictures", "--features", "numpy:array"], "--features is not for topics of pictures"),
        (["nowhere"], "nowhere"),
    ],
)
def test_wrong_sources(modicum_command, tmp_path, lines, items, pictures, args, words):
    (tmp_path / "empty").mkdir()
    (tmp_path / "binary").mkdir()
    (tmp_path / "binary" / "part").write_bytes(bytes(range(256)))
    wrong = modicum_command("fit", "topics", *args, expect=1).stderr
    assert words in wrong
    assert "Traceback" not in wrong


def test_segments_are_of_pictures(fit, lines, modicum_command):
    fit("lines.txt", *FEW)
    assert (
        "--segments is for" in modicum_command("predict", "state.mcm", "lines.txt", "--segments", "x", expect=1).stderr
    )


class TestSimilar:
    def rows(self, done):
        return [json.loads(line) for line in done.stdout.splitlines()]

    def test_texts(self, fit, lines, modicum_command, tmp_path):
        model, _ = fit("lines.txt", *FEW)
        (tmp_path / "query.txt").write_text("the oven\nand flour\nand butter")
        ask = ("similar", "state.mcm", "query.txt", "--among", "lines.txt", "-k", 4)
        found = self.rows(modicum_command(*ask))
        assert [row["row"] for row in found] == [0] * 4  # the file is one document
        assert all(row["document"] >= 30 and row["text"] == sentences(60)[row["document"]] for row in found)
        X, Z = (model.preparation_.transform(texts) for texts in (["oven flour butter"], sentences(60)))
        ids, scores = model.learner_.retrieve(X, 4, index=model.learner_.index(Z))
        assert [row["document"] for row in found] == ids[0].tolist()
        assert [row["score"] for row in found] == pytest.approx(scores[0].tolist())

    def test_held_documents_and_a_pipe(self, fit, lines, modicum_command):
        fit("lines.txt", *FEW)
        found = self.rows(modicum_command("similar", "state.mcm", "-", "-k", 2, stdin="ship\noven"))
        assert [row["row"] for row in found] == [0, 0, 1, 1]
        assert all((row["document"] >= 30) == row["row"] for row in found)

    def test_pictures(self, fit, pictures, modicum_command):
        fit("pictures")
        found = self.rows(modicum_command("similar", "state.mcm", "pictures/03.png", "--among", "pictures", "-k", 1))
        assert [row["path"] for row in found] == [f"pictures/{row['document']:02d}.png" for row in found]

    def test_other_states(self, fit, items, lines, modicum_command):
        fit("items.csv", "--document", "doc")
        wrong = modicum_command("similar", "state.mcm", "items.csv", expect=1).stderr
        assert "found by topic models of texts or pictures" in wrong
