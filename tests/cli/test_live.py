"""Sources without end: output that is renewed, signals that stop a run, and runs that go on later."""

import errno
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

import modicum
from modicum.cli.run import Job
from modicum.cluster import OnlineKMeans
from modicum.state import files as state_files

SELECT = ("-k", 3, "--budget", 200, "--random-state", 0)


def csv(rows) -> str:
    return "".join(f"{i % 7},{i}\n" for i in rows)


@pytest.fixture
def start(tmp_path):
    """Start `modicum` as a user would; it is ended with the test."""
    started = []

    def start(*args, code="from modicum.cli import main; main()"):
        run = subprocess.Popen(
            [sys.executable, "-c", code, *map(str, args)],
            cwd=tmp_path,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        started.append(run)
        return run

    yield start
    for run in started:
        with run:  # closes its pipes
            run.kill()


def wait_until(run, is_so):
    """Until something is so, which this run brings about; an error if it ends before."""
    while not is_so():
        assert run.poll() is None, run.stderr.read()
        time.sleep(0.001)


def send(run, text):
    run.stdin.write(text)
    run.stdin.flush()


def seen(path):
    """Rows learned by the learner in a state file that may not be there yet."""
    return modicum.load(path).n_seen_ if path.exists() else 0


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGTERM, 143), pytest.param(signal.SIGINT, 130, marks=pytest.mark.slow)]
)
def test_output_is_renewed_while_a_pipe_goes_on_and_a_signal_ends_the_wait(tmp_path, start, number, code):
    written = ("--save", "end.mcm", "-o", "picks.csv", "--report", "r.html", "--every", "0s")
    run = start("select", "-", *SELECT, *written)
    send(run, "a,b\n" + csv(range(20)))
    wait_until(run, (tmp_path / "r.html").exists)  # the last that is written
    assert seen(tmp_path / "end.mcm") == 20
    assert len((tmp_path / "picks.csv").read_text().splitlines()) == 4
    (tmp_path / "r.html").unlink()
    send(run, csv(range(20, 50)))
    wait_until(run, (tmp_path / "r.html").exists)
    wait_until(run, lambda: seen(tmp_path / "end.mcm") == 50)
    run.send_signal(number)  # while it waits for rows
    _, stderr = run.communicate()
    assert run.returncode == code
    assert "stopped at row 50; what was learned so far is in picks.csv and end.mcm and r.html" in stderr


@pytest.mark.slow
def test_without_a_file_the_picks_so_far_are_printed(tmp_path, start):
    run = start("select", "-", *SELECT, "--csv", "--checkpoint", "run.mcm", "--every", "0s")
    send(run, "a,b\n" + csv(range(20)))
    wait_until(run, (tmp_path / "run.mcm").exists)
    run.send_signal(signal.SIGINT)
    stdout, stderr = run.communicate()
    assert run.returncode == 130
    assert len(stdout.splitlines()) == 4
    assert "the same command resumes from run.mcm; what was learned so far is in standard output" in stderr


STUCK = """
import signal, sys
from modicum.cli import main
from modicum.cli.run import _Keeper

def stop(self, places):
    print("writing", file=sys.stderr, flush=True)
    while True:
        signal.pause()

_Keeper.stop = stop
main()
"""  # modicum, which takes forever to write when it is stopped


@pytest.mark.slow
def test_a_second_signal_ends_at_once(tmp_path, start):
    run = start("select", "-", *SELECT, "--save", "end.mcm", "--every", "0s", code=STUCK)
    send(run, "a,b\n" + csv(range(20)))
    wait_until(run, (tmp_path / "end.mcm").exists)
    run.send_signal(signal.SIGINT)
    assert run.stderr.readline() == "writing\n"
    run.send_signal(signal.SIGTERM)
    run.wait()
    assert run.returncode == -signal.SIGTERM


def test_a_file_is_followed_until_stopped_and_later_on(tmp_path, start, modicum_command):
    path, state = tmp_path / "log.csv", tmp_path / "state.mcm"
    path.write_text("a,b\n" + csv(range(20)))
    command = ("fit", "online-kmeans", "log.csv", "--n-clusters", 2, "--random-state", 0, "--checkpoint", "run.mcm")
    run = start(*command, "--follow", "--every", "0s")
    wait_until(run, lambda: seen(state) == 20)
    with open(path, "a") as file:
        file.write(csv(range(20, 30)))
    wait_until(run, lambda: seen(state) == 30)
    run.send_signal(signal.SIGTERM)
    _, stderr = run.communicate()
    assert run.returncode == 143
    assert "stopped at row 30; the same command resumes from run.mcm; what was learned so far is in state.mcm" in stderr
    with open(path, "a") as file:
        file.write(csv(range(30, 45)))
    done = modicum_command(*command)  # without --follow, it ends
    assert "resuming at row 30" in done.stderr
    assert seen(state) == 45


