"""What would be lost or could not be written is refused before anything is learned."""

import os
import sys

import numpy as np
import pytest

import modicum
from modicum import OnlineKMeans, Reservoir
from modicum.cli.safety import check_not_read, check_replaced
from modicum.contract.learner import Learner
from modicum.exceptions import DataError
from modicum.pipeline import final_learner


@pytest.fixture
def never_learns(monkeypatch):
    """From here on, learning is an error of the test."""

    def refuse(*given, **more):
        raise AssertionError("it has begun to learn")

    monkeypatch.setattr(Learner, "learn", refuse)
    monkeypatch.setattr(modicum.Tram, "fit", refuse)


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (
            ["fit", "kmeans", "rows.parquet", "-o", "sample.mcm"],
            "is the state of Reservoir, not of StreamKMeans",
        ),
        (["fit", "kmeans", "rows.parquet", "-o", "notes.txt"], "notes.txt exists and is not a state file of modicum"),
        (["fit", "kmeans", "rows.parquet", "-o", "rows.parquet"], "it is read as part of rows.parquet"),
        (["fit", "kmeans", "rows.parquet", "-o", "rows.parquet", "--force"], "it is read as part of rows.parquet"),
        (["fit", "kmeans", "rows.parquet", "-o", "nowhere/s.mcm"], "the folder nowhere does not exist"),
        (["fit", "kmeans", "rows.parquet", "-o", "folder"], "it is a folder. Give the name of a file."),
        (["fit", "kmeans", "rows.parquet", "--report", "nowhere/r.html"], "the folder nowhere does not exist"),
        (["fit", "kmeans", "rows.parquet", "--report", "rows.parquet"], "it is read as part of rows.parquet"),
        (["fit", "sample", "rows.parquet", "--image", "2x3"], "--image 2x3 takes 6 columns"),
        (["fit", "sample", "rows.parquet", "--text", "position"], "no such column in rows.parquet"),
        (["select", "rows.parquet", "--text", "position", "--report", "r.html"], "no such column in rows.parquet"),
        (
            ["select", "rows.parquet", "--save", "sample.mcm"],
            "is the state of Reservoir, not of ExemplarClustering",
        ),
        (["select", "rows.parquet", "-o", "rows.parquet"], "it is read as part of rows.parquet"),
        (["select", "*.parquet", "-o", "rows.parquet"], "it is read as part of *.parquet"),
        (["select", ".", "-o", "./rows.parquet"], "it is read as part of ."),
        (["select", "rows.parquet", "-o", "picks.docx"], "must end in .parquet, .csv, .jsonl, .json, .npy"),
        (["select", "rows.parquet", "--csv", "--table"], "--csv and --table exclude each other"),
        (
            ["coreset", "rows.parquet", "--save", "sample.mcm"],
            "is the state of Reservoir, not of KMeansCoreset",
        ),
        (["coreset", "rows.parquet", "--csv", "--table"], "--csv and --table exclude each other"),
        (
            ["tradeoff", "rows.parquet", "--save", "sample.mcm"],
            "is the state of Reservoir, not of StreamKMeans",
        ),
        (
            ["tradeoff", "rows.parquet", "--report", "r.html", "--repeats", "0"],
            "--repeats takes a number from 1",
        ),
        (["tradeoff", "rows.parquet", "--curves", "notes.txt"], "notes.txt does not hold tradeoffs"),
        (["select", "rows.parquet", "--locked", "nope.csv"], "--locked nope.csv: no such file"),
        (["select", "rows.parquet", "--phantom", "fra"], "--phantom fra: no such file, and nothing else"),
        (["demo", "--rows", "0"], "--rows takes a number from 1; got 0"),
        (["demo", "--folder", "notes.txt"], "can't write to notes.txt: it is a file"),
        (["suggest-c", "rows.parquet", "--csv", "--table"], "--csv and --table exclude each other"),
        (["predict", "sample.mcm", "rows.parquet", "-o", "rows.parquet"], "it is read as part of rows.parquet"),
        (["predict", "sample.mcm", "rows.parquet", "--csv", "--table"], "--csv and --table exclude each other"),
        (["picks", "sample.mcm", "--csv", "--table"], "--csv and --table exclude each other"),
        (
            ["merge", "sample.mcm", "same.mcm", "-o", "means.mcm"],
            "is the state of OnlineKMeans, not of Reservoir",
        ),
        (["merge", "sample.mcm", "same.mcm", "-o", "nowhere/s.mcm"], "the folder nowhere does not exist"),
    ],
)
def test_refused_before_learning(modicum_command, table, tmp_path, never_learns, args, words):
    for name in ("sample", "same"):
        Reservoir(2).fit(np.eye(2)).save(tmp_path / f"{name}.mcm")
    OnlineKMeans(2).fit(np.eye(2)).save(tmp_path / "means.mcm")
    (tmp_path / "notes.txt").write_text("mine")
    (tmp_path / "folder").mkdir()
    before = {path: path.read_bytes() for path in tmp_path.iterdir() if path.is_file()}
    done = modicum_command(*args, expect=1)
    assert words in done.stderr
    assert done.stderr.count("\n") == 1
    assert {path: path.read_bytes() for path in tmp_path.iterdir() if path.is_file()} == before


def test_a_folder_that_may_not_be_written(modicum_command, table, tmp_path, never_learns, monkeypatch):
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    done = modicum_command("fit", "sample", "rows.parquet", "-o", "s.mcm", expect=1)
    assert "can't write s.mcm: you may not write to the folder ." in done.stderr


@pytest.mark.parametrize("package", ["jinja2", "matplotlib"])
def test_a_missing_extra_for_the_report(modicum_command, table, never_learns, monkeypatch, package):
    monkeypatch.setitem(sys.modules, package, None)
    done = modicum_command("fit", "sample", "rows.parquet", "--report", "r.html", expect=1)
    assert package in done.stderr


def test_force_replaces_any_file(modicum_command, table, tmp_path):
    (tmp_path / "notes.mcm").write_text("mine")
    modicum_command("fit", "sample", "rows.parquet", "-k", 5, "-o", "notes.mcm", "--force")
    modicum_command("select", "rows.parquet", "-k", 2, "--save", "notes.mcm", "--force")
    assert type(final_learner(modicum.load(tmp_path / "notes.mcm"))) is modicum.ExemplarClustering
    modicum_command("coreset", "rows.parquet", "--n-points", 50, "-k", 2, "--save", "notes.mcm", "--force")
    assert type(final_learner(modicum.load(tmp_path / "notes.mcm"))) is modicum.KMeansCoreset


def test_the_same_learner_is_replaced_without_asking(modicum_command, table, tmp_path):
    for k in (5, 6):
        modicum_command("fit", "sample", "rows.parquet", "-k", k, "-o", "s.mcm")
    assert final_learner(modicum.load(tmp_path / "s.mcm")).budget == 6


def test_what_is_not_lost(tmp_path):
    (tmp_path / "empty").touch()
    check_replaced(tmp_path / "empty", Reservoir(2), force=False)
    check_replaced(tmp_path / "new", Reservoir(2), force=False)
    (tmp_path / "state.mcm").touch()  # a folder's state files are no data
    check_not_read(tmp_path / "state.mcm", str(tmp_path))
    check_not_read(tmp_path / "new.csv", str(tmp_path))
    (tmp_path / "old.csv").touch()
    with pytest.raises(DataError, match="read as part of"):
        check_not_read(tmp_path / "old.csv", ["elsewhere.csv", str(tmp_path)])
