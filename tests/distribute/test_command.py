"""`modicum fit ... --dask` and `modicum select ... --dask`, as a user runs them, on a cluster of two processes."""

import csv
import os
import re
import subprocess
import sys

import numpy as np
import pytest

import modicum
from modicum.cli.lazy import with_bare_options
from modicum.streams import stream

STREETS = ("Elm", "Oak", "Ash", "Fir")


@pytest.fixture
def flats(tmp_path):
    """Four CSV files, each of one street."""
    rng = np.random.default_rng(0)
    for number, street in enumerate(STREETS):
        with open(tmp_path / f"flats{number}.csv", "w", newline="") as file:
            out = csv.writer(file)
            out.writerow(["street", "area", "rooms"])
            for rooms in rng.integers(1, 6, size=2_000):
                out.writerow([street, rooms * 25 + rng.integers(-5, 5), rooms])
    return tmp_path


@pytest.fixture
def run(flats, client):
    """Run `modicum` in the folder of the files, on the cluster of the tests."""

    def go(*args, expect=0, dask=(client.scheduler.address,), **settings):
        command = [sys.executable, "-m", "modicum", *map(str, args), "--dask", *dask]
        environment = os.environ | settings
        done = subprocess.run(
            command, cwd=flats, env=environment, capture_output=True, text=True, stdin=subprocess.DEVNULL
        )
        assert done.returncode == expect, done.stderr
        return done

    return go


def test_an_address_is_told_from_a_source():
    assert with_bare_options([]) == []
    assert with_bare_options(["a.csv", "--dask"]) == ["a.csv", "--dask", "local"]
    for following in ("tcp://host:8786", "tls://10.0.0.1:1", "host:8786", "local"):
        assert with_bare_options(["--dask", following]) == ["--dask", following]
    for following in ("a.csv", "-k", "s3://bucket/rows.parquet", "rows.npz:x", "c:\\rows.csv"):
        assert with_bare_options(["--dask", following]) == ["--dask", "local", following]


def test_files_whose_lengths_are_not_known_are_looked_at_all_over(flats):
    """The kinds of columns are decided by rows of all files, not of the first."""
    rows = stream(str(flats / "flats*.csv"), raw=True)
    assert set(rows.spread(100)["street"].to_pylist()) == set(STREETS)
    few = rows.spread(8)
    assert few["street"].to_pylist() == [street for street in STREETS for _ in range(2)]
    assert stream(str(flats / "flats0.csv"), raw=True).spread(8) is None


@pytest.mark.slow
class TestOnACluster:
    def test_fit_learns_all_rows_and_says_so(self, run, flats):
        told = run("fit", "kmeans", "flats*.csv", "-k", 3, "--random-state", 0, "-o", "flats.mcm", "--shards", 3).stderr
        assert "learned from 1 category, 2 numbers" in told
        assert "8,000 rows learned" in told
        model = modicum.load(flats / "flats.mcm")
        assert model.n_seen_ == 8_000
        assert {f"street={street}" for street in STREETS} <= set(model.encoder_.get_feature_names_out())

    def test_select_prints_original_rows_with_their_places(self, run, flats):
        rows = list(
            csv.DictReader(run("select", "flats*.csv", "-k", 6, "--random-state", 0, "--csv").stdout.splitlines())
        )
        assert len(rows) == 6
        assert sum(float(row["stands_for"]) for row in rows) == pytest.approx(8_000, abs=1)
        for row in rows:
            with open(flats / row["file"]) as file:
                there = list(csv.DictReader(file))[int(row["row"]) - 1]
            assert there.items() <= row.items()
            assert "position" not in row

    def test_shards_that_are_done_are_kept(self, run, flats):
        command = ("fit", "svm", "flats*.csv", "--target", "rooms", "-o", "rooms.mcm", "--checkpoint", "job")
        run(*command, "--shards", 4, "--random-state", 0)
        kept, state = sorted((flats / "job").glob("*.mcm")), (flats / "rooms.mcm").read_bytes()
        assert len(kept) == 4
        kept[2].unlink()
        written = [path.stat().st_mtime_ns for path in kept if path.exists()]
        run(*command, "--shards", 4, "--random-state", 0)
        assert [path.stat().st_mtime_ns for number, path in enumerate(kept) if number != 2] == written
        assert (flats / "rooms.mcm").read_bytes() == state
        assert "another job" in run(*command, "--shards", 3, expect=1).stderr

    def test_the_row_that_is_wrong_is_named(self, run, flats):
        (flats / "flats3.csv").write_text("street,area,rooms\n" + "Fir,50,2\n" * 20 + "Fir,many,2\n")
        told = run("fit", "kmeans", "flats*.csv", "-k", 3, "--columns", "area,rooms", expect=1).stderr
        assert re.search(r"flats3.csv: data row 21, column 'area': 'many'", told)

    def test_bad_rows_are_counted(self, run, flats):
        for number in (1, 3):
            path = flats / f"flats{number}.csv"
            path.write_text(path.read_text() + "too,few\n")
        told = run("fit", "kmeans", "flats*.csv", "-k", 3, "--skip-bad-rows").stderr
        assert re.search(r"2 bad rows left out, such as \S*flats1.csv: data row 2,001", told)
        assert "8,000 rows learned" in told

    def test_a_cluster_of_this_machine(self, run, flats):
        run("fit", "exemplar", "flats*.csv", "-k", 3, "-o", "flats.mcm", "--report", "flats.html", dask=())
        assert modicum.load(flats / "flats.mcm").n_seen_ == 8_000
        assert "flats*.csv" in (flats / "flats.html").read_text()

    @pytest.mark.parametrize(
        ("options", "said"),
        [
            (["--passes", "2"], "--passes 2 is for one stream"),
            (["--follow"], "--follow can't be used with --dask"),
            (["--shards", "0"], "n_shards must be an int of at least 1"),
            (["--document", "street"], "rows of one street may be in several parts"),
        ],
    )
    def test_what_a_cluster_can_not_do_is_refused(self, run, options, said):
        learner = ("topics", "--columns", "street") if "--document" in options else ("kmeans", "-k", "3")
        assert said in run("fit", learner[0], "flats*.csv", *learner[1:], *options, expect=1).stderr

    def test_standard_input_and_states_are_refused(self, run):
        assert "standard input" in run("fit", "kmeans", "-", "-k", 3, expect=1).stderr
        run("fit", "kmeans", "flats*.csv", "-k", 3, "-o", "flats.mcm")
        told = run("fit", "kmeans", "flats*.csv", "--continue", "flats.mcm", expect=1).stderr
        assert "modicum merge" in told

    def test_nobody_at_the_address(self, run):
        soon = {"DASK_DISTRIBUTED__COMM__TIMEOUTS__CONNECT": "1s"}
        told = run("fit", "kmeans", "flats*.csv", "-k", 3, dask=("127.0.0.1:9",), expect=1, **soon).stderr
        assert "Timed out" in told