def test_standard_input_goes_on_where_its_checkpoint_ended(tmp_path, modicum_command):
    command = ("select", "-", *SELECT, "--checkpoint", "run.mcm", "--csv", "--chunk-size", 10)
    modicum_command(*command, stdin="a,b\n" + csv(range(20)))
    done = modicum_command(*command, stdin="a,b\n" + csv(range(1000, 1030)))
    assert "run.mcm has learned 20 rows; going on with what comes from standard input now, as row 21" in done.stderr
    learner = modicum.load(tmp_path / "run.mcm")
    assert learner.n_seen_ == 50
    assert learner._position == 50
    ids = [int(line.split(",")[0]) for line in done.stdout.splitlines()[1:]]
    values = [float(line.split(",")[-1]) for line in done.stdout.splitlines()[1:]]
    assert [value if value < 20 else value - 980 for value in values] == ids
    assert modicum.state.read(tmp_path / "run.mcm")["checkpoint"]["position"] == 50


def test_rows_of_a_pipe_are_predicted_as_they_come(tmp_path, start, modicum_command):
    (tmp_path / "rows.csv").write_text("a,b\n" + csv(range(50)))
    modicum_command("fit", "online-kmeans", "rows.csv", "--n-clusters", 2, "-o", "state.mcm")
    run = start("predict", "state.mcm", "-")
    send(run, "a,b\n" + csv(range(3)))
    assert all("prediction" in run.stdout.readline() for _ in range(3))
    send(run, csv(range(3, 5)))
    assert all("prediction" in run.stdout.readline() for _ in range(2))
    run.stdin.close()
    assert run.stdout.readline() == ""


class TestGrownSource:
    """A finished checkpoint whose source has new rows."""

    @pytest.fixture
    def learn(self, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)

        def learn(source, **more):
            job = Job(checkpoint=tmp_path / "run.mcm", chunk_size=10, **more)
            return job.learn(OnlineKMeans(2, random_state=0), source, save=None).learner

        return learn

    def test_rows_of_an_array(self, tmp_path, learn, capsys):
        X = np.random.default_rng(0).normal(size=(50, 2))
        np.save("rows.npy", X[:30])
        assert learn("rows.npy").n_seen_ == 30
        np.save("rows.npy", X)
        straight = OnlineKMeans(2, random_state=0)
        for i in range(0, 50, 10):
            straight.partial_fit(X[i : i + 10])
        assert learn("rows.npy").to_bytes() == straight.to_bytes()
        assert "rows.npy has 20 new rows since; learning them" in capsys.readouterr().err
        assert learn("rows.npy").n_seen_ == 50
        assert "run.mcm is finished" in capsys.readouterr().err

    def test_lines_of_a_file(self, tmp_path, learn, capsys):
        (tmp_path / "rows.csv").write_text("a,b\n" + csv(range(25)))
        assert learn("rows.csv").n_seen_ == 25
        (tmp_path / "rows.csv").write_text("a,b\n" + csv(range(40)))
        assert learn("rows.csv").n_seen_ == 40
        assert "rows.csv has new rows since; learning them" in capsys.readouterr().err

    def test_files_of_a_folder_in_any_order(self, tmp_path, learn, capsys):
        (tmp_path / "days").mkdir()
        for name, rows in (("c", range(10)), ("d", range(10, 15)), ("a", range(15, 35))):
            (tmp_path / "days" / f"{name}.csv").write_text("a,b\n" + csv(rows))
            assert learn("days").n_seen_ == rows[-1] + 1
        assert "days has new rows since; learning them" in capsys.readouterr().err
        files = modicum.state.read(tmp_path / "run.mcm")["checkpoint"]["run"]["files"]
        assert [*files] == ["days/c.csv", "days/d.csv", "days/a.csv"]

    def test_what_changed_is_told(self, tmp_path, learn):
        (tmp_path / "days").mkdir()
        for name in "ab":
            (tmp_path / "days" / f"{name}.csv").write_text("a,b\n" + csv(range(10)))
        learn("days")
        (tmp_path / "days" / "a.csv").write_text("a,b\n" + csv(range(11)))
        with pytest.raises(modicum.exceptions.StateError, match=r"days/a\.csv has changed .* 44 bytes then, 49 now"):
            learn("days")
        (tmp_path / "days" / "a.csv").unlink()
        with pytest.raises(modicum.exceptions.StateError, match=r"days/a\.csv has changed .* 44 bytes then, 0 now"):
            learn("days")

    def test_passes_over_a_source_that_grew(self, tmp_path, learn):
        np.save("rows.npy", np.eye(20))
        learn("rows.npy", passes=2)
        np.save("rows.npy", np.zeros((30, 20)))
        with pytest.raises(modicum.exceptions.StateError, match=r"rows\.npy has changed"):
            learn("rows.npy", passes=2)


