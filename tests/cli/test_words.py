"""Texts on the command line: lines, files, columns and streams of text become counts of words."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import modicum
from modicum.pipeline import WordCounts

TEXTS = [
    f"The {animal} number {i} and the {animal} of {place} is here."
    for i in range(30)
    for animal, place in (("cat", "Rome"), ("dog", "Oslo"))
]

COLORS = ["red", "green", "blue", "grey"]


@pytest.fixture
def fit(monkeypatch, tmp_path, modicum_command):
    """`modicum fit exemplars` with a learner that counts words."""
    monkeypatch.setattr(modicum.ExemplarClustering, "_counts_words", True)

    def run(*args, **more):
        done = modicum_command("fit", "exemplars", *args, "-k", 2, "--random-state", 0, "-o", "state.mcm", **more)
        return modicum.load(tmp_path / "state.mcm"), done.stderr

    return run


def counter(pipeline):
    first = pipeline.preparation_
    assert isinstance(first, WordCounts)
    return first


def in_files(folder, texts=TEXTS):
    for i, text in enumerate(texts):
        path = folder / f"part{i % 3}" / f"{i:03d}"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def test_lines_of_a_file(fit, tmp_path):
    (tmp_path / "lines.txt").write_text("\n".join(TEXTS))
    model, said = fit("lines.txt")
    assert model.n_seen_ == 60
    assert {"cat", "dog", "rome", "oslo"} <= set(counter(model).words_)
    assert "learned from 4 words of text, in 5,000 columns" in said
    assert "function words (English)" in said


def test_files_of_a_folder(fit, tmp_path, modicum_command):
    in_files(tmp_path / "documents")
    model, said = fit("documents")
    assert model.n_seen_ == 60
    assert "every file is a document" in said
    assert "rome" in counter(model).words_
    predicted = modicum_command("predict", "state.mcm", "documents", "--keep", "path", "--csv").stdout.splitlines()
    assert len(predicted) == 61
    assert predicted[1].endswith("documents/part0/000")


def test_lines_of_several_files(fit, tmp_path):
    for name in ("a.txt", "b.txt"):
        (tmp_path / name).write_text("\n".join(TEXTS))
    assert fit("a.txt", "b.txt")[0].n_seen_ == 2
    assert fit("a.txt", "b.txt", "--document", "line")[0].n_seen_ == 120
    assert fit("a.txt", "--document", "file")[0].n_seen_ == 1


def test_a_checkpoint_is_of_one_kind_of_documents(fit, tmp_path, modicum_command):
    (tmp_path / "a.txt").write_text("\n".join(TEXTS))
    assert fit("a.txt", "--checkpoint", "c.mcm")[0].n_seen_ == 60
    (tmp_path / "a.txt").write_text("\n".join([*TEXTS, "a last line"]))
    assert fit("a.txt", "--checkpoint", "c.mcm")[0].n_seen_ == 61
    options = ("-k", 2, "--random-state", 0, "--checkpoint", "c.mcm", "--document", "file")
    assert "document" in modicum_command("fit", "exemplars", "a.txt", *options, expect=1).stderr


def test_a_column_of_text(fit, tmp_path):
    table = pa.table({"id": range(60), "body": TEXTS, "kind": ["red", "blue", "grey"] * 20})
    pq.write_table(table, tmp_path / "t.parquet")
    model, said = fit("t.parquet", "--n-words", 5, "--stop-words", "the,and,of,is,here,number")
    assert sorted(counter(model).words_) == ["cat", "dog", "oslo", "rome"]
    assert "words of body" in said
    assert fit("t.parquet", "--columns", "kind", "--stop-words", "none")[0].n_seen_ == 60


@pytest.mark.parametrize("stdin", ["\n".join(TEXTS), "\n".join(f'{{"body": "{text}"}}' for text in TEXTS)])
def test_a_stream_of_text(fit, stdin):
    model, _ = fit(
        "-",
        stdin=stdin,
    )
    assert model.n_seen_ == 60
    assert "rome" in counter(model).words_


def test_a_stream_of_a_table(fit):
    stdin = "\n".join(["id,body", *(f'{i},"{text}"' for i, text in enumerate(TEXTS))])
    assert "rome" in counter(fit("-", "--columns", "body", stdin=stdin)[0]).words_


def test_rows_of_one_document(fit, tmp_path, modicum_command):
    lines = ["chapter,line", *(f"{i // 3},{text} {COLORS[i // 15]}" for i, text in enumerate(TEXTS))]
    (tmp_path / "book.csv").write_text("\n".join(lines))
    model, _ = fit("book.csv", "--document", "chapter", "--columns", "line", "--chunk-size", 7)
    assert model.n_seen_ == 20
    assert sorted(counter(model).words_) == sorted(COLORS)  # all chapters have the others
    told = modicum_command("predict", "state.mcm", "book.csv", "--document", "chapter", "--csv").stdout
    assert len(told.splitlines()) == 21


def test_hashed_words_and_shards(fit, tmp_path, modicum_command):
    (tmp_path / "a.txt").write_text("\n".join(TEXTS[:40]))
    (tmp_path / "b.txt").write_text("\n".join(TEXTS[40:]))
    fit("a.txt", "--vocabulary", "hashed", "--n-words", 50)
    (tmp_path / "state.mcm").rename(tmp_path / "a.mcm")
    fit("b.txt", "--prepare-like", "a.mcm")
    modicum_command("merge", "a.mcm", "state.mcm", "-o", "both.mcm")
    both = modicum.load(tmp_path / "both.mcm")
    assert both.n_seen_ == 60
    assert counter(both).vocabulary == "hashed"
    told = modicum_command("show", "both.mcm").stdout
    assert "words of text, hashed into 50 columns" in told


def test_a_small_budget_has_fewer_words(fit, tmp_path):
    (tmp_path / "a.txt").write_text("\n".join(TEXTS))
    model, _ = fit("a.txt", "--budget", "1 MiB")
    assert counter(model).n_words == 2**20 // 4 // 384
    assert model.nbytes_ <= 2**20
    assert counter(fit("a.txt")[0]).n_words == 5000


def test_options_that_do_not_apply(fit, tmp_path, modicum_command):
    (tmp_path / "a.txt").write_text("\n".join(TEXTS))
    wrong = [
        (("--types", "text=category"), "--types: words are counted in columns of text"),
        (("--document", "page"), "no column 'page'"),
        (("--vocabulary", "known"), 'vocabulary must be "learned" or "hashed"'),
    ]
    for options, message in wrong:
        assert message in modicum_command("fit", "exemplars", "a.txt", "-k", 2, *options, expect=1).stderr


def test_other_learners_have_no_such_options(modicum_command):
    assert "--n-words" not in modicum_command("fit", "kmeans", "--help").stdout