class TestContinue:
    @pytest.fixture
    def halves(self, tmp_path):
        rng = np.random.default_rng(0)
        for name in ("old", "new"):
            lines = [f"{a},{b}" for a, b in rng.normal(size=(40, 2)).round(3)]
            (tmp_path / f"{name}.csv").write_text("\n".join(["a,b", *lines, ""]))

    def test_new_rows_are_learned_on_top(self, tmp_path, modicum_command, halves):
        modicum_command("fit", "exemplar", "old.csv", "-k", 3, "--random-state", 0)
        before = modicum.load(tmp_path / "state.mcm")
        done = modicum_command("fit", "--continue", "state.mcm", "new.csv")
        assert "40 rows learned, 80 in all, in" in done.stderr
        expected = before.learn(modicum.stream("new.csv", raw=True, first_row=40))
        assert modicum.load(tmp_path / "state.mcm").to_bytes() == expected.to_bytes()

    def test_the_learner_may_be_named_and_the_file_another(self, tmp_path, modicum_command, halves):
        modicum_command("fit", "exemplar", "old.csv", "-k", 3)
        modicum_command("fit", "exemplar", "new.csv", "--continue=state.mcm", "-k", 3, "-o", "both.mcm")
        assert seen(tmp_path / "state.mcm") == 40
        assert seen(tmp_path / "both.mcm") == 80

    @pytest.mark.parametrize(
        ("args", "told"),
        [
            (
                ["fit", "reservoir", "new.csv", "--continue", "state.mcm"],
                "is of a ExemplarClustering, not of a Reservoir",
            ),
            (["fit", "exemplar", "new.csv", "-k", 4, "--continue", "state.mcm"], "--n-exemplars 3, not 4"),
            (
                ["fit", "--continue", "state.mcm", "other.csv"],
                "other.csv: TableEncoder: no column 'a', which was learned from. There are: c, d.",
            ),
            (["fit", "--continue", "state.mcm", "new.csv", "--text", "a"], "--text can't be used"),
            (["fit", "--continue", "gone.mcm", "new.csv"], "gone.mcm does not exist"),
            (["fit", "--continue", "run.mcm", "new.csv"], "run.mcm is a checkpoint"),
        ],
    )
    def test_what_does_not_agree_is_told(self, tmp_path, modicum_command, halves, args, told):
        modicum_command("fit", "exemplar", "old.csv", "-k", 3, "--checkpoint", "run.mcm")
        (tmp_path / "other.csv").write_text("c,d\n1,2\n")
        done = modicum_command(*args, expect=1)
        assert told in done.stderr
        assert len(done.stderr.splitlines()) == 1
        assert seen(tmp_path / "state.mcm") == 40


@pytest.mark.parametrize("output", ["--save", "-o"])
def test_a_full_disk_names_the_file(tmp_path, modicum_command, monkeypatch, output):
    def full(*args):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    (tmp_path / "rows.csv").write_text("a,b\n" + csv(range(30)))
    name = {"--save": "end.mcm", "-o": "picks.csv"}[output]
    monkeypatch.setattr(state_files.os, "fsync", full)
    monkeypatch.setattr("pathlib.Path.replace", full)
    done = modicum_command("select", "rows.csv", *SELECT, output, name, expect=1)
    assert done.stderr == (
        "learned from 1 number; ignored: b (counts rows)\n"
        f"modicum: [Errno 28] can't write the file, No space left on device: '{name}'\n"
    )
    assert [path.name for path in tmp_path.iterdir()] == ["rows.csv"]
